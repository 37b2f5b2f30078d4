"""What a launch is made of and what is said about it: parts, files, estimates, settings. Without a terminal."""

from __future__ import annotations

import asyncio
import json
import os
import re
from datetime import datetime
from pathlib import Path

import pytest

from tests.support.histories import run_record, write_run
from tui_eval.errors import Fault, UsageError
from tui_eval.processes import groups
from tui_eval.spec.compose import EVERY, Setting
from tui_eval.spec.workspace import Found
from tui_eval.store.reader import History
from tui_eval.store.records import Counters, RunState
from tui_eval.store.run_queries import RunOverview
from tui_eval.tui.launch_check import CheckedRequest, Verdict, check, look, medians
from tui_eval.tui.launch_draft import Draft, draft_of_file
from tui_eval.tui.launch_parts import composed, own_choice, read_choices
from tui_eval.tui.launch_saving import plan_to_save, write_plan, wrong_name
from tui_eval.tui.projections import launch as shown
from tui_eval.tui.projections import launch_settings as forms
from tui_eval.tui.projections.launch import Limits
from tui_eval.tui.projections.preflight import Note

SECRET = "hunter2-hunter2-hunter2"
PLAN = """\
version: 1
name: other
requests:
  - name: deep
    dataset: {path: w.csv, delimiter: ;}
    solution: {type: command, argv: [python3, agent.py]}
"""


# -- texts and figures --


def request(name: str, tasks: int, host: str = "a.example.com") -> CheckedRequest:
    return CheckedRequest(name, "http", "d.jsonl", tasks, tasks, tasks, tasks, (host,), (), ())


def test_the_time_is_estimated_from_medians_and_what_holds_calls_back() -> None:
    both = [request("x", 100), request("y", 100, "b.example.com")]
    seconds = {"x": 1.0, "y": 3.0}
    assert shown.estimate(both, seconds, Limits(10), {}) == 40
    assert shown.estimate(both, seconds, Limits(10, {"a.example.com": 1}), {}) == 100
    assert shown.estimate(both, seconds, Limits(10, None, {"b.example.com": 0.5}), {}) == 200
    assert shown.estimate(both, seconds, Limits(1000), {}) == 3.0
    assert shown.estimate(both, {"x": 1.0}, Limits(10), {}) is None
    assert shown.estimate([], {}, Limits(10), {}) is None


