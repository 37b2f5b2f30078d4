"""Records of the history to rows of a table and lines of a panel: plain functions, tested without a terminal."""
