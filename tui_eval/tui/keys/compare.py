"""Keys of the comparison of two runs."""

from tui_eval.tui.keys import Key

TITLE = "Compare"
WITH = ("everywhere", "table")
KEYS = (
    Key("compare.filter", "slash", "filter", "filter", "Filter: words of case, message, output; is:worse", footer=True),
    Key("compare.cycle", "f", "cycle", "group", "Cycle: all differences, worse, better, other, output, …", footer=True),
    Key("compare.view", "d", "view", "word diff", "Outputs side by side, or compared word by word", footer=True),
    Key("compare.swap", "x", "swap", "swap", "Swap the two runs", footer=True),
    Key("compare.left", "left_square_bracket", "task('left')", "task before", "Open the task of the earlier run"),
    Key(
        "compare.right",
        "right_square_bracket",
        "task('right')",
        "task after",
        "Open the task of the later run",
        footer=True,
    ),
    Key("compare.export", "e", "export", "export", "Write the comparison to a file: Markdown, CSV", footer=True),
)
