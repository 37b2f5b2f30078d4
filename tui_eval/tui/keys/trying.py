"""Keys of the pages that try a solution or an evaluator."""

from tui_eval.tui.keys import Key

TITLE = "Trying"
WITH = ("everywhere",)
KEYS = (
    Key("trying.next_section", "right_square_bracket", "section(1)", "section", "Next section", True),
    Key("trying.previous_section", "left_square_bracket", "section(-1)", "section back", "Previous section"),
    *(
        Key(f"trying.section_{number}", str(number), f"app.panel({number})", f"section {number}", f"Section {number}")
        for number in range(6, 7)
    ),
    Key("trying.copy", "y", "copy", "copy", "Copy: as curl, request, output … to the clipboard", True),
    Key("trying.write", "Y", "write", "to file", "Write the same to a file and show its path"),
    Key("trying.format", "f", "format", "raw", "JSON laid out, or exactly as it came"),
    Key("trying.cancel", "x", "cancel", "cancel", "Cancel the call"),
)
