"""Keys of the questions that stand before the screen."""

from tui_eval.tui.keys import Key

TITLE = "In a question"
WITH: tuple[str, ...] = ()
KEYS = (
    Key("dialog.cancel", "escape", "cancel", "cancel", "Close the question; nothing happens", footer=True),
    Key("dialog.yes", "y", "answer(True)", "yes", "Yes"),
    Key("dialog.no", "n", "answer(False)", "no", "No"),
)
