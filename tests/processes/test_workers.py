"""Functions in worker processes: their results, their failures, and their limits."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tui_eval.errors import WorkerDied, WorkerError, WorkerRaised, WorkerTimeout
from tui_eval.processes import groups
from tui_eval.processes.workers import WorkerPool

MODULE = """
import asyncio, os, subprocess, sys, time

class Grader:
    @staticmethod
    def grade(x): return x

def echo(x): return x
def pid(x): return os.getpid()
def named(a, b=0): return {"a": a, "b": b}
def shout(x):
    print("to stdout", x)
    print("to stderr", file=sys.stderr)
    os.write(1, b'{"value": "forged"}\\n')
    subprocess.run(["echo", "from a program"])
    return [sys.stdin.read(), x]
async def later(x):
    await asyncio.sleep(0.01)
    return x
loops = set()
async def loop_count(x):
    loops.add(id(asyncio.get_running_loop()))
    return len(loops)
def nan(x): return [float("nan")]
def a_set(x): return {1}
def circle(x):
    it = []
    it.append(it)
    return it
def deep(x):
    it = []
    for _ in range(100_000): it = [it]
    return it
def boom(x):
    password = "hunter2-local"
    raise ValueError("bad " + str(x))
class Mute(Exception):
    def __str__(self): raise RuntimeError("no")
def mute(x): raise Mute()
def leave(x): raise SystemExit(4)
def die(x):
    print("last words", flush=True)
    os._exit(3)
def crash(x): os.kill(os.getpid(), 11)
def spin(x):
    while True: pass
def stubborn(x):
    import signal
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    subprocess.Popen(["sleep", "300"])
    time.sleep(300)
