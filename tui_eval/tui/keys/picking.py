"""Keys of the tables that are filtered while one types."""

from tui_eval.tui.keys import Key

TITLE = "Choosing one of many"
WITH = ("dialog",)
INSTEAD = ("dialog.yes", "dialog.no")
KEYS = (
    Key("picking.down", "down,ctrl+n", "move(1)", "down", "Next row"),
    Key("picking.up", "up,ctrl+p", "move(-1)", "up", "Previous row", priority=True),
    Key("picking.page_down", "pagedown", "move_page(1)", "page down", "A page down"),
    Key("picking.page_up", "pageup", "move_page(-1)", "page up", "A page up"),
)
