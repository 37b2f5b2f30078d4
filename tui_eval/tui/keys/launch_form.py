"""Keys of a form of the launch screens."""

from tui_eval.tui.keys import Key

TITLE = "Launch: a form"
WITH = ("everywhere", "form")
KEYS = (
    Key("launch_form.accept", "ctrl+o,f10", "accept", "accept", "Take over what is typed", footer=True, priority=True),
)
