"""Keys of the screen of AgentLoop."""

from tui_eval.tui.keys import Key

TITLE = "AgentLoop"
WITH = ("everywhere", "table")
INSTEAD = ("app.agentloop",)
KEYS = (
    Key("agentloop.space", "a", "space", "agent space", "Choose the agent space", footer=True),
    Key("agentloop.region", "o", "region", "region", "Region and addresses of the platform", footer=True),
    Key(
        "agentloop.details",
        "i",
        "details",
        "details",
        "Ask the platform about this one: evaluators, columns and rows, variables, scores",
        footer=True,
    ),
    Key(
        "agentloop.judge",
        "p",
        "judge",
        "evaluator",
        "Let the platform judge this plan with one more evaluator; what would change is shown first",
        footer=True,
    ),
    Key("agentloop.files", "B", "files", "workspace", "What the workspace has of the same kind", footer=True),
    Key("agentloop.filter", "slash", "filter", "filter", "Filter: words of any column", footer=True),
)
