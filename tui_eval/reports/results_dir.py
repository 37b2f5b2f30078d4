"""A folder with the results of a run, written while it runs: the habit of AgentLoop and AgentCompass.

``<folder>/<run id>/<request>/tasks.jsonl`` has a line for every finished task, in the order they finish;
``summary.json`` beside it, and ``summary.json`` and ``summary.md`` of the whole run one level up, are written at the
end. The history stays the record of the run: a folder that cannot be written costs the folder, not the run, and the
folder of a run that is taken up again is written anew, beginning with what had finished (:meth:`ResultsDir.add_view`).
"""

from __future__ import annotations

import io
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Protocol, TextIO

from tui_eval.analysis.summary import total_of
from tui_eval.domain import JsonValue, Outcome
from tui_eval.errors import UsageError
from tui_eval.reports.data import request_data, run_data, summary_data, task_data
from tui_eval.reports.markdown import MarkdownReport
from tui_eval.reports.view import TaskView
from tui_eval.reports.writing import json_text
from tui_eval.spec.names import safe_name
from tui_eval.store.records import AttemptRecord, FinishedTask, RequestRecord, RunRecord, TaskRecord


class DescribedTask(Protocol):
    """What is needed of the description of a task (see ``engine.data.TaskDescription``)."""

    @property
    def task(self) -> int: ...
    @property
    def case_id(self) -> str: ...
    @property
    def case_input(self) -> Mapping[str, JsonValue]: ...
    @property
    def position(self) -> int: ...
    @property
    def repeat(self) -> int: ...
    @property
    def line(self) -> int: ...
    @property
    def work(self) -> str: ...
    @property
    def answer(self) -> Mapping[str, Any] | None: ...


class ResultsDir:
    """The results folder of one run. ``error`` is the first thing that could not be written, empty when all could;
    after it nothing more is tried."""

    def __init__(
        self,
        folder: Path,
        run: RunRecord,
        requests: list[RequestRecord],
        redact: Callable[[JsonValue], JsonValue] = lambda value: value,
    ) -> None:
        """Make the folders. ``redact`` replaces the secrets in a JSON value (tasks come as the evaluators saw them).

        Raises :class:`UsageError` when that is not possible.
        """
        self.path = folder / run.run_id
        self.error = ""
        self._redact = redact
        self._run = run
        self._report = MarkdownReport(run, requests)
        self._folders = _folders(self.path, requests)
        self._streams: dict[str, TextIO] = {}
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            for name, place in self._folders.items():
                place.mkdir(mode=0o700, exist_ok=True)
                self._streams[name] = _emptied(place / "tasks.jsonl")
        except OSError as error:
            self._close_streams()
            raise UsageError(f"results folder {self.path}: cannot be written: {_why(error)}") from error

    def add(self, request: RequestRecord, task: DescribedTask, result: FinishedTask) -> None:
        """Write the line of a task that has just finished."""
        self.add_view(_view(self._run, request, task, result))

    def add_view(self, view: TaskView) -> None:
        """Write the line of a task, for instance one that was taken over from an earlier run."""
        view = _redacted(view, self._redact)
        self._report.add(view)
        line = json_text({"run_id": self._run.run_id, **task_data(view)}) + "\n"

        def write() -> None:
            stream = self._streams[view.request]
            stream.write(line)
            stream.flush()

        self._try(write)

    def close(self, run: RunRecord, requests: list[RequestRecord]) -> None:
        """Write the summaries of the ended run and close the files."""
        self._try(lambda: self._write_summaries(run, requests))
        self._close_streams()

    def _write_summaries(self, run: RunRecord, requests: list[RequestRecord]) -> None:
        summaries = {name: summary_data(one) for name, one in self._report.summaries(requests).items()}
        for request in requests:
            data = {"run_id": run.run_id, "request": request_data(request), "summary": summaries[request.name]}
            _replace(self._folders[request.name] / "summary.json", json_text(data) + "\n")
        whole = {
            "run": run_data(run),
            "requests": [request_data(request) for request in requests],
            "totals": asdict(total_of(request.counters for request in requests)),
            "summaries": summaries,
        }
        _replace(self.path / "summary.json", json_text(whole) + "\n")
        text = io.StringIO()
        self._report.write(text, run, requests)
        _replace(self.path / "summary.md", text.getvalue())

    def _try(self, write: Callable[[], None]) -> None:
        if self.error:
            return
        try:
            write()
        except OSError as error:
            self.error = f"results folder {self.path}: cannot be written: {_why(error)}"

    def _close_streams(self) -> None:
        for stream in self._streams.values():
            try:
                stream.close()
            except OSError as error:
                # Its first failure is told already; what is left in its buffer cannot be written either.
                self.error = self.error or f"results folder {self.path}: cannot be written: {_why(error)}"
        self._streams.clear()


