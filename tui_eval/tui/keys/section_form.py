"""Keys of the form of a plan's AgentLoop section, besides those of every form."""

from tui_eval.tui.keys import Key

TITLE = "AgentLoop's section of a plan"
WITH = ("everywhere", "form", "launch_form")
KEYS = (
    Key(
        "section_form.evaluator",
        "ctrl+t,f9",
        "add_evaluator",
        "add evaluator",
        "Choose an evaluator of the platform, map its variables, and add it to the section",
        footer=True,
        priority=True,
    ),
)
