"""Keys of forms. Letters are typed into the fields, so there are few."""

from tui_eval.tui.keys import Key

TITLE = "In a form"
WITH = ("everywhere",)
KEYS = (
    Key("form.next", "down", "next_field", "next field", "Next field (tab and shift+tab too; enter in a line)"),
    Key("form.previous", "up", "previous_field", "previous field", "Previous field"),
    Key("form.page_down", "pagedown", "page(1)", "page down", "A page of fields down"),
    Key("form.page_up", "pageup", "page(-1)", "page up", "A page of fields up"),
    Key("form.fault", "ctrl+n", "next_fault", "next fault", "Go to the next field with a fault"),
)
