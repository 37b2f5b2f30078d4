"""Keys of a field with a few values."""

from tui_eval.tui.keys import Key

TITLE = "In a field with a few values"
WITH = ("everywhere", "form")
KEYS = (
    Key("choice.open", "enter", "choose", "choose", "Choose from a list", footer=True),
    Key("choice.next", "space,right,l", "step(1)", "next value", "Next value", footer=True),
    Key("choice.previous", "left,h,backspace", "step(-1)", "previous value", "Previous value"),
)
