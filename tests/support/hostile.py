"""Texts that have crashed, hidden or driven terminal applications: as names, ids, outputs and messages in tests."""

from __future__ import annotations

MARKUP = (
    "[/]",
    "[/b]",
    "[red]x",
    "[b",
    "items[0]",
    "[true, false]",
    "array[int",
    "[sys:LOCK=SAFE…]",
    '{"a": [1, "[/x]"]}',
    "a=1 [b + should",
    "[@click=app.bell]x[/]",
    "[link='javascript']x[/]",
    "[#zzz]x[/]",
    "\\[",
    "[",
    "[[",
    "][",
    ":smile: [red]",
    "$primary {x} %s",
)
"""Brackets that both markup dialects of the toolkit stumble over. All of it must be shown as it is."""

COMMANDS = (
    "A\x1b]52;c;RVZJTA==\x07B\x1b[31mC\x9b32mD",
    "\x1b]0;owned\x07title",
    "over\rwritten\x08\x7f",
    "\x1b[2J\x1b[H\x1bP+q544e\x1b\\",
    "user\u202etxt.exe\u2066",
    "zero\u200bwidth\ufeff",
    "half \ud800 lone",
    "new\nline\ttab\x00nul",
    "wide 中文 e\u0301 👩\u200d👧",
)
"""What a terminal would obey or hide. None of it may reach one."""
