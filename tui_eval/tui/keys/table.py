"""Keys of every table."""

from tui_eval.tui.keys import Key

TITLE = "In a table"
WITH = ("everywhere",)
KEYS = (
    Key("table.down", "j,down", "move(1)", "down", "Next row"),
    Key("table.up", "k,up", "move(-1)", "up", "Previous row"),
    Key("table.first", "g,home", "first", "first", "First row"),
    Key("table.last", "G,end", "bottom", "last", "Last row"),
    Key("table.half_down", "ctrl+d", "move_page(0.5)", "half page down", "Half a page down"),
    Key("table.half_up", "ctrl+u", "move_page(-0.5)", "half page up", "Half a page up"),
    Key("table.page_down", "pagedown,ctrl+f", "move_page(1)", "page down", "A page down"),
    Key("table.page_up", "pageup", "move_page(-1)", "page up", "A page up"),
    Key("table.left", "h,left", "scroll_columns(-1)", "left", "Columns to the left"),
    Key("table.right", "l,right", "scroll_columns(1)", "right", "Columns to the right; also those that did not fit"),
    Key("table.select", "enter", "select", "open", "Open the row", footer=True),
    Key("table.mark", "space", "mark", "mark", "Mark the row, or take the mark away", footer=True),
    Key("table.mark_range", "v", "mark_range", "mark range", "Begin a range; again: mark everything in it"),
    Key("table.unmark", "u,ctrl+backslash", "unmark", "unmark all", "Take all marks away"),
    Key("table.sort", "s", "sort", "sort", "Sort by the next column", footer=True),
    Key("table.reverse", "S", "reverse", "reverse", "Reverse the order"),
)
