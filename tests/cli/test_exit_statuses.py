"""What a script can rely on: the exit status of a run says how it went, and is never 0 when nothing was decided."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Call
from tui_eval.demo.live import embedded_agent

TABLE = json.loads((Path(__file__).parents[1] / "cases" / "48-exit-codes" / "table.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def agent() -> Iterator[str]:
    with embedded_agent() as address:
        yield address


@pytest.fixture(autouse=True)
def own_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUI_EVAL_HISTORY", str(tmp_path / "history.db"))


def request(agent: str, outcomes: str, **execution: Any) -> dict[str, Any]:
    """A request with one case a letter: p passes, f fails, e is an error, h never answers."""
    cases = [
        {
            "id": f"{number}-{letter}",
            "answer": "wrong" if letter == "f" else "right",
            "fault": {"e": "500", "h": "hang"}.get(letter, ""),
        }
        for number, letter in enumerate(outcomes)
    ]
    return {
        "name": f"agent-{outcomes[:8]}",
        "dataset": {"cases": cases},
        "solution": {
            "type": "http",
            "url": f"{agent}/json",
            "body": {"input": "{{ answer }}", "fault": "{{ fault }}"},
            "output_extractor": "output",
        },
        "evaluators": [{"id": "exact", "expected": "right"}],
        "execution": execution,
    }


def write_plan(folder: Path, *requests: dict[str, Any], **runtime: Any) -> Path:
    path = folder / "plan.json"
    runtime.setdefault("cleanup_grace_seconds", 0.2)
    path.write_text(json.dumps({"version": 1, "name": "p", "runtime": runtime, "requests": list(requests)}))
    return path


def expected(situation: str) -> int:
    return next(int(row["exit"]) for row in TABLE if row["situation"] == situation)


@pytest.mark.parametrize(
    ("situation", "outcomes", "options"),
    [
        ("all cases passed", "ppp", []),
        ("some failed, no threshold given", "ppf", []),
        ("some failed, above --min-pass-rate", "ppf", ["--min-pass-rate", "0.6"]),
        ("some failed, above --min-pass-rate", "ppf", ["--min-pass-rate", "66.6%"]),
        ("errors but every decided case passed", "ppe", []),
        ("errors, and --allow-errors 5%", "p" * 19 + "e", ["--allow-errors", "5%"]),
    ],
)
def test_verdicts(call: Call, agent: str, tmp_path: Path, situation: str, outcomes: str, options: list[str]) -> None:
    done = call("run", write_plan(tmp_path, request(agent, outcomes)), *options)
    assert done.status == expected(situation), done.err


@pytest.mark.parametrize(
    ("outcomes", "options"),
    [
        ("eee", []),
        ("eee", ["--allow-errors", "100%"]),
        ("eee", ["--min-pass-rate", "0", "--allow-errors", "3"]),
        ("pff", ["--min-pass-rate", "0.5"]),
        ("pe", ["--min-pass-rate", "0.5"]),
        ("pfe", ["--allow-errors", "1"]),
    ],
)
def test_no_allowance_makes_a_success_of_what_is_none(
    call: Call, agent: str, tmp_path: Path, outcomes: str, options: list[str]
) -> None:
    assert call("run", write_plan(tmp_path, request(agent, outcomes)), *options).status == 1


def test_a_request_that_ran_out_of_time_is_a_failure_although_others_completed(
    call: Call, agent: str, tmp_path: Path
) -> None:
    plan = write_plan(tmp_path, request(agent, "pp"), request(agent, "ph", request_timeout_seconds=0.5))
    done = call("run", plan)
    assert done.status == expected("one request of an orchestration failed, others completed")
    assert "2 passed" in done.err or "agent-pp" in done.out


def test_a_run_that_ran_out_of_time_is_a_failure(call: Call, agent: str, tmp_path: Path) -> None:
    done = call("run", write_plan(tmp_path, request(agent, "ph"), timeout_seconds=0.5))
    assert done.status == expected("orchestration timed out")


def test_no_case_is_not_a_success(call: Call, agent: str, tmp_path: Path) -> None:
    nothing = request(agent, "p")
    nothing["dataset"]["sample"] = {"limit": 0}
    done = call("run", write_plan(tmp_path, nothing))
    assert done.status == expected("no case selected")
    assert "0 " in done.err
    assert done.out == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "no-such-plan.yaml"],
        ["run"],
        ["run", "{plan}", "--no-such-option"],
        ["run", "{plan}", "--min-pass-rate", "90"],
        ["run", "{plan}", "--min-pass-rate", "nan"],
        ["run", "{plan}", "--allow-errors", "some"],
        ["run", "{plan}", "--timeout-seconds", "inf"],
        ["watch", "last", "--interval", "nan"],
        ["demo", "--port", "8799"],
        ["run", "{plan}", "--set", "reqests.x=1"],
        ["run", "{plan}", "--provider-limit", "host"],
        ["run", "{broken}"],
        ["show", "no-such-run"],
        ["rerun", "no-such-run", "--failed"],
        ["resume", "no-such-run"],
        ["cancel", "no-such-run"],
        ["export", "no-such-run", "--format", "json"],
    ],
)
def test_what_cannot_begin_is_told_from_what_failed(
    call: Call, agent: str, tmp_path: Path, arguments: list[str]
) -> None:
    plan = write_plan(tmp_path, request(agent, "p"))
    broken = tmp_path / "broken.yaml"
    broken.write_text("version: 1\nname: x\nreqests: []\n")
    done = call(*(text.format(plan=plan, broken=broken) for text in arguments))
    assert done.status == expected("bad option, unknown file, invalid spec")
    assert done.out == ""
    assert done.err
    assert "Traceback" not in done.err
    assert not (tmp_path / "history.db").exists(), "nothing was called"


@pytest.mark.parametrize("place", ["/proc/nowhere/history.db", "{folder}", "{file}/history.db"])
def test_a_history_that_cannot_be_written_has_a_status_of_its_own(
    call: Call, agent: str, tmp_path: Path, place: str
) -> None:
    (tmp_path / "file").write_text("x")
    where = place.format(folder=tmp_path, file=tmp_path / "file")
    done = call("run", write_plan(tmp_path, request(agent, "p")), "--history", where)
    assert done.status == expected("history cannot be written"), done.err
    assert where in done.err


def start_run(plan: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tui_eval", "run", str(plan), "--progress", "none"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_until_running(call: Call, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and process.poll() is None:
        runs = call("runs", "--json").json
        if runs and runs[0]["counts"]["passed"] >= 2:
            return
        time.sleep(0.05)
    raise AssertionError(f"the run did not start: {process.poll()}")


@pytest.mark.parametrize(
    ("number", "status"),
    [
        (signal.SIGINT, expected("Ctrl-C once, partial results saved")),
        (signal.SIGTERM, expected("SIGTERM")),
        (signal.SIGHUP, 129),
    ],
)
def test_a_signal_ends_a_run_with_everything_saved(
    call: Call, agent: str, tmp_path: Path, number: signal.Signals, status: int
) -> None:
    with start_run(write_plan(tmp_path, request(agent, "pph"))) as process:
        wait_until_running(call, process)
        os.kill(process.pid, number)
        out, err = process.communicate(timeout=30)
    assert process.returncode == status, out + err
    assert "Traceback" not in err
    (run,) = call("runs", "--json").json
    assert (run["state"], run["counts"]["passed"]) == ("interrupted", 2)


def test_who_presses_ctrl_c_is_told_that_it_stops_and_how_to_end_it_at_once(
    call: Call, agent: str, tmp_path: Path
) -> None:
    plan = write_plan(tmp_path, request(agent, "pph"), cleanup_grace_seconds=60)
    command = [sys.executable, "-m", "tui_eval", "run", str(plan)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        wait_until_running(call, process)
        os.kill(process.pid, signal.SIGINT)
        assert process.stderr is not None
        told = next(line for line in process.stderr if "stopping" in line)
        os.kill(process.pid, signal.SIGINT)
        process.communicate(timeout=30)
    assert told.endswith("1 in flight; Ctrl-C again ends it at once\n")
    assert process.returncode == 130


def to_closed_stdout(*arguments: str | Path) -> subprocess.CompletedProcess[bytes]:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as gone:
        command = [sys.executable, "-m", "tui_eval", *map(str, arguments)]
        return subprocess.run(command, stdout=gone, stderr=subprocess.PIPE, timeout=60, check=False)


@pytest.mark.parametrize(("outcomes", "status"), [("pp", expected("stdout closed by head")), ("pf", 1)])
def test_closing_standard_output_hides_no_failure(agent: str, tmp_path: Path, outcomes: str, status: int) -> None:
    done = to_closed_stdout("run", write_plan(tmp_path, request(agent, outcomes)), "--progress", "none")
    assert done.returncode == status
    assert b"Traceback" not in done.stderr
    assert b"BrokenPipe" not in done.stderr


def test_json_on_standard_output_is_for_machines_only(call: Call, agent: str, tmp_path: Path) -> None:
    done = call("run", write_plan(tmp_path, request(agent, "pf")), "--json", "--progress", "plain")
    assert done.json["exit_code"] == done.status == 1
    assert call("run", write_plan(tmp_path, request(agent, "p")), "--json", "--set", "x=1").out == ""


def test_without_a_terminal_progress_is_whole_lines(call: Call, agent: str, tmp_path: Path) -> None:
    done = call("run", write_plan(tmp_path, request(agent, "pf")))
    assert "\r" not in done.err
    assert "\x1b" not in done.err + done.out


def test_a_run_id_that_is_taken_is_a_wrong_option_and_no_broken_history(call: Call, agent: str, tmp_path: Path) -> None:
    path = write_plan(tmp_path, request(agent, "p"))
    assert call("run", path, "--run-id", "mine").status == 0
    again = call("run", path, "--run-id", "mine")
    assert again.status == 2
    assert "there is a run mine in the history already: choose another run id" in again.err


@pytest.mark.parametrize("outcomes", ["pf", "pp"])
def test_a_person_is_told_how_to_go_on_and_a_log_is_not(agent: str, tmp_path: Path, outcomes: str) -> None:
    command = [sys.executable, "-m", "tui_eval", "run", str(write_plan(tmp_path, request(agent, outcomes)))]
    ours, theirs = pty.openpty()
    with subprocess.Popen([*command, "--progress", "none"], stdout=subprocess.DEVNULL, stderr=theirs) as process:
        os.close(theirs)
        told = b""
        with suppress(OSError):  # what reading gives when the other end is closed
            while piece := os.read(ours, 4096):
                told += piece
    os.close(ours)
    assert (b"tui-eval rerun " in told) == (outcomes == "pf"), told
    assert process.returncode == (1 if outcomes == "pf" else 0)
    logged = subprocess.run(command, capture_output=True, timeout=60, check=False)
    assert b"tui-eval rerun " not in logged.stderr
