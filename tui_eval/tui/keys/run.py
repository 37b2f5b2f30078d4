"""Keys of the screen of one run, live or past."""

from tui_eval.tui.keys import Key

TITLE = "Run"
WITH = ("everywhere", "table")
KEYS = (
    Key(
        "run.filter",
        "slash",
        "filter",
        "filter",
        "Filter the tasks: words of case, message, output; outcome:failed",
        footer=True,
    ),
    Key("run.cycle", "f", "cycle", "all/failed", "Cycle: all tasks, failed ones and errors, running ones"),
    Key(
        "run.rerun",
        "r",
        "rerun_chosen",
        "re-run this",
        "Run the marked tasks again, else this one, as a new run",
        footer=True,
    ),
    Key(
        "run.rerun_all",
        "R",
        "rerun",
        "re-run failed…",
        "Run again: failed, errors, unscored or all, as a new run",
        footer=True,
    ),
    Key("run.continue", "C", "continue_run", "continue", "Finish a run whose runner is gone"),
    Key("run.cancel", "x", "cancel_chosen", "cancel", "Cancel this task or request"),
    Key(
        "run.cancel_run",
        "X",
        "cancel_run",
        "cancel run",
        "Cancel the run: let running tasks finish, or at once",
        footer=True,
    ),
    Key("run.pause", "p", "pause", "pause", "Pause the run, or resume it", footer=True),
    Key("run.concurrency", "c", "concurrency", "concurrency", "Change how many tasks run at once"),
    Key("run.export", "e", "export", "export", "Write the run to a file: JSON, JSON lines, CSV, Markdown"),
    Key("run.parent", "left_square_bracket", "parent", "parent", "Open the run that this one is a re-run of"),
    Key("run.children", "right_square_bracket", "children", "children", "Open a re-run of this run"),
    Key("run.note", "n", "note", "note", "Change the note of the run"),
    Key("run.tags", "t", "tags", "tags", "Change the tags of the run"),
)
