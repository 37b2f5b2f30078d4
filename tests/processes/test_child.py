"""Programs are run to their end, within their limits, and leave nothing behind."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tui_eval.errors import StartError
from tui_eval.processes import groups
from tui_eval.processes.child import ChildResult, last_lines, run_child


async def run(argv: list[str] | None, **changes: Any) -> ChildResult:
    settings: dict[str, Any] = {
        "stdin": None,
        "env": dict(os.environ),
        "cwd": Path("/"),
        "total": 20.0,
        "idle": None,
        "grace": 0.5,
        "drain": 0.3,
        "max_output": 1 << 20,
    }
    return await run_child(argv, **{**settings, **changes})


def sh(text: str, **changes: Any) -> Any:
    return run(["sh", "-c", text], **changes)


def alive(pid: int) -> bool:
    line = groups.entry(pid)
    return line is not None and line.living


def family(group: int) -> list[int]:
    return [line.pid for line in groups.table() if group in (line.group, line.session) and line.living]


async def until_gone(pid: int, seconds: float = 1.0) -> bool:
    deadline = time.monotonic() + seconds
    while alive(pid) and time.monotonic() < deadline:
        await asyncio.sleep(0.02)
    return not alive(pid)


async def test_a_timed_out_program_goes_with_its_children_and_what_it_said_is_kept(cases: Path) -> None:
    result = await run(["./agent.sh"], cwd=cases / "30-cmd-grandchild", total=0.5)
    assert result.stopped == "total"
    assert result.stdout == b"half an answer\n"
    assert 0.45 < result.seconds < 1.5
    assert family(result.pid) == []


async def test_a_complete_answer_is_taken_although_a_leftover_holds_the_pipe_open(cases: Path) -> None:
    result = await run(["./done-but-held.sh"], cwd=cases / "30-cmd-grandchild")
    assert (result.exit_code, result.stdout, result.stopped) == (0, b"complete answer\n", None)
    assert result.leftovers
    assert result.seconds < 1.5
    for pid in family(result.pid):  # killed; the system may need a moment
        assert await until_gone(pid)
    assert family(result.pid) == []


async def test_a_program_that_ignores_term_is_killed_after_the_grace(cases: Path) -> None:
    result = await run([sys.executable, "stubborn.py"], cwd=cases / "30-cmd-grandchild", total=0.5, grace=0.2)
    assert (result.stopped, result.signal_name, result.exit_code) == ("total", "SIGKILL", None)
    assert result.stdout == b"ignoring TERM\n"
    assert result.seconds < 1.5


async def test_a_program_that_tidies_up_on_term_gets_the_time_and_is_still_heard() -> None:
    code = "trap 'sleep 0.1; echo saved; exit 0' TERM; echo begun; while :; do sleep 0.02; done"
    result = await sh(code, total=0.3, grace=5.0)
    assert result.stopped == "total"
    assert result.stdout == b"begun\nsaved\n"
    assert result.seconds < 3


async def test_a_grandchild_that_ignores_term_is_killed_too() -> None:
    code = "(trap '' TERM; echo $$; sleep 60) & echo $!; wait"
    result = await sh(code, total=0.3, grace=0.2)
    assert result.signal_name == "SIGTERM"
    assert family(result.pid) == []


async def test_a_stopped_program_is_ended() -> None:
    result = await sh("kill -STOP $$", total=0.2, grace=2.0)
    assert (result.stopped, result.signal_name) == ("total", "SIGTERM")
    assert result.seconds < 1.5


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
@pytest.mark.parametrize("how", ["setsid sleep 300 &", "set -m; sleep 300 &"])
async def test_a_child_that_left_the_group_is_ended_at_a_time_limit(how: str) -> None:
    result = await run(["bash", "-c", f"{how} echo $!; wait; sleep 300"], total=0.4, grace=0.2)
    assert result.stopped == "total"
    assert await until_gone(int(result.stdout))


DAEMON = "(setsid sh -c 'echo $$ >{0}; exec sleep 300' >/dev/null 2>&1 </dev/null &)"
"""In a session of its own, without our pipes, its parent gone."""


async def pid_in(file: Path) -> int:
    deadline = time.monotonic() + 20
    while not (file.exists() and file.read_text().endswith("\n")):
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)
    return int(file.read_text())


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
@pytest.mark.parametrize("how", ["limit", "cancel", "daemon of a daemon"])
async def test_a_daemon_ends_with_the_task_that_is_cut_short(tmp_path: Path, how: str) -> None:
    file = tmp_path / "pid"
    daemon = DAEMON.format(file)
    if how == "daemon of a daemon":
        daemon = f"(setsid sh -c {shlex.quote(daemon)} >/dev/null 2>&1 </dev/null &)"
    running = asyncio.create_task(sh(f"{daemon}; sleep 300", total=4.0 if how == "limit" else 60.0, grace=0.2))
    pid = await pid_in(file)
    line = groups.entry(pid)
    assert line is not None
    if how == "limit":
        assert (await running).stopped == "total"
    else:
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    assert not alive(pid)


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
async def test_what_others_started_is_left_alone_when_a_task_is_cut_short(tmp_path: Path) -> None:
    other = asyncio.create_task(sh(f"{DAEMON.format(tmp_path / 'other')}; sleep 300", total=60.0, grace=0.2))
    stranger = await asyncio.create_subprocess_exec("sleep", "300", env={**os.environ, "TUI_EVAL_CHILD": "1-2-3"})
    pid = await pid_in(tmp_path / "other")
    try:
        assert (await sh("sleep 300", total=0.2, grace=0.1)).stopped == "total"
        assert alive(pid)
        assert stranger.returncode is None
        assert alive(stranger.pid)
    finally:
        stranger.kill()
        await stranger.wait()
        other.cancel()
        with pytest.raises(asyncio.CancelledError):
            await other
    assert not alive(pid)


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
async def test_a_daemon_of_a_task_that_ended_by_itself_was_wanted_and_stays(tmp_path: Path) -> None:
    assert (await sh(f"{DAEMON.format(tmp_path / 'pid')}; echo done")).exit_code == 0
    pid = await pid_in(tmp_path / "pid")
    try:
        await asyncio.sleep(0.1)
        assert alive(pid)
    finally:
        os.kill(pid, signal.SIGKILL)


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
async def test_a_daemon_that_keeps_the_pipe_is_killed_after_the_drain() -> None:
    result = await sh("setsid sh -c 'echo $$; exec sleep 300' & echo done; sleep 0.2", drain=0.1)
    assert result.exit_code == 0
    assert result.leftovers
    pid = next(int(line) for line in result.stdout.split() if line.isdigit())
    assert await until_gone(pid)


async def test_a_quiet_leftover_is_killed_as_well() -> None:
    result = await sh("sleep 300 >/dev/null 2>&1 </dev/null & echo $!")
    assert result.leftovers
    assert await until_gone(int(result.stdout))
    assert result.seconds < 0.3  # nothing held the pipes, so nothing was waited for


async def test_a_background_job_that_has_ended_is_no_leftover() -> None:
    for _ in range(5):
        assert not (await sh("true & echo hi; wait")).leftovers


async def test_cancelling_ends_the_family_before_it_returns() -> None:
    task = asyncio.create_task(sh("sleep 300 & sleep 300", total=None))
    await asyncio.sleep(0.2)
    running = [line.session for line in groups.table() if line.parent == os.getpid() and line.session == line.pid]
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not any(family(session) for session in running if alive(session) and not _watchdog(session))


def _watchdog(pid: int) -> bool:
    return b"groups.py" in Path(f"/proc/{pid}/cmdline").read_bytes()


async def test_cancelling_twice_cuts_the_grace_short() -> None:
    task = asyncio.create_task(sh("trap '' TERM; while :; do sleep 0.05; done", total=None, grace=30.0))
    await asyncio.sleep(0.2)
    begun = time.monotonic()
    task.cancel()
    await asyncio.sleep(0.2)
    assert not task.done()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - begun < 2


async def test_a_timeout_around_the_call_is_a_timeout_and_leaves_nothing() -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await sh("sleep 300", total=None)


async def test_silence_is_limited_apart_from_the_total() -> None:
    result = await sh("for i in 1 2 3; do echo $i; sleep 0.1; done; sleep 60", idle=0.4)
    assert (result.stopped, result.stdout) == ("idle", b"1\n2\n3\n")
    assert result.seconds < 3


async def test_output_on_stderr_counts_as_a_sign_of_life() -> None:
    result = await sh("for i in 1 2 3 4; do echo $i >&2; sleep 0.15; done; echo end", idle=0.45)
    assert (result.stopped, result.stdout) == (None, b"end\n")


async def test_a_flood_is_cut_and_stopped() -> None:
    result = await run(["yes"], max_output=100_000)
    assert (result.stopped, result.stdout_truncated, len(result.stdout)) == ("flood", True, 100_000)
    assert result.seconds < 2


async def test_an_output_of_exactly_the_limit_is_whole() -> None:
    result = await sh("head -c 5000 /dev/zero", max_output=5000)
    assert (result.stopped, result.stdout_truncated, len(result.stdout)) == (None, False, 5000)
    assert (await sh("head -c 5001 /dev/zero", max_output=5000)).stopped == "flood"


async def test_of_a_long_stderr_the_end_is_kept_and_a_flood_there_costs_little() -> None:
    begun = time.process_time()
    result = await sh("yes noise >&2", total=0.6, grace=0.2, max_output=1 << 16)
    assert result.stderr_truncated
    assert len(result.stderr) == 65536
    assert time.process_time() - begun < 0.4


async def test_stderr_as_the_output_is_kept_from_its_beginning() -> None:
    result = await sh("head -c 200000 /dev/zero >&2", whole_stderr=True)
    assert (len(result.stderr), result.stderr_truncated) == (200_000, False)
    assert (await sh("yes >&2", whole_stderr=True, max_output=5000)).stopped == "flood"


async def test_a_large_input_and_a_large_output_do_not_wait_for_each_other() -> None:
    data = os.urandom(8_000_000)
    result = await run(["cat"], stdin=data, max_output=9_000_000)
    assert result.stdout == data


@pytest.mark.parametrize("code", ["true", "exec <&-; sleep 0.1", "head -c 10 >/dev/null"])
async def test_a_program_that_does_not_read_its_input_is_no_error(code: str) -> None:
    result = await sh(code, stdin=b"x" * 3_000_000)
    assert (result.exit_code, result.stopped) == (0, None)


async def test_without_input_stdin_is_empty_not_ours() -> None:
    assert (await run(["cat"])).stdout == b""
    assert (await run(["cat"], stdin=b"")).stdout == b""
    assert (await sh("test -t 0 || readlink /proc/self/fd/0")).stdout.strip() in (b"/dev/null", b"")


async def test_exit_codes_and_signals_are_told_apart() -> None:
    results = await asyncio.gather(*(sh(code) for code in ("exit 3", "kill -SEGV $$", "kill -40 $$", "exit 139")))
    ends = [(result.exit_code, result.signal_name) for result in results]
    assert ends == [(3, None), (None, "SIGSEGV"), (None, "signal 40"), (139, None)]


async def test_exit_codes_are_seen_although_sigchld_was_ignored_by_whoever_started_us() -> None:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        assert (await sh("exit 3")).exit_code == 3
    finally:
        signal.signal(signal.SIGCHLD, before)


async def test_many_at_once_leave_no_descriptor_and_no_zombie() -> None:
    await sh("true")
    before = len(os.listdir("/proc/self/fd"))
    results = await asyncio.gather(*(sh(f"echo {number}") for number in range(40)))
    assert [int(result.stdout) for result in results] == list(range(40))
    assert len(os.listdir("/proc/self/fd")) == before
    with pytest.raises(ProcessLookupError):
        os.kill(results[0].pid, 0)


async def test_the_program_has_no_descriptor_of_ours() -> None:
    result = await sh("ls /proc/self/fd")
    assert set(result.stdout.split()) <= {b"0", b"1", b"2", b"3"}  # 3: ls's own, of that folder


async def test_a_system_without_pidfd_works_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(pid: int) -> int:
        raise OSError("not here")

    monkeypatch.setattr(os, "pidfd_open", refuse)
    assert (await sh("echo hi; exit 4")).exit_code == 4
    assert (await sh("sleep 60", total=0.1)).stopped == "total"


class TestWhatCannotBeStarted:
    async def refused(self, argv: list[str], **changes: Any) -> StartError:
        with pytest.raises(StartError) as caught:
            await run(argv, **changes)
        return caught.value

    async def test_a_missing_program_is_named(self, tmp_path: Path) -> None:
        assert "no-such-program: no such program on PATH" in str(await self.refused(["no-such-program"]))
        error = await self.refused(["./absent"], cwd=tmp_path)
        assert str(tmp_path) in str(error)
        assert error.kind == "start"

    async def test_a_file_that_is_not_executable_is_named_with_the_remedy(self, cases: Path) -> None:
        error = await self.refused(["./not-executable.sh"], cwd=cases / "31-cmd-exit-and-noise")
        assert "not-executable.sh: is not executable (chmod +x" in str(error)

    async def test_a_missing_folder_is_not_mistaken_for_a_missing_program(self, tmp_path: Path) -> None:
        assert str(await self.refused(["true"], cwd=tmp_path / "no")).startswith("the working folder does not exist")
        (tmp_path / "file").touch()
        assert "not a folder" in str(await self.refused(["true"], cwd=tmp_path / "file"))

    async def test_a_missing_interpreter_is_not_mistaken_for_a_missing_script(self, tmp_path: Path) -> None:
        script = tmp_path / "agent"
        script.write_text("#!/no/such/python\n")
        script.chmod(0o755)
        assert "its interpreter is missing (#!/no/such/python)" in str(await self.refused([str(script)]))
        script.write_text("no first line")
        assert "cannot run it" in str(await self.refused([str(script)]))
        assert "is a folder" in str(await self.refused([str(tmp_path)]))

    async def test_nul_and_too_long_arguments_are_refused_with_advice(self) -> None:
        for argv in (["echo", "a\0b"], ["echo", "x" * 131072]):
            error = await self.refused(argv)
            assert error.kind == "argument"
            assert "argv[1]" in str(error)
            assert "stdin" in str(error)
        assert len((await run(["echo", "x" * 131071])).stdout) == 131072

    async def test_a_long_argument_is_measured_in_bytes(self) -> None:
        assert "131072" in str(await self.refused(["echo", "é" * 65536]))

    async def test_many_arguments_that_are_too_long_together_are_refused(self) -> None:
        assert (await self.refused(["echo", *["x" * 100_000] * 100])).kind == "argument"

    async def test_half_a_surrogate_pair_is_refused(self) -> None:
        assert "U+D800 at character 2" in str(await self.refused(["echo", "a\ud800"]))

    async def test_a_bad_variable_is_named_and_its_value_is_not(self) -> None:
        error = await self.refused(["true"], env={"KEY": "secret\0value"})
        assert "KEY" in str(error)
        assert "secret" not in str(error)
        assert "cannot be the name" in str(await self.refused(["true"], env={"A=B": "c"}))

    async def test_nothing_stays_open(self) -> None:
        await self.refused(["no-such-program"])
        before = len(os.listdir("/proc/self/fd"))
        await self.refused(["no-such-program"])
        assert len(os.listdir("/proc/self/fd")) == before


def test_last_lines_are_short_and_from_the_end() -> None:
    assert last_lines("one\n\ntwo  \n") == "one\ntwo"
    assert last_lines("\n".join(map(str, range(100)))) == "95\n96\n97\n98\n99"
    assert len(last_lines("x" * 10_000)) == 501
