"""Keys of the screen of one task.

``n`` goes on to the next place that matches while a text is searched for (see ``keys.viewer``); esc ends the search,
and ``J`` always is the next task.
"""

from tui_eval.tui.keys import Key

TITLE = "Task"
WITH = ("everywhere", "viewer")
INSTEAD = ("viewer.next",)
KEYS = (
    Key(
        "task.next",
        "n,J",
        "page(1)",
        "next",
        "Next task of the list (J also while a text is searched for)",
        footer=True,
    ),
    Key("task.previous", "p,K", "page(-1)", "previous", "Previous task of the list", footer=True),
    Key("task.next_section", "right_square_bracket", "section(1)", "section", "Next section", footer=True),
    Key("task.previous_section", "left_square_bracket", "section(-1)", "section back", "Previous section"),
    *(
        Key(
            f"task.section_{number}",
            str(number),
            f"app.panel({number})",
            f"section {number}",
            f"Go to section {number}",
        )
        for number in range(6, 10)
    ),
    Key("task.copy", "y", "copy", "copy", "Copy: output, request, curl, ids … to the clipboard", footer=True),
    Key("task.write", "Y", "write", "to file", "Write the same to a file, exactly as it came, and show its path"),
    Key("task.pager", "o", "pager", "pager", "Open this section in $PAGER", footer=True),
    Key("task.editor", "e", "editor", "editor", "Open this section in $EDITOR (a copy)"),
    Key("task.format", "f", "format", "raw", "JSON laid out, or exactly as it came", footer=True),
    Key("task.attempt", "a", "attempt(1)", "attempt", "Next attempt", footer=True),
    Key("task.attempt_back", "A", "attempt(-1)", "attempt back", "Previous attempt"),
    Key("task.rerun", "r", "rerun", "re-run", "Run this case again, as a new run", footer=True),
    Key("task.cancel", "x", "cancel", "cancel", "Cancel this task while it is running"),
)
