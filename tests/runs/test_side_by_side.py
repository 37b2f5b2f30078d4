"""Two runners and three viewers on one history, for a minute, and nobody meets an error."""

from __future__ import annotations

import threading
import time
from collections import Counter

import pytest

from tests.support.product import Agent, Product
from tui_eval.store.opening import check_integrity
from tui_eval.store.reader import History

PLAN = """
version: 1
name: beside
task_concurrency: 6
requests:
  - name: one
    dataset: {path: cases.jsonl}
    solution: {type: http, url: "${AGENT}/json?ms=100", body: {question: "{{ question }}"}, output_extractor: output}
    evaluators: [{id: exact, variable_mapping: {expected_output: dataset.answer}}]
"""


def look(product: Product, over: threading.Event, errors: list[str]) -> None:
    """What a screen does: poll, and read everything when something has changed."""
    finished: dict[str, int] = {}
    try:
        with History(product.history) as history:
            while not over.is_set():
                if history.changed():
                    for overview in history.runs():
                        done = overview.counters.finished
                        if done < finished.get(overview.run.run_id, 0):
                            errors.append(f"{overview.run.run_id} went back to {done}")
                        finished[overview.run.run_id] = done
                        history.activity(overview.run)
                        history.tasks(overview.run, limit=50, sort="position", descending=True)
                        history.log(overview.run)
                time.sleep(0.1)
    except Exception as error:
        errors.append(repr(error))


@pytest.mark.long
def test_two_runners_and_three_viewers_share_one_history_without_an_error(product: Product, agent: Agent) -> None:
    product.write_cases([{"question": f"What is {n} + 1?", "answer": str(n + 1)} for n in range(3000)])
    plan = str(product.write_plan(PLAN))
    environment = {"AGENT": agent.url}
    began = time.monotonic()
    runners = [
        product.start("run", plan, "--run-id", name, "--progress", "none", environment=environment)
        for name in ("first", "second")
    ]
    product.wait_for("SELECT 1 FROM (SELECT count(*) AS number FROM runs WHERE state = 'running') WHERE number = 2")
    over = threading.Event()
    errors: list[str] = []
    screens = [threading.Thread(target=look, args=(product, over, errors)) for _ in range(2)]
    for screen in screens:
        screen.start()
    watcher = product.start("watch", "first", "--interval", "0.5")
    number = 0
    while any(runner.poll() is None for runner in runners):
        # People also do things meanwhile: notes, tags, copies, limits.
        number += 1
        changed = product.run("set", "second", "--note", f"note {number}", "--tag", f"t{number}")
        assert changed.returncode == 0, changed.stderr
        if number % 4 == 0:
            copied = product.run("backup", str(product.folder / f"copy-{number}.db"))
            assert copied.returncode == 0, copied.stderr
        time.sleep(1)
    told = [runner.communicate()[1] for runner in runners]
    over.set()
    for screen in screens:
        screen.join()
    watcher.communicate(timeout=20)
    assert time.monotonic() - began > 40
    assert errors == []
    assert [runner.returncode for runner in runners] == [0, 0], told
    assert not any("warning" in text for text in told), told
    assert watcher.returncode == 0
    for name in ("first", "second"):
        assert Counter(product.outcomes(name).values()) == {"passed": 3000}
    assert check_integrity(product.history) == []
    copies = sorted(product.folder.glob("copy-*.db"))
    assert copies
    assert all(check_integrity(copy) == [] for copy in copies)
