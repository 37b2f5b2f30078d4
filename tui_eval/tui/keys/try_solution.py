"""Keys of the page that tries a solution."""

from tui_eval.tui.keys import Key

TITLE = "Trying a solution"
WITH = ("everywhere", "trying")
KEYS = (
    Key(
        "try_solution.go",
        "s,f9",
        "go",
        "send",
        "Send it to the agent, once; asks first and names who is called",
        footer=True,
    ),
    Key("try_solution.choose", "c", "choose", "case", "Choose a case of a dataset", footer=True),
    Key("try_solution.type", "i", "type", "type", "Type into the fields above; esc comes back", footer=True),
)
