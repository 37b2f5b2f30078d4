"""`validate`, `preview` and `schema`: everything about a plan that can be known without executing it."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from tests.cli.conftest import Call
from tui_eval.demo.samples import samples_folder

CASES = Path(__file__).parents[1] / "cases"
TOKEN = "t0ken-Very/Secret+value"


def plan(folder: Path, **changes: object) -> Path:
    """A small valid plan over one good case, with some of its sections changed."""
    (folder / "data.jsonl").write_text('{"id": "a", "question": "1\\u001b[2J?"}\n{"id": "b", "question": "2?"}\n')
    request = {
        "name": "agent",
        "dataset": {"path": "data.jsonl"},
        "solution": {
            "type": "http",
            "url": "http://127.0.0.1:1/ask",
            "headers": {"authorization": "Bearer ${TEST_TOKEN}", "x-plain": "visible"},
            "body": {"q": "{{ question }}"},
        },
        "evaluators": [{"id": "contains", "expected": "x"}],
        **changes,
    }
    path = folder / "plan.yaml"
    path.write_text(yaml.safe_dump({"version": 1, "name": "p", "requests": [request]}))
    return path


@pytest.fixture(autouse=True)
def own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TEST_TOKEN", TOKEN)
    monkeypatch.setenv("TUI_EVAL_HISTORY", str(tmp_path / "history.db"))


def test_a_good_plan_is_summed_up(call: Call, tmp_path: Path) -> None:
    done = call("validate", plan(tmp_path))
    assert done.status == 0, done.err
    assert "1 request, 2 tasks, at most 2 calls" in done.out
    report = call("validate", plan(tmp_path), "--json").json
    assert report["valid"] is True
    assert report["plans"][0]["requests"][0]["hosts"] == ["127.0.0.1:1"]


def test_one_of_a_thing_is_counted_in_the_singular(call: Call, tmp_path: Path) -> None:
    done = call("validate", plan(tmp_path, dataset={"cases": [{"id": "a", "question": "?"}]}))
    assert "1 request, 1 task, at most 1 call of the agent" in done.out


def test_faults_of_the_plan_and_of_its_dataset_are_listed_together(call: Call, tmp_path: Path) -> None:
    path = plan(tmp_path, executon={"n_repeat": 2})
    (tmp_path / "data.jsonl").write_text('{"id": "a"}\n{"id": \n{"id": "c"}\n[1]\n')
    for verb in ("validate", "run", "preview"):
        done = call(verb, path)
        assert (done.status, done.out) == (2, "")
        assert "executon" in done.err
        assert "execution" in done.err
        assert "data.jsonl:2" in done.err
        assert "data.jsonl:4" in done.err
    assert not (tmp_path / "history.db").exists()


def test_a_request_with_a_fault_does_not_hide_those_of_the_others(call: Call, tmp_path: Path) -> None:
    path = plan(tmp_path)
    document = yaml.safe_load(path.read_text())
    sound = document["requests"][0]
    document["requests"] = [
        {**sound, "name": "one", "solution": {**sound["solution"], "methd": "GET"}},
        {**sound, "name": "two", "solution": {"type": "command", "argv": ["no-such-program", "{{ questoin }}"]}},
        {**sound, "name": "three", "evaluators": [{"id": "python", "function": "no_such_module:f"}]},
    ]
    path.write_text(yaml.safe_dump(document))
    done = call("validate", path)
    assert (done.status, done.out) == (2, "")
    for told in (
        "`methd`",
        "did you mean `question`",
        "no-such-program: no such program",
        "no_such_module",
        "4 faults",
    ):
        assert told in done.err, told


def test_a_certificate_that_is_not_there_is_found_before_the_first_call(call: Call, tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("")
    (tmp_path / "folder").mkdir()
    tls = {"ca_file": "ca.pem", "client_cert": "folder", "client_key": "no/such.pem"}
    judge = {"id": "judge", "base_url": "https://j/v1", "model": "m", "rubric": "r", "tls": {"ca_file": "nowhere.pem"}}
    path = plan(tmp_path, solution={"type": "http", "url": "https://x/", "tls": tls}, evaluators=[judge])
    done = call("validate", path)
    assert done.status == 2
    assert f"requests.agent.solution.tls.client_cert: {tmp_path / 'folder'}: is not a file" in done.err
    assert f"requests.agent.solution.tls.client_key: {tmp_path / 'no/such.pem'}: no such file" in done.err
    assert f"requests.agent.evaluators.0.tls.ca_file: {tmp_path / 'nowhere.pem'}: no such file" in done.err
    assert "3 faults" in done.err


def test_a_fault_of_the_datasets_section_has_its_place_in_the_plan(call: Call, tmp_path: Path) -> None:
    path = plan(tmp_path, dataset={"cases": [{"id": "a", "question": "?"}], "sample": {"ids": ["zz"]}})
    (fault,) = call("validate", path, "--json").json["plans"][0]["faults"]
    assert (fault["file"], fault["path"]) == (str(path), "requests.agent.dataset.sample.ids")
    assert path.read_text().splitlines()[fault["line"] - 1].strip() == "ids:"


def test_faults_for_machines_have_their_place(call: Call, tmp_path: Path) -> None:
    done = call("validate", plan(tmp_path, solution={"type": "http", "url": "http://x/", "methd": "GET"}), "--json")
    assert done.status == 2
    (fault,) = done.json["plans"][0]["faults"]
    assert fault["line"] > 0
    assert "methd" in fault["path"] + fault["message"]


def test_what_this_machine_lacks_is_said_with_the_line_of_the_plan(call: Call, tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(
        """version: 1
