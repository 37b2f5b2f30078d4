"""Keys of the plans of the workspace."""

from tui_eval.tui.keys import Key

TITLE = "Plans"
WITH = ("everywhere", "table")
INSTEAD = ("app.launch",)
KEYS = (
    Key(
        "plans.edit", "e", "edit", "edit", "Open the file in $VISUAL or $EDITOR; it is validated again on return", True
    ),
    Key("plans.launch", "L,f7", "launch", "launch", "Launch this plan: everything is checked and shown first", True),
    Key("plans.validate", "r", "validate", "validate", "Validate this plan again", True),
    Key("plans.check", "c", "check", "check data", "Validate the plan with its datasets, programs and functions", True),
    Key("plans.new", "n", "new", "new", "New plan from a sample", True),
    Key("plans.filter", "slash", "filter", "filter", "Filter: words of the name or the path", True),
    Key("plans.open_run", "o", "open_run", "last run", "Open the last run of this plan"),
)
