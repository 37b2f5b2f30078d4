"""A re-run calls the agent for what was asked and for nothing else; the run before stays as it was."""

from __future__ import annotations

import json
from collections import Counter

from tests.support.product import Agent, Product

PLAN = """
version: 1
name: again
task_concurrency: 32
requests:
  - name: json
    dataset: {path: cases.jsonl}
    solution: {type: http, url: "${AGENT}/json", body: {question: "{{ question }}"}, output_extractor: output}
    evaluators: [{id: exact, variable_mapping: {expected_output: dataset.answer}}]
"""


def rows(count: int, wrong: set[int]) -> list[dict[str, str]]:
    return [
        {"id": f"s{number}", "question": f"What is {number} + 1?", "answer": str(number + 1 + (number in wrong))}
        for number in range(count)
    ]


def test_rerunning_three_failed_of_300_makes_three_calls(product: Product, agent: Agent) -> None:
    product.write_cases(rows(300, {5, 100, 299}))
    plan = product.write_plan(PLAN)
    environment = {"AGENT": agent.url}
    assert product.run("run", str(plan), "--run-id", "first", environment=environment).returncode == 1
    before = (
        product.query("SELECT * FROM tasks ORDER BY id"),
        product.query("SELECT * FROM runs WHERE run_id = 'first'"),
    )
    assert agent.stats()["requests"] == 300
    agent.reset()

    again = product.json("rerun", "first", "--failed", "--run-id", "second", environment=environment)

    assert agent.stats()["requests"] == 3
    (request,) = again["requests"]
    assert (request["total"], request["reused"], request["failed"]) == (300, 297, 3)
    assert Counter(product.outcomes("second").values()) == {"passed": 297, "failed": 3}
    after = (
        product.query("SELECT * FROM tasks WHERE id <= 300 ORDER BY id"),
        product.query("SELECT * FROM runs WHERE run_id = 'first'"),
    )
    assert after == before
    (parent,) = product.query("SELECT parent_run_id FROM runs WHERE run_id = 'second'")
    assert parent == ("first",)


def test_a_rerun_after_the_dataset_was_mended_passes(product: Product, agent: Agent) -> None:
    product.write_cases(rows(20, {5}))
    plan = product.write_plan(PLAN)
    environment = {"AGENT": agent.url}
    product.run("run", str(plan), environment=environment)
    product.write_cases(rows(20, set()))
    again = product.run("rerun", "last", "--failed", environment=environment)
    assert again.returncode == 0, again.stdout + again.stderr
    told = "1 case with another expected value or other evaluators since that run (answers are judged again): s5"
    assert told in again.stderr


def test_nothing_to_rerun_is_said_and_makes_no_run(product: Product, agent: Agent) -> None:
    product.write_cases(rows(5, set()))
    plan = product.write_plan(PLAN)
    environment = {"AGENT": agent.url}
    assert product.run("run", str(plan), environment=environment).returncode == 0
    again = product.run("rerun", "last", "--failed", environment=environment)
    assert again.returncode == 2
    assert "nothing matches" in again.stderr
    assert len(product.query("SELECT * FROM runs")) == 1