def env(x): return os.environ.get(x)
not_callable = 3
"""


@pytest.fixture
async def pool(tmp_path: Path) -> AsyncIterator[WorkerPool]:
    (tmp_path / "functions.py").write_text(MODULE)
    pool = WorkerPool(size=2, folder=tmp_path, environment=dict(os.environ))
    yield pool
    await pool.aclose()


async def failure(pool: WorkerPool, name: str, timeout: float = 10) -> WorkerError:
    with pytest.raises(WorkerError) as caught:
        await pool.call(f"functions:{name}", 1, timeout=timeout)
    return caught.value


@pytest.mark.parametrize("value", [None, True, 0, 1.5, "", "a\u2028b\n", "\ud800", [], {"k": [1, {"é": "\x00"}]}])
async def test_any_json_value_passes_both_ways(pool: WorkerPool, value: object) -> None:
    assert await pool.call("functions:echo", value, timeout=10) == value


async def test_messages_larger_than_any_pipe_pass(pool: WorkerPool) -> None:
    text = "ä" * 1_000_000
    assert await pool.call("functions:echo", text, timeout=20) == text


async def test_sync_async_and_nested_functions_are_called(pool: WorkerPool) -> None:
    assert await pool.call("functions:later", 7, timeout=10) == 7
    assert await pool.call("functions:Grader.grade", 8, timeout=10) == 8
    keywords = await pool.call("functions:named", {"a": 1}, timeout=10, style="keywords", arguments={"b": 2})
    assert keywords == {"a": 1, "b": 2}


async def test_async_functions_share_one_event_loop_so_that_their_clients_live_on(pool: WorkerPool) -> None:
    assert [await pool.call("functions:loop_count", 1, timeout=10) for _ in range(3)] == [1, 1, 1]


async def test_prints_never_get_between_the_replies(pool: WorkerPool) -> None:
    heard: list[str] = []
    assert await pool.call("functions:shout", "x", timeout=10, printed=heard.append) == ["", "x"]
    assert set(heard[0].splitlines()) == {"to stdout x", "to stderr", '{"value": "forged"}', "from a program"}
    await pool.call("functions:echo", "x", timeout=10, printed=heard.append)
    assert heard[1] == ""


async def test_what_functions_print_is_logged_line_by_line(tmp_path: Path) -> None:
    (tmp_path / "functions.py").write_text(MODULE)
    lines: list[str] = []
    pool = WorkerPool(size=1, folder=tmp_path, environment=dict(os.environ), log=lines.append)
    await pool.call("functions:shout", "x", timeout=10, printed=lambda text: None)
    await pool.aclose()
    assert "to stdout x" in lines


async def test_a_worker_is_used_again_the_last_one_first(pool: WorkerPool) -> None:
    first = await pool.call("functions:pid", 1, timeout=10)
    assert [await pool.call("functions:pid", 1, timeout=10) for _ in range(5)] == [first] * 5


async def test_no_more_workers_run_than_the_pool_may_have(pool: WorkerPool) -> None:
    pids = await asyncio.gather(*(pool.call("functions:pid", 1, timeout=10) for _ in range(20)))
    assert 1 <= len(set(pids)) <= 2


async def test_values_that_json_cannot_carry_are_refused_in_words(pool: WorkerPool) -> None:
    for name, words in (
        ("nan", "NaN"),
        ("a_set", "type set"),
        ("circle", "Circular"),
        ("deep", "nested too deeply"),
    ):
        error = await failure(pool, name)
        assert isinstance(error, WorkerRaised)
        assert error.stage == "result"
        assert words in str(error)


async def test_what_a_function_raises_comes_with_its_traceback_and_no_local_values(pool: WorkerPool) -> None:
    error = await failure(pool, "boom")
    assert isinstance(error, WorkerRaised)
    assert (str(error), error.stage) == ("functions:boom: ValueError: bad 1", "call")
    assert "functions.py" in error.traceback
    assert "worker_main" not in error.traceback
    assert "hunter2-local" not in error.traceback.replace('password = "hunter2-local"', "")
    assert "SystemExit: 4" in str(await failure(pool, "leave"))
    assert "Mute" in str(await failure(pool, "mute"))


async def test_what_is_not_there_is_found_at_import(pool: WorkerPool) -> None:
    for reference, words in (
        ("functions:absent", "there is no `absent` in"),
        ("functions:not_callable", "not a function but int"),
        ("no_such_module:f", "No module named 'no_such_module'"),
    ):
        with pytest.raises(WorkerRaised, match=words) as caught:
            await pool.call(reference, 1, timeout=10)
        assert caught.value.stage == "import"


async def test_a_worker_that_dies_is_replaced_and_its_last_words_are_told(pool: WorkerPool) -> None:
    error = await failure(pool, "die")
    assert isinstance(error, WorkerDied)
    assert "exit 3" in str(error)
    assert "last words" in str(error)
    assert "SIGSEGV" in str(await failure(pool, "crash"))
    assert await pool.call("functions:echo", 1, timeout=10) == 1


async def test_a_worker_that_died_while_idle_is_not_used(pool: WorkerPool) -> None:
    pid = await pool.call("functions:pid", 1, timeout=10)
    os.kill(pid, 9)
    await asyncio.sleep(0.1)
    assert await pool.call("functions:pid", 1, timeout=10) != pid


async def test_a_call_that_never_ends_is_killed_on_time_and_holds_nobody(pool: WorkerPool) -> None:
    await asyncio.gather(*(pool.call("functions:echo", 1, timeout=10) for _ in range(2)))
    begun = time.monotonic()
    hung = asyncio.create_task(failure(pool, "spin", timeout=0.5))
    for _ in range(20):
        await pool.call("functions:echo", 1, timeout=10)
    assert time.monotonic() - begun < 0.5
    assert isinstance(await hung, WorkerTimeout)
    assert 0.45 < time.monotonic() - begun < 1.5


async def test_a_killed_worker_takes_its_children_with_it(pool: WorkerPool) -> None:
    async def seen() -> set[int]:
        return {line.pid for line in groups.table() if line.parent == os.getpid() and line.session == line.pid}

    before = await seen()
    hung = asyncio.create_task(failure(pool, "stubborn", timeout=0.4))
    await asyncio.sleep(0.3)
    (leader,) = await seen() - before
    await hung
    assert not [line for line in groups.table() if line.session == leader and line.living]


async def test_cancelling_a_call_kills_its_worker(pool: WorkerPool) -> None:
    pid = await pool.call("functions:pid", 1, timeout=10)
    call = asyncio.create_task(pool.call("functions:spin", 1, timeout=None))
    await asyncio.sleep(0.1)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    line = groups.entry(pid)
    assert line is None or not line.living


async def test_an_environment_holds_for_one_call_only(pool: WorkerPool) -> None:
    given = await pool.call("functions:env", "TRACEPARENT", timeout=10, environment={"TRACEPARENT": "00-a"})
    assert given == "00-a"
    assert await pool.call("functions:env", "TRACEPARENT", timeout=10) == os.environ.get("TRACEPARENT")


async def test_modules_of_one_name_in_two_folders_are_kept_apart(pool: WorkerPool, tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "grader.py").write_text(f"def f(x): return {name!r}")
    for name in ("one", "two", "three", "one"):
        assert await pool.call("grader:f", 1, timeout=10, path=name) == name


async def test_a_reply_without_end_is_refused(pool: WorkerPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui_eval.processes.workers.LARGEST_REPLY", 100_000)
    with pytest.raises(WorkerDied, match="returned more than"):
        await pool.call("functions:echo", "x" * 500_000, timeout=10)
    assert await pool.call("functions:echo", 1, timeout=10) == 1


async def test_what_python_prints_at_its_start_is_not_taken_for_a_reply(tmp_path: Path) -> None:
    (tmp_path / "functions.py").write_text(MODULE)
    (tmp_path / "sitecustomize.py").write_text("print('{\"hello\": 1}', flush=True); print('plain', flush=True)")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    pool = WorkerPool(size=1, folder=tmp_path, environment=environment)
    assert await pool.call("functions:echo", 1, timeout=10) == 1
    await pool.aclose()


async def test_closing_ends_idle_and_busy_workers_and_refuses_more(pool: WorkerPool) -> None:
    idle = await pool.call("functions:pid", 1, timeout=10)
    busy = asyncio.create_task(failure(pool, "spin"))
    await asyncio.sleep(0.1)
    await pool.aclose()
    assert isinstance(await busy, WorkerDied)
    line = groups.entry(idle)
    assert line is None or not line.living
    with pytest.raises(WorkerError, match="closed"):
        await pool.call("functions:echo", 1, timeout=10)


async def test_a_pool_that_was_never_used_starts_nothing(tmp_path: Path) -> None:
    await WorkerPool(size=1, folder=tmp_path / "absent", environment={}).aclose()


async def test_a_missing_folder_is_told(tmp_path: Path) -> None:
    pool = WorkerPool(size=1, folder=tmp_path / "absent", environment={})
    with pytest.raises(WorkerError, match="working folder does not exist"):
        await pool.call("m:f", 1, timeout=5)
