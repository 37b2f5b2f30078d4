"""tui_eval: evaluate AI agents from a plain terminal."""

from __future__ import annotations

__version__ = "0.1.0"
