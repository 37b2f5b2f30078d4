"""Three ways of calling an agent, 300 cases each: every outcome right, and every view of the run tells the same."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter

import pytest

from tests.support.product import Agent, Product

PLAN = """
version: 1
name: three
task_concurrency: 32
defaults:
  dataset: {path: cases.jsonl}
  evaluators:
    - {id: exact, as_text: true, strip: true, variable_mapping: {expected_output: dataset.answer}}
requests:
  - name: json
    solution:
      type: http
      url: ${AGENT}/json
      body: {question: "{{ question }}", fault: "{{ fault }}"}
      output_extractor: output
  - name: sse
    solution:
      type: http
      url: ${AGENT}/sse
      body: {question: "{{ question }}", fault: "{{ fault }}"}
      chunk_extractor: delta
      end_marker: "[DONE]"
  - name: command
    solution:
      type: command
      argv: [sh, -c, 'case $1 in "") echo $(($2)); ;; *) exit 3; ;; esac', agent, "{{ fault }}", "{{ sum }}"]
"""


def cases(count: int) -> list[dict[str, str]]:
    """Sums; every 50th has a wrong expected answer, every 75th makes the agent fail."""
    return [
        {
            "id": f"sum-{number}",
            "question": f"What is {number} + 7?",
            "sum": f"{number} + 7",
            "answer": str(number + 7 + (number % 50 == 1)),
            "fault": "500" if number % 75 == 2 else "",
        }
        for number in range(count)
    ]


def expected(case: dict[str, str]) -> str:
    if case["fault"]:
        return "error"
    return "failed" if int(case["id"].removeprefix("sum-")) % 50 == 1 else "passed"


@pytest.mark.long
def test_all_outcomes_are_right_and_every_view_agrees(product: Product, agent: Agent) -> None:
    rows = cases(300)
    product.write_cases(rows)
    plan = product.write_plan(PLAN)
    ended = product.run("run", str(plan), environment={"AGENT": agent.url})
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert "exit status 1" in ended.stderr, ended.stderr
    (run_id,) = [run_id for (run_id,) in product.query("SELECT run_id FROM runs")]

    right = {(name, row["id"], 0): expected(row) for name in ("json", "sse", "command") for row in rows}
    assert product.outcomes(run_id) == right
    assert agent.stats()["by_path"] == {"/json": 300, "/sse": 300}

    counted = {
        name: Counter(outcome for (request, _, _), outcome in right.items() if request == name)
        for name in ("json", "sse", "command")
    }
    shown = product.json("show", run_id)
    for request in shown["requests"]:
        counters = request["counts"]
        assert {key: counters[key] for key in ("passed", "failed", "error")} == dict(counted[request["name"]])
        assert counters["total"] == 300

    lines = product.run("export", run_id, "--format", "jsonl", "--output", "-").stdout.splitlines()
    exported = Counter((line["request"], line["outcome"]) for line in map(json.loads, lines))
    assert exported == Counter((name, outcome) for (name, _, _), outcome in right.items())
    table = product.run("export", run_id, "--format", "csv", "--output", "-").stdout
    assert Counter((row["request"], row["outcome"]) for row in csv.DictReader(io.StringIO(table))) == exported
