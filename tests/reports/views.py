"""A run with everything that is awkward to write down, for the tests of reports."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

from tests.analysis.records import counters, request, run, task
from tui_eval.domain import Outcome, Score
from tui_eval.reports import FORMATS
from tui_eval.reports.view import TaskView
from tui_eval.store.records import AttemptRecord, RequestRecord, RunRecord

CASES = Path(__file__).parent.parent / "cases"
PLAN = {
    "requests": [
        {
            "name": "prod",
            "evaluators": [{"id": "exact"}, {"id": "judge", "name": "quality"}],
            "solution": {"headers": {"authorization": "Bearer ${SUPPORT_TOKEN}"}},
        }
    ]
}


def recorded_outputs() -> list[str]:
    """Outputs that look like markup, the terminal codes of a command, and texts that are formulas, HTML or Markdown."""
    lines = (CASES / "45-markup-output" / "outputs.jsonl").read_text(encoding="utf-8").splitlines()
    markup = [json.loads(line)["text"] for line in lines]
    terminal = (CASES / "32-cmd-ansi" / "stdout.bin").read_bytes().decode("utf-8")
    others = [
        *(
            "=1+1",
            "+1",
            "-1",
            "@SUM(A1)",
            "\t=1",
            "\r=1",
            "＝1",
            "'=1",
            "a;=1",
            'say "hi", ok',
            "line\nbreak\r\nend\rover",
        ),
        *(
            "<script>alert(1)</script>",
            "<!-- x",
            "a | b \\| c",
            "`` ` ```",
            "# head",
            "![x](http://a)",
            "&lt;",
            " pad ",
        ),
        *("\x00\x07\x08\x1b[2J\x7f\x9b31m", "\ud800 half", "\ufffe\uffff", "\u2028\u2029\u0085", "\u202eabc", "", "`"),
    ]
    return [*markup, terminal, *others]


def views(outputs: list[Any] | None = None) -> list[TaskView]:
    """One failed task an output; its text is everywhere a text can be."""
    found = []
    for number, output in enumerate(recorded_outputs() if outputs is None else outputs):
        text = output if isinstance(output, str) else "x"
        scores = [Score("exact", 0.0, False, text), Score("quality", error=text or "no reply", detail={"reply": text})]
        record = task(f"case {text}", Outcome.FAILED, message=f"{number}: {text}", output=text[:200], position=number)
        attempt = AttemptRecord(1, 1_800_000_000.0, 1.5, message=text)
        found.append(TaskView("prod", record, {text: text}, output, scores, [attempt]))
    return found


def written(name: str, tasks: list[TaskView], of_run: RunRecord | None = None, **values: Any) -> str:
    """The report of these tasks; it must be UTF-8."""
    stream = io.StringIO()
    requests: list[RequestRecord] = [
        request(counters=counters(*(view.task.outcome for view in tasks)), dataset="d.jsonl", **values)
    ]
    FORMATS[name].load()(stream, of_run or run(PLAN), requests, iter(tasks))
    text = stream.getvalue()
    text.encode("utf-8")
    return text
