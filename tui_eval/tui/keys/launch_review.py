"""Keys of the pre-flight page."""

from tui_eval.tui.keys import Key

TITLE = "Launch: pre-flight"
WITH = ("everywhere", "table")
KEYS = (
    Key("launch_review.start", "r", "start", "start", "Start the run, after a last question", footer=True),
    Key(
        "launch_review.request", "e", "request_settings", "settings", "Settings and sample of this request", footer=True
    ),
    Key(
        "launch_review.shared",
        "a",
        "shared_settings",
        "all settings",
        "Settings of the whole run, and of every request",
        footer=True,
    ),
    Key("launch_review.undo", "x", "undo", "undo", "Take this change back, or forget this typed value", footer=True),
    Key(
        "launch_review.set", "i", "override", "set a value", "Set one value: requests.NAME.solution.url=…", footer=True
    ),
    Key(
        "launch_review.section",
        "b",
        "platform_section",
        "AgentLoop",
        "The plan's AgentLoop section: its form, with the platform's evaluators",
        footer=True,
    ),
    Key(
        "launch_review.update",
        "p",
        "update_platform",
        "update plan",
        "Put the section's evaluators into the platform's own plan; what changes is shown first",
        footer=True,
    ),
    Key("launch_review.tags", "t", "tags", "tags", "Tags of the run", footer=True),
    Key("launch_review.note", "n", "note", "note", "Note on the run", footer=True),
    Key("launch_review.save", "w", "save", "save", "Save as a plan file that tui-eval run takes", footer=True),
)
