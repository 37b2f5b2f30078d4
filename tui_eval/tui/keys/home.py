"""Keys of the home screen."""

from tui_eval.tui.keys import Key

TITLE = "Home"
WITH = ("everywhere", "table")
KEYS = (
    Key(
        "home.filter",
        "slash",
        "filter",
        "filter",
        "Filter: words of name, id, tags, note; tag:x state:x since:x until:x text:x; ! turns one around",
        footer=True,
    ),
    Key("home.cycle", "f", "cycle", "live/all", "Cycle: all runs, live ones, ones that were interrupted"),
    Key("home.compare", "c", "compare", "compare", "Compare the two marked runs", footer=True),
    Key("home.tags", "t", "tags", "tags", "Change the tags of the marked runs, else of this one"),
    Key("home.note", "n", "note", "note", "Change the note of this run"),
    Key("home.delete", "d", "delete", "delete", "Delete the marked runs, else this one", footer=True),
    Key("home.demo", "F", "demo", "demo", "First steps: run the demo", footer=False),
)
