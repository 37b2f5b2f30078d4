"""Several processes at one history, and one that is killed."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from tests.store.conftest import ROOT
from tests.store.records import finished, reading
from tui_eval.domain import Outcome
from tui_eval.store.liveness import state_now
from tui_eval.store.opening import check_integrity, open_for_writing
from tui_eval.store.reader import History
from tui_eval.store.records import RunState
from tui_eval.store.writer import HistoryWriter


def start_writer(path: Path, run_id: str, tasks: int, pause: float) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.store.child_writer", str(path), run_id, str(tasks), str(pause)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )


def watch(path: Path, stop: threading.Event, seen: list[int], errors: list[BaseException]) -> None:
    """What a screen does: poll, and look at everything when something has changed."""
    try:
        with History(path) as history:
            while not stop.is_set():
                if history.changed():
                    seen.append(0)
                    with history.snapshot():
                        for overview in history.runs():
                            done = sum(history.task(task.id).outcome.final for task in history.iter_tasks(overview.run))
                            assert done == overview.counters.finished
                            seen[-1] += done
                time.sleep(0.02)
    except BaseException as error:
        errors.append(error)


def test_two_runs_are_written_while_three_screens_watch(path: Path) -> None:
    open_for_writing(path).close()
    writers = [start_writer(path, run_id, 400, 0.01) for run_id in ("one", "two")]
    stop = threading.Event()
    seen: list[list[int]] = [[], [], []]
    errors: list[BaseException] = []
    watchers = [threading.Thread(target=watch, args=(path, stop, one, errors)) for one in seen]
    for watcher in watchers:
        watcher.start()
    for writer in writers:
        writer.communicate(timeout=60)
        assert writer.returncode == 0
    stop.set()
    for watcher in watchers:
        watcher.join()
    assert errors == []
    assert all(one == sorted(one) and len(one) > 2 for one in seen)
    assert check_integrity(path) == []
    with reading(path) as history:
        assert [overview.counters.passed for overview in history.runs()] == [400, 400]
        for overview in history.runs():
            for task in history.tasks(overview.run, limit=400)[::40]:
                answer = history.answer_of(task.id)
                assert answer is not None
                assert answer.answer is not None
                assert answer.answer["output"].startswith(f"{overview.run.run_id} {task.position} ")


async def test_a_kill_at_any_moment_loses_nothing_that_was_stored_and_resume_finishes_the_rest(path: Path) -> None:
    tasks = 600
    for run_id in ("first", "second", "third"):
        writer = start_writer(path, run_id, tasks, 0.01)
        assert writer.stdout is not None
        assert writer.stdout.readline() == "planned\n"
        time.sleep(random.uniform(0.05, 0.4))
        with reading(path) as history:
            before = history.runs()[0].counters.finished
        writer.send_signal(signal.SIGKILL)
        writer.communicate()
        assert check_integrity(path) == []
        with reading(path) as history:
            run = history.run(run_id)
            assert state_now(run) is RunState.INTERRUPTED
            (request,) = history.requests(run)
            assert before <= request.counters.finished <= tasks
            outcomes = [task.outcome for task in history.iter_tasks(run)]
            assert len(outcomes) == tasks
            assert outcomes.count(Outcome.PASSED) == request.counters.passed
        async with await HistoryWriter.open(path) as resumed:
            await resumed.adopt(run_id)
            with reading(path) as history:
                for one in history.queued(request.id, limit=tasks):
                    resumed.finished(finished(one.id, request.id))
            await resumed.set_run_state(run.id, RunState.COMPLETED)
            assert resumed.counters(request.id).passed == tasks
        assert check_integrity(path) == []
