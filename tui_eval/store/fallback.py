"""Where finished tasks go while the history cannot be written: a file of JSON lines, read back when it can be.

Beside the history as ``history.db.unsaved-RUN_ID.jsonl``, or in the folder for temporary files when nothing can be
written there. Mode 0600. Each line is one finished task; a last line that was cut off by a full disk is left out.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

from tui_eval.domain import Outcome, Score
from tui_eval.store.batch import Redact
from tui_eval.store.encoding import to_json
from tui_eval.store.records import AttemptPayload, AttemptRecord, FinishedTask

_CHUNK = 500  # tasks


@dataclass(slots=True)
class Recovered:
    """What :func:`recover` did: tasks put into the history, tasks that were there already (or gone), broken lines."""

    tasks: int = 0
    skipped: int = 0
    broken_lines: int = 0
    rejected: list[FinishedTask] = field(default_factory=list)


def places(history: Path, run_id: str) -> list[Path]:
    """The places of a run's fallback file, the better one first."""
    return [
        history.with_name(f"{history.name}.unsaved-{run_id}.jsonl"),
        Path(tempfile.gettempdir()) / f"tui_eval-unsaved-{run_id}.jsonl",
    ]


def find(history: Path, run_id: str) -> list[Path]:
    """The fallback files that a run has left. Only files of our own user count: the second place is open to others."""
    return [
        place
        for place in places(history, run_id)
        if place.is_file() and not place.is_symlink() and place.stat().st_uid == os.getuid()
    ]


def append(history: Path, run_id: str, tasks: Iterable[FinishedTask], redact: Redact | None) -> Path:
    """Append finished tasks, secrets replaced; where they are now. Raises OSError when no place takes them."""
    lines = "".join(f"{to_json(_encoded(task, redact))}\n" for task in tasks).encode()
    last_error: OSError | None = None
    for place in places(history, run_id):
        try:
            _append(place, lines)
        except OSError as error:
            last_error = error
        else:
            return place
    raise last_error or OSError("no place for a fallback file")


def _append(place: Path, lines: bytes) -> None:
    """All of ``lines`` or nothing of them, on the disk."""
    handle = os.open(place, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        found = os.fstat(handle)
        if found.st_uid != os.getuid():
            raise PermissionError(f"{place} belongs to someone else")
        try:
            written = 0
            while written < len(lines):
                written += os.write(handle, lines[written:])
            os.fsync(handle)
        except OSError:
            os.ftruncate(handle, found.st_size)
            raise
    finally:
        os.close(handle)


def read(place: Path) -> Iterator[FinishedTask | None]:
    """The tasks of a fallback file, None for a line that cannot be read."""
    with place.open("rb") as file:
        for line in file:
            try:
                yield _decoded(json.loads(line))
            except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
                yield None  # cut off by a full disk, or not ours


class Restorer(Protocol):
    """Whoever writes the run that the tasks belong to."""

    async def restore(self, tasks: Sequence[FinishedTask]) -> tuple[int, list[FinishedTask]]:
        """Store tasks: how many were new, and those that fit no task of the run."""
        ...


async def recover(place: Path, writer: Restorer) -> Recovered:
    """Put the tasks of a fallback file into the history, through the writer of their run. Doing it twice is fine.

    The file is left where it is; the caller removes it when nothing was rejected.
    """
    result = Recovered()
    chunk: list[FinishedTask] = []
    for task in read(place):
        if task is None:
            result.broken_lines += 1
            continue
        chunk.append(task)
        if len(chunk) >= _CHUNK:
            await _restore(chunk, writer, result)
            chunk = []
    await _restore(chunk, writer, result)
    return result


async def _restore(chunk: list[FinishedTask], writer: Restorer, result: Recovered) -> None:
    if chunk:
        stored, rejected = await writer.restore(chunk)
        result.tasks += stored
        result.rejected += rejected
        result.skipped += len(chunk) - stored - len(rejected)


def _encoded(task: FinishedTask, redact: Redact | None) -> dict[str, Any]:
    try:
        data = asdict(task)
        to_json(data)
        return redact(data) if redact else data
    except (TypeError, ValueError, RecursionError) as error:
        # What came back is no JSON value: its outcome and scores are saved all the same.
        note = {"notes": [f"what was sent and received could not be stored: {type(error).__name__}: {error}"]}
        bare = {name: getattr(task, name) for name in FinishedTask.__slots__ if name not in ("attempts", "scores")}
        bare["attempts"] = [
            {name: getattr(attempt, name) for name in AttemptRecord.__slots__ if name != "payload"}
            | {"payload": {"request": {}, "answer": note}}
            for attempt in task.attempts
        ]
        bare["scores"] = [
            {name: getattr(score, name) for name in Score.__slots__ if name != "detail"} for score in task.scores
        ]
        return redact(bare) if redact else bare


def _decoded(data: dict[str, Any]) -> FinishedTask:
    attempts = []
    for attempt in data.pop("attempts"):
        payload = attempt.pop("payload", None)
        attempts.append(AttemptRecord(**attempt, payload=AttemptPayload(**payload) if payload else None))
    scores = [Score(**score) for score in data.pop("scores")]
    return FinishedTask(**data | {"outcome": Outcome(data["outcome"])}, attempts=attempts, scores=scores)
