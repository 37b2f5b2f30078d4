"""Keys of the page that tries an evaluator."""

from tui_eval.tui.keys import Key

TITLE = "Trying an evaluator"
WITH = ("everywhere", "trying", "form")
KEYS = (
    Key(
        "try_evaluator.go",
        "s,f9",
        "go",
        "judge",
        "Judge the output; asks first when a model or a program is called",
        footer=True,
    ),
    Key("try_evaluator.choose", "c", "choose", "stored answer", "Choose the stored answer of a run", footer=True),
    Key("try_evaluator.type", "i", "type", "type", "Type into the fields above; esc comes back", footer=True),
)
