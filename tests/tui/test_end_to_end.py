"""What the product is for, as a user does it in tmux: launch, watch a failure, leave, come back, run again, compare."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.product import agent_process
from tests.support.tmux import Tmux
from tui_eval.demo.samples import samples_folder

PLAN = """\
version: 1
name: capitals
task_concurrency: 4
defaults:
  dataset: {path: SAMPLES/data/quickstart.jsonl}
  evaluators:
    - {id: contains, variable_mapping: {output: experiment_output, expected_output: dataset.answer}}
requests:
  - name: json
    solution:
      type: http
      url: ${DEMO_AGENT_URL}/json
      body: {question: "{{ question }}"}
      output_extractor: output
"""
TUI_EVAL = (sys.executable, "-m", "tui_eval")


@pytest.mark.long
def test_launch_watch_leave_come_back_run_again_and_compare(tmp_path: Path) -> None:
    workspace = tmp_path / "work"
    workspace.mkdir()
    (workspace / "capitals.yaml").write_text(PLAN.replace("SAMPLES", str(samples_folder())))
    environment = {
        "TUI_EVAL_HISTORY": str(tmp_path / "history.db"),
        "XDG_CONFIG_HOME": str(tmp_path),
        "HOME": str(tmp_path),
        "SSH_CONNECTION": "192.0.2.1 50000 192.0.2.2 22",
    }
    with agent_process("--ms", "1600") as agent, Tmux(tmp_path, cols=80, rows=24, environment=environment) as tmux:
        tmux.command(*TUI_EVAL, "open", "--workspace", str(workspace))
        tmux.see("There is no run in the history yet")
        assert (tmux.flag("alternate_on"), tmux.flag("mouse_any_flag")) == ("1", "0")

        tmux.keys("P")  # the plan, and what it would do
        tmux.see("capitals.yaml")
        tmux.keys("L")
        tmux.see("1 missing variable")
        tmux.keys("Enter")
        tmux.see("Value of DEMO_AGENT_URL")
        tmux.keys(agent.url, literal=True)
        tmux.keys("Enter")
        tmux.see("ready to start: press r")
        tmux.keys("r")
        tmux.see("This makes 24 calls.")
        tmux.keys("y")

        tmux.see("▸ running")  # a failure, while it runs
        tmux.see("✗ failed")
        tmux.keys("3")
        tmux.see("how many")
        tmux.keys("Enter")
        tmux.see("only ✗ failed: contains:")
        tmux.keys("Enter")
        assert "Expected" in tmux.see("Sydney")

        tmux.keys("C-q")  # leaving does not touch the run
        told = tmux.see("goes on. Follow it with: tui-eval watch")
        assert "of the application" not in told
        assert tmux.flag("alternate_on") == "0"

        tmux.command(*TUI_EVAL, "open", "--workspace", str(workspace))
        tmux.see("✓ completed", 40)
        tmux.keys("Enter")
        tmux.see("24 of 24")
        tmux.keys("R")
        tmux.see("Failed and errors")
        tmux.keys("Enter")
        tmux.see("A new run takes everything else over")
        tmux.keys("y")
        tmux.see("Value of DEMO_AGENT_URL")
        tmux.keys(agent.url, literal=True)
        tmux.keys("Enter")
        tmux.see("reused")
        tmux.see("✓ completed", 40)

        tmux.keys("H")  # both, side by side
        tmux.see("2 runs")
        tmux.keys("g", "Space", "j", "Space", "c")
        shown = tmux.see("= 23 unchanged")  # the agent limits the rate of one call, the first time
        assert "1 of 1 differences" in shown
        tmux.keys("Escape")
        tmux.see("2 marked")
        tmux.keys("q")
        tmux.see("shell>")
        assert tmux.flag("alternate_on") == "0"


@pytest.mark.long
def test_a_lost_connection_leaves_the_run_and_the_screens_come_back(tmp_path: Path) -> None:
    environment = {
        "TUI_EVAL_HISTORY": str(tmp_path / "history.db"),
        "XDG_CONFIG_HOME": str(tmp_path),
        "HOME": str(tmp_path),
    }
    with Tmux(tmp_path, cols=60, rows=18, environment=environment) as tmux:
        tmux.command(*TUI_EVAL, "demo")
        tmux.see("▸ running")
        tmux._run("respawn-pane", "-k", "-t", "t", "env PS1='shell> ' sh")  # the terminal is taken away
        tmux.see("shell>")
        tmux.command(*TUI_EVAL, "open", "last")
        tmux.see("✓ completed", 60)
        assert "72 of 72" in tmux.screen()
        tmux.keys("C-q")
        tmux.see("shell>")