def test_what_an_old_run_did_is_decided_by_what_changed_since(product: Product, agent: Agent) -> None:
    """Ended differently, changed, removed and new cases: each gets the one treatment it needs."""
    old = [{"id": name, "question": f"What is {n} + 1?", "answer": str(n + 1)} for n, name in enumerate("abcdefg")]
    old[1]["answer"] = "wrong"  # b failed
    old[2] |= {"fault": "500"}  # c is an error
    product.write_cases([{"fault": "", **row} for row in old])
    plan = product.write_plan(
        PLAN.replace('body: {question: "{{ question }}"}', 'body: {question: "{{ question }}", fault: "{{ fault }}"}')
    )
    environment = {"AGENT": agent.url}
    product.run("run", str(plan), "--run-id", "first", environment=environment)
    new = [{"fault": "", **row} for row in old if row["id"] != "f"]
    new[1] |= {"question": "What is 1 + 1, please?"}  # b is worded differently
    new[1] |= {"answer": "2"}  # and has another expected value, which its old answer is not judged by
    new[3] |= {"answer": "40"}  # d has another expected value
    new.append({"fault": "", "id": "h", "question": "What is 9 + 1?", "answer": "10"})
    product.write_cases(new)
    agent.reset()

    product.run("rerun", "first", "--errors", "--run-id", "errors", environment=environment)

    assert list(agent.stats()["by_case"]["/json"]) == ["What is 2 + 1?"]
    assert {case: outcome for (_, case, _), outcome in product.outcomes("errors").items()} == {
        "a": "passed",
        "b": "failed",
        "c": "error",
        "d": "failed",  # judged again by what is expected now
        "e": "passed",
        "g": "passed",
    }
    (warnings,) = product.query("SELECT warnings FROM runs WHERE run_id = 'errors'")[0]
    assert "1 case changed since that run: b" in warnings
    assert "1 case of these with the result of the case as it was (`--case ID` calls the agent again): b" in warnings
    assert (
        "1 case with another expected value or other evaluators since that run (answers are judged again): d"
        in warnings
    )
    assert "no longer in the dataset: f" in warnings
    assert "new since that run (left out unless asked for): h" in warnings

    agent.reset()
    product.run("rerun", "first", "--failed", "--stored-cases", "--run-id", "stored", environment=environment)
    assert set(agent.stats()["by_case"]["/json"]) == {"What is 1 + 1?", "What is 2 + 1?"}
    assert "f" in {case for _, case, _ in product.outcomes("stored")}


WHOLE_CASE = """
version: 1
name: whole
requests:
  - name: command
    dataset: {path: cases.jsonl}
    solution: {type: command, argv: [sh, agent.sh], stdin: json}
    evaluators: [{id: command, argv: [sh, judge.sh], verdict: exit_code}]
"""


def test_an_answer_without_a_verdict_is_judged_again_and_the_agent_not_asked(product: Product) -> None:
    product.write_cases(rows(3, set()))
    (product.folder / "agent.sh").write_text("echo called >> calls; echo done")
    judge = product.folder / "judge.sh"
    judge.write_text("exit 9")
    product.run("run", str(product.write_plan(WHOLE_CASE)), "--run-id", "first")
    assert set(product.outcomes("first").values()) == {"unscored"}
    judge.write_text("exit 0")

    again = product.run("rerun", "first", "--errors", "--run-id", "second")

    assert again.returncode == 0, again.stdout + again.stderr
    assert set(product.outcomes("second").values()) == {"passed"}
    assert set(product.outcomes("first").values()) == {"unscored"}
    assert (product.folder / "calls").read_text().count("called") == 3


def test_a_case_that_changed_is_told_also_when_the_agent_reads_it_whole(product: Product) -> None:
    product.write_cases(rows(3, set()))
    (product.folder / "agent.sh").write_text("exit 1")
    (product.folder / "judge.sh").write_text("exit 0")
    product.run("run", str(product.write_plan(WHOLE_CASE)), "--run-id", "first")
    changed = rows(3, set())
    changed[1]["question"] = "What is 1 + 1, please?"
    product.write_cases([*changed, {"id": "new", "question": "?", "answer": "!"}])

    again = product.run("rerun", "first", "--errors")

    assert "1 case changed since that run: s1" in again.stderr
    assert "4 cases in the dataset now, 3 of them in this run" in again.stderr


def test_the_results_folder_of_a_rerun_has_what_was_taken_over_too(product: Product, agent: Agent) -> None:
    product.write_cases(rows(10, {5}))
    plan = product.write_plan(PLAN)
    environment = {"AGENT": agent.url}
    product.run("run", str(plan), environment=environment)
    folder = product.folder / "results"
    again = product.run(
        "rerun", "last", "--failed", "--results-dir", str(folder), "--run-id", "again", environment=environment
    )
    assert again.returncode == 1, again.stderr
    lines = [json.loads(line) for line in (folder / "again" / "json" / "tasks.jsonl").read_text().splitlines()]
    assert len({line["case_id"] for line in lines}) == len(lines) == 10
    assert sum(line["reused_from"] is not None for line in lines) == 9
    summary = json.loads((folder / "again" / "summary.json").read_text())
    assert summary["totals"]["total"] == 10