async def test_the_median_is_that_of_the_newest_run_with_the_same_solution(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    solution = {"type": "http", "url": "https://agent.example.com"}
    run = run_record("nightly")
    run.plan = {"name": "nightly", "requests": [{"name": "prod", "solution": solution}]}
    await write_run(path, run, requests=("prod",))
    wanted = [{"name": "other name", "solution": solution}, {"name": "new", "solution": {**solution, "url": "x"}}]
    with History(path) as history:
        assert medians(history, {"name": "composed", "requests": wanted}) == {"other name": 0.8}


def test_a_host_is_resolved_and_nothing_else_of_a_value_is_shown() -> None:
    values = {"URL": f"https://user:{SECRET}@agent.example.com/hook/{SECRET}?key={SECRET}", "REGION": "eu"}
    assert shown.host("${URL}/ask", values) == "agent.example.com"
    assert shown.host("api.${REGION}.example.com", values) == "api.eu.example.com"
    assert shown.host("${UNSET}/ask", values) == "${UNSET}/ask"
    assert shown.host("plain.example.com:80", values) == "plain.example.com:80"


def test_no_value_of_a_variable_is_in_the_notes() -> None:
    verdict = Verdict((Fault("bad", "/w/p.yaml", 3, 1),), (), (request("x", 1, "${KEY}"),))
    found = shown.notes(
        verdict, Draft(Path("/w")), None, ["KEY", "GONE"], {"KEY": SECRET}, {"TYPED": SECRET}, Path("/w")
    )
    kinds = [note.kind for note in found]
    assert kinds[:2] == ["missing", "fault"]
    assert found[1].text.startswith("p.yaml:3:1")
    assert not any(SECRET in note.text for note in found if note.kind != "host")


def test_what_was_changed_in_a_form_becomes_settings_and_back() -> None:
    base = {"task_concurrency": 8, "requests": [{"name": "a"}, {"name": "b", "execution": {"n_repeat": 2}}]}
    before = forms.shown(base, None)
    assert before == {"task_concurrency": 8}, "what requests do not agree on is left open"
    after = {"task_concurrency": 4, "execution": {"n_repeat": 5}, "dataset": {"sample": {"limit": 3}}}
    settings = forms.edited((), before, after, base, None)
    assert {each.place for each in settings} == {
        (None, ("task_concurrency",)),
        (EVERY, ("execution", "n_repeat")),
        (EVERY, ("dataset", "sample", "limit")),
    }
    assert forms.edited(settings, after, before, base, None) == ()
    one = forms.edited((Setting(EVERY, ("execution", "n_repeat"), 5),), {"execution": {"n_repeat": 5}}, {}, base, "b")
    assert Setting("b", ("execution", "n_repeat"), 1) in one, "an emptied field means the default"


def test_a_typed_override_is_shown_as_a_difference_and_a_credential_is_not_shown() -> None:
    base = {
        "task_concurrency": 8,
        "requests": [{"name": "a.b", "evaluators": [{"id": "judge", "name": "helpful", "threshold": 0.5}]}],
    }
    assert shown.typed_text("task_concurrency=4", ["a.b"], base) == "task_concurrency: 8 → 4"
    told = shown.typed_text("requests.a.b.evaluators.helpful.threshold=0.9", ["a.b"], base)
    assert told == "requests.a.b.evaluators.helpful.threshold: 0.5 → 0.9"
    assert shown.typed_text("nonsense=1", ["a.b"], base) == "nonsense"
    assert SECRET not in shown.typed_text(f"requests.*.solution.api_key={SECRET}", ["a.b"], base)


def test_a_plan_row_shows_its_last_run(tmp_path: Path) -> None:
    now = datetime.now().astimezone()
    found = [Found("plan", tmp_path / name, name, 1) for name in ("p.yaml", "q.yaml")]
    last = {str(tmp_path / "p.yaml"): RunOverview(run_record("p"), Counters(), RunState.FAILED)}
    compose, ran, never = shown.plan_rows(found, last, tmp_path, now)
    assert (compose.key, ran.key) == (shown.BUILD, str(tmp_path / "p.yaml"))
    assert "failed" in str(ran.cells)
    assert "never run" in str(never.cells)


# -- parts and files --


def test_parts_come_from_files_and_from_plans_in_other_folders(tmp_path: Path) -> None:
    workspace = tmp_path
    for folder in ("sub", "data", "solutions", "evaluators"):
        (workspace / folder).mkdir()
    (workspace / "data" / "words.jsonl").write_text('{"id": "a", "word": "one"}\n')
    (workspace / "solutions" / "echo.yaml").write_text('type: command\nargv: [echo, "{{ word }}"]\n')
    (workspace / "evaluators" / "same.yaml").write_text("id: exact\nexpected: 1\n")
    (workspace / "sub" / "other.yaml").write_text(PLAN)
    (workspace / "solutions" / "broken.yaml").write_text("type: http\nurl: [\n")
    found, _ = read_choices(workspace)
    by_name = {(choice.of, choice.name): choice for choice in found}
    assert by_name["dataset", "words"].section == {"path": "data/words.jsonl"}
    assert by_name["dataset", "w"].section == {"path": "sub/w.csv", "delimiter": ";"}
    assert by_name["solution", "deep"].section["cwd"] == "sub"
    assert by_name["solution", "echo"].section == {"use": "solutions/echo.yaml"}
    assert "cannot be read" in by_name["solution", "broken"].note
    assert by_name["evaluator", "same"].score == "exact"


def test_evaluators_with_the_same_score_name_are_told_apart() -> None:
    exact = {"variable_mapping": {"expected_output": "dataset.word"}}
    chosen = [own_choice("evaluator", "exact", name, exact) for name in ("one", "two", "two")]
    sections = composed("x", chosen)["defaults"]["evaluators"]
    assert len({section.get("name", "exact") for section in sections}) == 3


@pytest.mark.parametrize("name", ["", " ", ".hidden", "a/b", "../up", "a\\b", "\x1b[2J", "x" * 300, ".."])
def test_a_name_that_leaves_the_folder_or_hides_is_refused(tmp_path: Path, name: str) -> None:
    assert wrong_name(tmp_path, name)


def test_a_file_is_replaced_only_when_that_was_wanted_and_never_left_half_written(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    write_plan(path, "first\n")
    with pytest.raises(UsageError, match="there already"):
        write_plan(path, "second\n")
    assert path.read_text() == "first\n"
    write_plan(path, "second\n", replace=True)
    assert path.read_text() == "second\n"
    with pytest.raises(UsageError, match="cannot be written"):
        write_plan(tmp_path / "none" / "plan.yaml", "x")
    assert [each.name for each in tmp_path.iterdir()] == ["plan.yaml"]


def test_a_typed_credential_is_not_copied_into_another_file(tmp_path: Path) -> None:
    plan = {
        "version": 1,
        "name": "x",
        "requests": [
            {
                "name": "a",
                "dataset": {"cases": [{"id": "1"}]},
                "solution": {
                    "type": "http",
                    "url": "http://127.0.0.1",
                    "headers": {"authorization": f"Bearer {SECRET}"},
                },
            }
        ],
    }
    draft = Draft(tmp_path, plan=plan)
    seen = look(draft, {})
    assert seen is not None
    assert SECRET not in repr(seen)
    assert SECRET not in repr(draft)
    with pytest.raises(UsageError, match="authorization"):
        plan_to_save(draft, seen)


def test_the_first_line_says_what_stands_in_the_way() -> None:
    assert shown.headline(None, [])[1] == "running"
    ready = Verdict((), (Fault("odd", warning=True),), ())
    assert shown.headline(ready, []) == ("✓ ready to start, 1 warning: press r", "passed")
    stopped = [Note("missing", "KEY", "KEY"), Note("fault", "a"), Note("fault", "b")]
    assert shown.headline(ready, stopped) == ("✗ cannot start: 1 missing variable, 2 faults", "failed")
    assert shown.headline(None, [], "no engine") == ("✗ no engine", "failed")


def test_a_plan_whose_rows_come_from_a_platform_offers_its_solution_and_no_dataset(tmp_path: Path) -> None:
    sample = Path(__file__).parents[2] / "sample_specs" / "agentloop.yaml"
    (tmp_path / "agentloop.yaml").write_text(sample.read_text())
    found, _ = read_choices(tmp_path)
    assert {(each.of, each.name) for each in found} == {("solution", "local agent"), ("evaluator", "contains")}


def test_everything_of_the_samples_can_be_chosen() -> None:
    found, _ = read_choices(Path(__file__).parents[2] / "sample_specs")
    assert {each.of for each in found} == {"dataset", "solution", "evaluator"}


# -- the check --


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """A plan with a dataset that takes a moment to look through."""
    row = '{"id": "%d", "q": "' + "y" * 60 + '"}\n'
    (tmp_path / "a.jsonl").write_text("".join(row % number for number in range(200_000)))
    plan = tmp_path / "plan.json"
    solution = {"type": "http", "url": "http://127.0.0.1:9/", "body": "{{ q }}"}
    request = {"name": "one", "dataset": {"path": "a.jsonl"}, "solution": solution}
    plan.write_text(json.dumps({"version": 1, "name": "large", "requests": [request]}))
    return plan


async def test_the_check_of_a_large_dataset_tells_how_far_it_is(large: Path) -> None:
    heard: list[str] = []
    verdict = await check(draft_of_file(large), {}, heard.append)
    assert verdict.tasks == 200_000
    assert heard, "about three times a second"
    assert all(re.fullmatch(r"checking a\.jsonl … \d+ %", line) for line in heard)


async def test_a_check_that_is_given_up_ends_its_process(large: Path) -> None:
    begun = asyncio.Event()
    checking = asyncio.create_task(check(draft_of_file(large), {}, lambda line: begun.set()))
    await asyncio.wait_for(begun.wait(), 30)
    checking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await checking
    own = os.getpid()
    assert not [line.pid for line in groups.table() if line.parent == own and line.living and _is_check(line.pid)]


def _is_check(pid: int) -> bool:
    try:
        return b"--from-stdin" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
