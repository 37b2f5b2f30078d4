"""Runs of AgentCompass as users have them: started, watched, killed, resumed, run again in part."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

from tests.platforms.agentcompass.conftest import Compass
from tests.platforms.agentcompass.processes import bridge_pid


def test_a_failed_request_leaves_the_other_alone_and_everything_is_kept(compass: Compass) -> None:
    done = compass.run("run", str(compass.orchestration(good="ok ok", mixed="ok fatal error wrong")), "--run-id", "one")
    assert done.returncode == 1, done.stderr
    assert compass.outcomes("one") == {
        ("good", "good_0", 0): "passed",
        ("good", "good_1", 0): "passed",
        ("mixed", "mixed_0", 0): "passed",
        ("mixed", "mixed_1", 0): "error",
        ("mixed", "mixed_2", 0): "error",
        ("mixed", "mixed_3", 0): "failed",
    }
    shown = compass.json("show", "one")
    assert compass.query("SELECT state FROM runs") == [("partial_failure",)]
    assert "no official figure (1 task with a fatal issue); measured 0.5000" in json.dumps(shown)
    states = compass.query("SELECT name, state, error FROM requests ORDER BY position")
    assert states == [("good", "completed", ""), ("mixed", "failed", "Final FATAL issues")]


def test_a_request_that_never_began_is_told_with_its_reason(compass: Compass) -> None:
    compass.run("run", str(compass.orchestration(gone="missing", good="ok")), "--run-id", "one")
    assert compass.query("SELECT name, state, error FROM requests ORDER BY position") == [
        ("gone", "failed", "[Errno 2] No such file: data/missing.jsonl"),
        ("good", "completed", ""),
    ]


def test_a_typed_key_reaches_agentcompass_and_no_file_of_ours(compass: Compass) -> None:
    path = compass.orchestration(good="ok")
    compass.run("run", str(path), "--run-id", "one")
    (answer,) = compass.folder.glob("results/good/one/details/normal/*/attempt-1/result.json")
    assert "typed-secret-key" in answer.read_text()  # AgentCompass had it, and answered with it
    for file in (compass.folder / "history").rglob("*"):
        assert file.is_dir() or b"typed-secret-key" not in file.read_bytes(), file
    exported = compass.run("export", "one", "--format", "json").stdout
    assert "typed-secret-key" not in exported


def test_only_what_failed_is_run_again_and_the_rest_is_taken_over(compass: Compass) -> None:
    path = compass.orchestration(good="ok ok", mixed="ok fatal wrong")
    compass.run("run", str(path), "--run-id", "one")
    before = len(compass.calls)
    done = compass.run("rerun", "one", "--errors", "--run-id", "two")
    assert done.returncode == 1, done.stderr
    assert compass.calls[before:] == ["mixed_1"]
    assert len(compass.outcomes("two")) == 5
    assert compass.query(
        "SELECT count(*) FROM tasks JOIN runs ON runs.id = run WHERE run_id = 'two' AND reused_from = 'one'"
    ) == [(4,)]
    assert compass.query("SELECT parent_run_id FROM runs WHERE run_id = 'two'") == [("one",)]
    written = (compass.folder / "history" / "agentcompass" / "two.yaml").read_text()
    assert "name: good" not in written
    nothing = compass.run("rerun", "one", "--unscored")
    assert nothing.returncode == 2
    assert "nothing matches" in nothing.stderr


def test_a_killed_agentcompass_loses_nothing_and_is_resumed(compass: Compass) -> None:
    path = compass.orchestration(first="ok fatal slow slow slow slow")
    with compass.start("run", str(path), "--run-id", "one", "--progress", "none") as running:
        compass.wait_for("SELECT 1 FROM requests WHERE passed >= 2")
        os.kill(bridge_pid(compass, "one"), signal.SIGKILL)
        running.communicate(timeout=30)
    (state, error), *_ = compass.query("SELECT state, error FROM runs")
    assert state == "interrupted"
    assert "ended with signal SIGKILL without a result" in error
    assert "tui-eval resume one" in error
    done = compass.run("resume", "one")
    assert done.returncode == 1, done.stderr
    outcomes = compass.outcomes("one")
    assert [outcomes["first", f"first_{at}", 0] for at in range(6)] == ["passed", "error", *["passed"] * 4]
    assert (
        compass.calls.count("first_0") == compass.calls.count("first_1") == 1
    )  # what was finished is not called again
    (log,) = compass.query("SELECT message FROM log WHERE message LIKE '%takes over%'")
    assert "and runs the rest" in log[0]


def test_a_killed_runner_takes_agentcompass_with_it_and_is_resumed(compass: Compass) -> None:
    path = compass.orchestration(first="ok slow slow slow slow slow slow slow", second="ok")
    with compass.start("run", str(path), "--run-id", "one", "--progress", "none") as running:
        compass.wait_for("SELECT 1 FROM requests WHERE passed >= 2")
        bridge = bridge_pid(compass, "one")
        running.kill()
        running.communicate(timeout=30)
    for _ in range(100):
        if not Path(f"/proc/{bridge}").exists():
            break
        signal.sigtimedwait([], 0.1)
    else:
        raise AssertionError("AgentCompass outlived its runner")
    done = compass.run("resume", "one")
    assert done.returncode == 0, done.stderr
    assert set(compass.outcomes("one").values()) == {"passed"}
    assert len(compass.outcomes("one")) == 9
    assert len(compass.calls) - len(set(compass.calls)) <= 1  # at most the task in flight was called twice


def test_a_signal_stops_the_run_and_what_had_finished_is_kept(compass: Compass) -> None:
    with compass.start("run", str(compass.orchestration(first="ok hang", second="ok")), "--run-id", "one") as running:
        compass.wait_for("SELECT 1 FROM requests WHERE passed = 1")
        compass.wait_for("SELECT 1 FROM activity WHERE phase = 'run_harness'")
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=30)
    assert running.returncode == 130
    assert compass.query("SELECT state FROM runs") == [("interrupted",)]
    assert compass.query("SELECT state FROM requests") == [("pending",), ("pending",)]
    assert compass.outcomes("one") == {("first", "first_0", 0): "passed", ("first", "first_1", 0): "queued"}


def test_a_viewer_cancels_the_whole_run_only(compass: Compass) -> None:
    with compass.start("run", str(compass.orchestration(first="ok hang", second="ok")), "--run-id", "one") as running:
        compass.wait_for("SELECT 1 FROM activity WHERE phase = 'run_harness'")
        refused = compass.run("pause", "one")
        assert "AgentCompass offers no `pause`" in refused.stdout + refused.stderr
        compass.run("cancel", "one")
        running.communicate(timeout=30)
    assert compass.query("SELECT state FROM runs") == [("cancelled",)]
    assert compass.query("SELECT state FROM requests") == [("cancelled",), ("cancelled",)]
    assert compass.outcomes("one")["first", "first_1", 0] == "cancelled"


def test_what_agentcompass_refuses_is_told_in_its_words(compass: Compass) -> None:
    path = compass.orchestration(good="ok")
    path.write_text(path.read_text().replace("name: tried", "name: refuse me"))
    done = compass.run("run", str(path), "--run-id", "one")
    assert done.returncode == 1
    assert compass.query("SELECT state, error FROM runs") == [
        ("failed", "AgentCompass: ValueError: the stand-in refuses this name")
    ]


def test_faults_end_it_before_anything_is_started(compass: Compass) -> None:
    path = compass.orchestration(good="ok")
    path.write_text(path.read_text().replace("version: ok", "versio: ok"))
    done = compass.run("run", str(path))
    assert done.returncode == 2
    assert "did you mean `version`?" in done.stderr
    assert not compass.history.exists()


def test_without_agentcompass_it_is_said_how_to_install_it(compass: Compass) -> None:
    path = compass.orchestration(good="ok")
    nowhere = {"TUI_EVAL_AGENTCOMPASS_PYTHON": "/nonexistent/python"}
    done = compass.run("run", str(path), environment=nowhere)
    assert done.returncode == 2
    assert "/nonexistent/python" in done.stderr
    assert "cannot be started" in done.stderr


def test_its_own_flags_are_taken(compass: Compass) -> None:
    path = compass.orchestration(good="ok")
    flags = [
        "--results-dir",
        "elsewhere",
        "--task-concurrency",
        "3",
        "--env-open-qps",
        "docker=2",
        "--provider-limit",
        "docker=4",
    ]
    done = compass.run(
        "run", str(path), "--run-id", "one", *flags, "--log-level", "ERROR", "--data-dir", "d", "--no-reuse"
    )
    assert done.returncode == 0, done.stderr
    assert (compass.folder / "elsewhere" / "good" / "one" / "run_info.json").exists()
    assert compass.query("SELECT task_concurrency FROM runs") == [(3,)]
    written = (compass.folder / "history" / "agentcompass" / "one.yaml").read_text()
    for part in ("docker: 2.0", "docker: 4", "log_level: ERROR", "data_dir: d", "reuse: false"):
        assert part in written, part


def test_a_run_id_of_the_command_line_is_that_of_every_request(compass: Compass) -> None:
    path = compass.orchestration(good="ok", other="ok")
    path.write_text(path.read_text().replace("- name: good", "- name: good\n  output: {run_id: its-own}"))
    done = compass.run("run", str(path), "--run-id", "one")
    assert done.returncode == 0, done.stderr
    assert (compass.folder / "results" / "good" / "one" / "run_info.json").exists()
    assert (compass.folder / "results" / "other" / "one" / "run_info.json").exists()


def test_its_flags_are_refused_for_plans_of_ours(compass: Compass) -> None:
    compass.write_plan("version: 1\nrequests: []\n")
    done = compass.run("run", "plan.yaml", "--data-dir", "d")
    assert done.returncode == 2
    assert "--data-dir: for AgentCompass orchestrations only" in done.stderr


def test_validate_lists_the_requests(compass: Compass) -> None:
    told = compass.run("validate", str(compass.orchestration(good="ok", other="ok")))
    assert told.returncode == 0
    assert "2 requests" in told.stdout
    assert "special_pattern_check" in told.stdout
    data = compass.json("validate", "orchestration.yaml")
    assert data["valid"]
    assert data["plans"][0]["platform"] == "agentcompass"


def test_runs_of_the_history_are_not_imported_again_and_others_are(compass: Compass) -> None:
    compass.run("run", str(compass.orchestration(good="ok", mixed="ok fatal")), "--run-id", "one")
    assert "in the history already, as one" in compass.run("import", "agentcompass", "results").stdout
    elsewhere = {"TUI_EVAL_HISTORY": str(compass.folder / "other" / "h.db")}
    done = compass.run("import", "agentcompass", "results", environment=elsewhere)
    assert "2 requests, 3 tasks" in done.stdout, done.stderr
