"""Keys of the viewer of long texts."""

from tui_eval.tui.keys import Key

TITLE = "In a text"
WITH = ("everywhere",)
KEYS = (
    Key("viewer.down", "j,down", "move(1)", "down", "A line down"),
    Key("viewer.up", "k,up", "move(-1)", "up", "A line up"),
    Key("viewer.top", "g,home", "top", "top", "Beginning"),
    Key("viewer.bottom", "G,end", "bottom", "end", "End"),
    Key("viewer.half_down", "ctrl+d", "move_page(0.5)", "half page down", "Half a page down"),
    Key("viewer.half_up", "ctrl+u", "move_page(-0.5)", "half page up", "Half a page up"),
    Key("viewer.page_down", "pagedown,space", "move_page(1)", "page down", "A page down"),
    Key("viewer.page_up", "pageup", "move_page(-1)", "page up", "A page up"),
    Key("viewer.left", "h,left", "move_columns(-8)", "left", "To the left"),
    Key("viewer.right", "l,right", "move_columns(8)", "right", "To the right"),
    Key("viewer.wrap", "w", "wrap", "wrap", "Wrap long lines, or do not", footer=True),
    Key("viewer.numbers", "hash,number_sign", "numbers", "numbers", "Line numbers on or off"),
    Key("viewer.search", "slash", "search", "search", "Search", footer=True),
    Key("viewer.next", "n", "next_match(1)", "next", "Next place that matches"),
    Key("viewer.previous", "N", "next_match(-1)", "previous", "Previous place that matches"),
)
