"""The widgets: each draws one kind of thing, and none reads the history."""
