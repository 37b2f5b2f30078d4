"""Keys of the settings screen."""

from tui_eval.tui.keys import Key

TITLE = "Settings"
WITH = ("everywhere", "table")
KEYS = (Key("settings.reset", "d", "reset", "default", "Set the row back to its default", footer=True),)
