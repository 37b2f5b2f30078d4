"""Keys of the page of an AgentCompass orchestration."""

from tui_eval.tui.keys import Key

TITLE = "Launch: an AgentCompass orchestration"
WITH = ("everywhere", "table")
KEYS = (
    Key("agentcompass.start", "r", "start", "start", "Start the run, after a last question", footer=True),
    Key("agentcompass.add", "a", "add", "add", "Add a request, like the one under the cursor", footer=True),
    Key(
        "agentcompass.remove",
        "x",
        "remove",
        "remove",
        "Remove this request, clear this part, or forget this typed value",
        footer=True,
    ),
    Key("agentcompass.later", "J", "move_request(1)", "later", "Run this request later"),
    Key("agentcompass.earlier", "K", "move_request(-1)", "earlier", "Run this request earlier"),
    Key("agentcompass.dry_run", "d", "dry_run", "dry run", "What AgentCompass itself makes of it", footer=True),
    Key("agentcompass.save", "w", "save", "save", "Save as a file that agentcompass launch takes", footer=True),
    Key("agentcompass.edit", "e", "edit", "edit", "Open the file in $VISUAL or $EDITOR", footer=True),
    Key("agentcompass.tags", "t", "tags", "tags", "Tags of the run"),
    Key("agentcompass.note", "n", "note", "note", "Note on the run"),
)