name: places
requests:
  - name: program
    dataset: {cases: [{id: a}]}
    solution:
      type: command
      argv: [no-such-program]
    evaluators:
      - {id: command, argv: [no-such-judge]}
      - id: exact
        variable_mapping: {expected_output: dataset.nothing}
  - name: none
    dataset:
      cases: []
    solution: {type: command, argv: [echo]}
    evaluators: [{id: contains, expected: x}]
"""
    )
    done = call("validate", tmp_path / "plan.yaml")
    assert done.status == 2
    for place, word in (
        ("plan.yaml:6:5: requests.program.solution: ", "no-such-program"),
        ("plan.yaml:10:9: requests.program.evaluators.0: ", "no-such-judge"),
        ("plan.yaml:12:9: requests.program.evaluators.1.variable_mapping: ", "nothing"),
    ):
        assert any(place in line and word in line for line in done.err.splitlines()), done.err


@pytest.mark.parametrize(
    "section",
    [
        {"solution": {"type": "command", "argv": ["./not-there", "{{ question }}"]}},
        {"solution": {"type": "python", "function": "no_such_module:answer"}},
        {"solution": {"type": "http", "url": "http://127.0.0.1/", "body": "{{ qestion }}"}},
        {"evaluators": [{"id": "exact", "variable_mapping": {"expected_output": "dataset.anser"}}]},
        {"evaluators": [{"id": "regex", "pattern": "("}]},
    ],
)
def test_what_cannot_work_is_found_without_executing_anything(
    call: Call, tmp_path: Path, section: dict[str, object]
) -> None:
    done = call("validate", plan(tmp_path, **section))
    assert done.status == 2, done.out
    assert "plan.yaml" in done.err


@pytest.mark.parametrize("name", ["blank.jsonl", "empty-list.json", "header-only.csv", "zero.jsonl"])
def test_no_case_at_all_is_a_fault(call: Call, tmp_path: Path, name: str) -> None:
    done = call(
        "validate", plan(tmp_path, dataset={"path": name, "id": None}, solution={"type": "http", "url": "http://x/"})
    )
    assert done.status == 2
    (tmp_path / name).write_bytes((CASES / "12-empty-dataset" / name).read_bytes())
    done = call("validate", plan(tmp_path, dataset={"path": name}, solution={"type": "http", "url": "http://x/"}))
    assert done.status == 2
    assert "0 of 0 cases selected" in done.err


@pytest.mark.parametrize("sample", [{"limit": 0}, {"where": "question == 'nothing'"}])
def test_a_sample_that_takes_nothing_is_a_fault(call: Call, tmp_path: Path, sample: dict[str, object]) -> None:
    done = call("validate", plan(tmp_path, dataset={"path": "data.jsonl", "sample": sample}))
    assert done.status == 2
    assert "0 of 2 cases selected" in done.err


def test_a_missing_plan_is_refused(call: Call, tmp_path: Path) -> None:
    done = call("validate", tmp_path / "none.yaml")
    assert (done.status, done.out) == (2, "")
    assert "none.yaml" in done.err


def test_a_typo_in_the_name_of_a_plan_is_seen(call: Call, tmp_path: Path) -> None:
    plan(tmp_path)
    done = call("run", tmp_path / "paln.yaml")
    assert (done.status, done.out) == (2, "")
    assert "did you mean `plan.yaml`?" in done.err
    assert "its folder does not exist either" in call("run", tmp_path / "gone" / "plan.yaml").err


def test_a_dataset_is_told_from_a_plan(call: Call, tmp_path: Path) -> None:
    plan(tmp_path)
    done = call("run", tmp_path / "data.jsonl")
    assert (done.status, done.out) == (2, "")
    assert "this is a dataset, not a plan (name it in a plan: `dataset: {path: data.jsonl}`)" in done.err


def test_a_saved_evaluator_is_told_from_a_plan(call: Call, tmp_path: Path) -> None:
    (tmp_path / "cites.yaml").write_text("id: contains\nexpected: Paris\n")
    done = call("run", tmp_path / "cites.yaml")
    assert done.status == 2
    assert (
        "this looks like a saved evaluator, not a plan (name it in a plan, in `evaluators`: `- use: FILE`)" in done.err
    )


@pytest.mark.parametrize("text", ["type: [http]\n", "type: {http: 1}\n", "id: [contains]\n", "type: http\nid: 3\n"])
def test_what_is_no_plan_at_all_is_a_fault_whatever_it_holds(call: Call, tmp_path: Path, text: str) -> None:
    (tmp_path / "odd.yaml").write_text(text)
    done = call("validate", tmp_path / "odd.yaml")
    assert done.status == 2
    assert "odd.yaml" in done.err


@pytest.mark.parametrize("value", ["127.0.0.1:8799", "http://", "ftp://127.0.0.1", "http://127.0.0.1:99999"])
@pytest.mark.parametrize("verb", ["validate", "run"])
def test_an_address_that_the_environment_spoils_is_found_before_the_first_call(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str, value: str
) -> None:
    monkeypatch.setenv("TEST_AGENT", value)
    solution = {"type": "http", "url": "${TEST_AGENT}/ask", "body": {"q": "{{ question }}"}}
    done = call(verb, plan(tmp_path, solution=solution))
    assert (done.status, done.out) == (2, "")
    assert (
        "requests.agent.solution.url: with the value of `TEST_AGENT` in it this is no http:// or https://" in done.err
    )
    assert value not in done.err.replace("http://127.0.0.1:8000", "").replace("http:// or", "")


def test_a_plan_that_sends_nothing_of_a_case_is_warned_of(call: Call, tmp_path: Path) -> None:
    solution = {"type": "http", "url": "http://127.0.0.1:1/ask", "body": {"q": "{ question }"}}
    done = call("validate", plan(tmp_path, solution=solution))
    assert done.status == 0
    assert "warning: " in done.err
    assert "nothing of a case is sent: the agent is asked the same for all 2 of them" in done.err
    assert "name a column, as in `{{ " in done.err
    one = {"path": "data.jsonl", "sample": {"limit": 1}}
    for changes in (
        {"solution": {**solution, "body": {"q": "{{ question }}"}}},
        {"solution": {"type": "command", "argv": ["cat"], "stdin": "json"}},
        {"solution": solution, "dataset": one},
    ):
        assert "nothing of a case" not in call("validate", plan(tmp_path, **changes)).err


def test_a_variable_without_braces_is_told_how_it_is_written(call: Call, tmp_path: Path) -> None:
    solution = {"type": "http", "url": "http://127.0.0.1:1/ask", "body": {"q": "{{ question }}"}}
    done = call("validate", plan(tmp_path, solution={**solution, "headers": {"authorization": "Bearer $AGENT_TOKEN"}}))
    assert "`$AGENT_TOKEN` without braces is sent as it stands; write ${AGENT_TOKEN}" in done.err


def test_an_address_from_the_environment_may_be_made_for_each_case(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_AGENT", "http://127.0.0.1:1")
    solution = {"type": "http", "url": "${TEST_AGENT}/{{ id }}", "body": {"q": "{{ question }}"}}
    assert call("validate", plan(tmp_path, solution=solution)).status == 0


def test_a_value_can_be_changed_for_once(call: Call, tmp_path: Path) -> None:
    done = call("validate", plan(tmp_path), "--set", "requests.agent.execution.n_repeat=3", "--json")
    assert done.json["plans"][0]["requests"][0]["tasks"] == 6
    assert call("validate", plan(tmp_path), "--set", "requests.agnt.execution.n_repeat=3").status == 2


def test_preview_shows_exactly_what_would_be_sent_and_no_secret(call: Call, tmp_path: Path) -> None:
    done = call("preview", plan(tmp_path), "--case", "b")
    assert done.status == 0, done.err
    assert "2?" in done.out
    assert "${TEST_TOKEN}" in done.out
    assert "visible" in done.out
    assert TOKEN not in done.out + done.err
    (item,) = call("preview", plan(tmp_path), "--case", "b", "--json").json
    assert (item["request"], item["case"]) == ("agent", "b")
    assert TOKEN not in json.dumps(item)


@pytest.mark.parametrize(
    ("solution", "words"),
    [
        ({"type": "http", "url": "http://h/", "headers": {"x": "{{ question }}"}}, "header `x` has a line break or"),
        ({"type": "http", "url": "http://h:{{ 0 if id == 'a' else 9 }}/"}, "`url` is not an http:// or https://"),
        ({"type": "chat", "base_url": "http://h", "model": "m", "messages": "{{ [] if id == 'a' else [{'role': 'user'}] }}"}, "`messages` must be a list"),
    ],
)  # fmt: skip
def test_preview_says_which_case_cannot_be_sent(
    call: Call, tmp_path: Path, solution: dict[str, object], words: str
) -> None:
    done = call("preview", plan(tmp_path, solution=solution), "--limit", "2", "--json")
    assert done.status == 1
    bad, good = done.json
    assert words in bad["error"]
    assert "error" not in good
    assert "sends" in bad
    assert f"! cannot be sent: {words}" in call("preview", plan(tmp_path, solution=solution)).out


def test_preview_sends_nothing_and_makes_no_history(call: Call, tmp_path: Path) -> None:
    marker = tmp_path / "executed"
    solution = {"type": "command", "argv": ["touch", str(marker), "{{ question }}"]}
    done = call("preview", plan(tmp_path, solution=solution), "--limit", "2")
    assert done.status == 0, done.err
    assert done.out.count("case ") == 2
    assert not marker.exists()
    assert not (tmp_path / "history.db").exists()


def test_preview_shows_control_characters_of_a_case_as_text(call: Call, tmp_path: Path) -> None:
    done = call("preview", plan(tmp_path), "--case", "a")
    assert "\x1b" not in done.out
    assert "\\x1b[2J" in done.out or "\\u001b[2J" in done.out


@pytest.mark.parametrize(
    ("arguments", "hint"), [(["--request", "agnt"], "did you mean `agent`"), (["--case", "zz"], "zz")]
)
def test_preview_of_what_is_not_there_is_refused(call: Call, tmp_path: Path, arguments: list[str], hint: str) -> None:
    done = call("preview", plan(tmp_path), *arguments)
    assert (done.status, done.out) == (2, "")
    assert hint in done.err


def test_the_schema_accepts_every_sample_and_refuses_a_wrong_key(call: Call) -> None:
    schema = call("schema").json
    validator = jsonschema.validators.validator_for(schema)(schema)
    validator.check_schema(schema)
    for path in samples_folder().glob("*.yaml"):
        assert not [error.message for error in validator.iter_errors(yaml.safe_load(path.read_text("utf-8")))], path
    assert list(validator.iter_errors({"version": 1, "name": "x", "requests": [], "reqests": []}))