def _folders(path: Path, requests: list[RequestRecord]) -> dict[str, Path]:
    """A folder a request, also where the file system takes ``A`` and ``a`` for the same name."""
    taken: set[str] = set()
    folders = {}
    for request in requests:
        name = base = safe_name(request.name)
        number = 1
        while name.casefold() in taken:
            number += 1
            name = f"{base}-{number}"
        taken.add(name.casefold())
        folders[request.name] = path / name
    return folders


def _emptied(path: Path) -> TextIO:
    """The file, made when there is none (0600: what agents said is for its owner), emptied, open for text."""

    def private(name: str, flags: int) -> int:
        return os.open(name, flags, 0o600)

    return open(path, "w", encoding="utf-8", newline="\n", opener=private)


def _replace(path: Path, text: str) -> None:
    """Write a file in one step: a reader sees the old one or the new one, never half of it."""
    temporary = path.with_name(path.name + ".new")
    with _emptied(temporary) as stream:
        stream.write(text)
    temporary.replace(path)


def _view(run: RunRecord, request: RequestRecord, task: DescribedTask, result: FinishedTask) -> TaskView:
    values = [score.value for score in result.scores if score.value is not None]
    record = TaskRecord(
        id=task.task,
        run=run.id,
        request=request.id,
        position=task.position,
        case_key=0,
        case_id=task.case_id,
        repeat=task.repeat,
        line=task.line,
        work=task.work,
        outcome=result.outcome,
        fingerprint="",
        evaluation_fingerprint="",
        reused_from=None,
        attempts=len(result.attempts),
        started_at=result.started_at,
        finished_at=result.finished_at,
        latency=result.latency,
        score=math.fsum(values) / len(values) if values else None,
        error_kind=result.error_kind,
        message=result.message,
        output=result.output,
        trace_id=result.trace_id,
        input_tokens=result.input_tokens,
        output_tokens=result.output_tokens,
        cost=result.cost,
    )
    return TaskView(
        request.name, record, dict(task.case_input), _output(task, result), result.scores, _without_payloads(result)
    )


def _redacted(view: TaskView, redact: Callable[[JsonValue], JsonValue]) -> TaskView:
    """The same task without the values of secrets, as the history keeps it."""
    return replace(
        view,
        task=replace(view.task, message=redact(view.task.message), output=redact(view.task.output)),
        input=redact(view.input),
        output=redact(view.output),
        scores=[
            replace(score, reason=redact(score.reason), error=redact(score.error), detail=redact(dict(score.detail)))
            for score in view.scores
        ],
        attempts=[replace(attempt, message=redact(attempt.message)) for attempt in view.attempts],
    )


def _output(task: DescribedTask, result: FinishedTask) -> JsonValue:
    """What was judged: the output of the last attempt, or of the answer that was only judged again."""
    if result.outcome in (Outcome.ERROR, Outcome.CANCELLED):
        return None
    payload = result.attempts[-1].payload if result.attempts else None
    answer = payload.answer if payload is not None else task.answer
    return answer.get("output") if answer is not None else None


def _without_payloads(result: FinishedTask) -> list[AttemptRecord]:
    return [replace(attempt, payload=None) for attempt in result.attempts]


def _why(error: OSError) -> str:
    return error.strerror or type(error).__name__
