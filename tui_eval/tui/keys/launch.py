"""Keys of the first launch screen: which plan."""

from tui_eval.tui.keys import Key

TITLE = "Launch"
WITH = ("everywhere", "table")
KEYS = (
    Key("launch.filter", "slash", "filter", "filter", "Filter the plans by words of their name or file", footer=True),
    Key("launch.build", "b", "build", "compose", "Compose a plan from datasets, solutions and evaluators", footer=True),
    Key(
        "launch.compass",
        "c",
        "compose_compass",
        "AgentCompass",
        "Compose an AgentCompass orchestration: benchmarks, harnesses, environments, models",
        footer=True,
    ),
    Key("launch.path", "o", "path", "other file", "Launch a plan file that lies somewhere else", footer=True),
)
