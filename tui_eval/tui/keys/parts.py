"""Keys of the lists of solutions and of evaluators."""

from tui_eval.tui.keys import Key

TITLE = "Solutions and evaluators"
WITH = ("everywhere", "table")
KEYS = (
    Key("parts.try", "t", "try", "try", "Try it: see what is sent or judged before anything happens", footer=True),
    Key("parts.new", "n", "new", "new", "Make a new one: choose a kind, fill in its form", footer=True),
    Key("parts.filter", "slash", "filter", "filter", "Filter: words of name, kind, place", footer=True),
    Key("parts.edit", "e", "edit", "editor", "Open the file in $VISUAL or $EDITOR", footer=True),
)
