"""Keys of the form of a solution or an evaluator."""

from tui_eval.tui.keys import Key

TITLE = "The form of a solution or an evaluator"
WITH = ("everywhere", "form")
KEYS = (
    Key("part_form.try", "ctrl+t", "try", "try", "Try what stands in the form", footer=True, priority=True),
    Key("part_form.save", "ctrl+o,f10", "save", "save", "Save as a file of the workspace", footer=True, priority=True),
)
