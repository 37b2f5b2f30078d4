"""What can be copied of a task: a name, and the text exactly as it is stored."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tui_eval.domain import as_text
from tui_eval.reports.shell_line import references, shell_line
from tui_eval.spec.names import safe_name
from tui_eval.tui.task_reading import TaskView
from tui_eval.tui.text import plural


@dataclass(frozen=True, slots=True)
class Copy:
    """One thing to copy. ``suffix`` is the usual end of a file with it."""

    name: str
    label: str
    text: str
    suffix: str = ".txt"

    @property
    def note(self) -> str:
        return self.text if len(self.text) <= 60 else plural(len(self.text), "character")


def copies(view: TaskView, history: Path) -> list[Copy]:
    """Everything there is to copy; what a task does not have is left out. May take a moment for a large answer."""
    task = view.task
    line = shell_line(view.sent, references(view.solution)) if view.sent else None
    found = [
        Copy("output", "Output", as_text(view.output), ".txt" if isinstance(view.output, str) else ".json")
        if view.answer is not None
        else None,
        Copy("id", "Case id", task.case_id),
        Copy("trace", "Trace id", view.received.get("trace_id") or task.trace_id),
        Copy("curl", "Request as curl" if line and line.startswith("curl") else "Command line", line or "", ".sh"),
        Copy("request", "Request as sent (JSON)", _json(view.sent) if view.sent else "", ".json"),
        Copy("response", "Response body", view.received.get("raw") or ""),
        Copy("stderr", "Standard error", view.received.get("stderr") or ""),
        *(
            Copy(f"expected-{place}", f"Expected ({each.source})", as_text(each.value))
            for place, each in enumerate(view.expected, 1)
            if each.found
        ),
        Copy("case", "Case (JSON)", _json(view.case_input), ".json"),
        Copy("message", "Message", task.message),
        Copy("show", "Command that shows this case", _show(view, history), ".sh"),
        Copy("run", "Run id", view.run.run_id),
        Copy("path", "Path of the history", str(history)),
        Copy("plan", "Path of the plan", view.run.plan_path),
    ]
    return [each for each in found if each is not None and (each.text or each.name == "output")]


def file_name(view: TaskView, copy: Copy) -> str:
    """A name for a file with a copy: of letters that no file system and no shell stumbles over."""
    return f"{view.run.run_id}-{safe_name(view.task.case_id)}-{copy.name}{copy.suffix}"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def _show(view: TaskView, history: Path) -> str:
    from tui_eval.reports.shell_line import quoted

    quote: Callable[[str], str] = lambda text: quoted(text, ())  # noqa: E731
    words = [f"--request {quote(view.request.name)}", f"--case {quote(view.task.case_id)}"]
    return f"tui-eval show {view.run.run_id} {' '.join(words)} --history {quote(str(history))}"
