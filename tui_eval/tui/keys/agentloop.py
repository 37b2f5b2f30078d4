"""Keys of the screen of AgentLoop."""

from tui_eval.tui.keys import Key

TITLE = "AgentLoop"
WITH = ("everywhere", "table")
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
)
