"""The low limit on open files that shells give is no limit on the tasks in flight."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

from tests.support.product import Product

PLAN = """
version: 1
name: many
task_concurrency: 40
requests:
  - name: one
    dataset: {path: cases.jsonl}
    solution: {type: command, argv: [sh, -c, "sleep 0.5; echo ok"]}
    evaluators: [{id: contains, expected: ok}]
"""


@pytest.mark.parametrize("how", [[], ["--detach"]])
def test_a_run_takes_the_open_files_that_the_system_allows(product: Product, how: list[str]) -> None:
    if 0 <= resource.getrlimit(resource.RLIMIT_NOFILE)[1] < 1024:
        pytest.skip("the system itself allows few open files here")
    product.write_cases([{"id": f"c{number}"} for number in range(40)])
    command = [sys.executable, "-m", "tui_eval", "run", str(product.write_plan(PLAN)), "--run-id", "it", *how]
    script = 'ulimit -Sn 64; exec "$@"'  # 40 programs need three times that
    started = subprocess.run(
        ["sh", "-c", script, "sh", *command], env=product.environment(), capture_output=True, text=True, timeout=60
    )
    assert started.returncode == 0, started.stdout + started.stderr
    assert product.run("watch", "it", "--exit-code").returncode == 0
    assert set(product.outcomes("it").values()) == {"passed"}
