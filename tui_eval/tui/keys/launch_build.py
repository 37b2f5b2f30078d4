"""Keys of the screen that composes a plan."""

from tui_eval.tui.keys import Key

TITLE = "Launch: compose a plan"
WITH = ("everywhere", "table")
KEYS = (
    Key("launch_build.go_on", "c", "go_on", "continue", "Continue with what is marked", footer=True),
    Key(
        "launch_build.add",
        "a",
        "add",
        "add",
        "Add a dataset file, a solution or an evaluator of this launch only",
        footer=True,
    ),
    Key("launch_build.edit", "e", "edit", "edit", "Edit what was added here, or the sample of a dataset", footer=True),
    Key("launch_build.name", "n", "name", "name", "Change the name of the plan", footer=True),
)
