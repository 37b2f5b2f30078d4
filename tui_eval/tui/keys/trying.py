"""Keys of the pages that try a solution or an evaluator."""

from tui_eval.tui.keys import Key

TITLE = "Trying a solution or an evaluator"
WITH = ("everywhere",)
KEYS = (
    Key(
        "trying.go", "s,f9", "go", "send", "Send to the agent once, or judge; asks first when anything is called", True
    ),
    Key(
        "trying.choose", "c", "choose", "choose case", "Choose a case of a dataset, or the stored answer of a run", True
    ),
    Key("trying.input", "i", "type", "type", "Type into the fields above; esc comes back", True),
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
