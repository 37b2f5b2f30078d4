"""Plans put together from parts: what they say, and that their text says the same to the reader of plan files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.hostile import COMMANDS, MARKUP
from tui_eval.spec import compose
from tui_eval.spec.compose import EVERY, Part, Setting
from tui_eval.spec.loading import load_plan
from tui_eval.spec.source import parse_document

INLINE = {"cases": [{"id": "1", "question": "?", "answer": "a"}]}
COMMAND = {"type": "command", "argv": ["echo", "{{ question }}"]}
EXACT = {"id": "exact", "variable_mapping": {"expected_output": "dataset.answer"}}


def made(*names: str) -> dict[str, Any]:
    """A plan of one dataset and a solution a name."""
    solutions = [Part(name, COMMAND) for name in names]
    return compose.compose_plan("composed", [Part("set", INLINE)], solutions, [Part("exact", EXACT)])


def names_of(plan: dict[str, Any]) -> list[str]:
    return [request["name"] for request in plan["requests"]]


def test_each_dataset_meets_each_solution_and_all_evaluators_judge() -> None:
    plan = compose.compose_plan(
        "all",
        [Part("north", INLINE), Part("south", INLINE)],
        [Part("old", COMMAND), Part("new", COMMAND)],
        [Part("exact", EXACT), Part("also", {**EXACT, "name": "also"})],
    )
    assert names_of(plan) == ["north-old", "north-new", "south-old", "south-new"]
    loaded = load_plan(plan, folder=Path.cwd())
    assert all(len(request.evaluators) == 2 for request in loaded.requests)


def test_requests_that_would_be_called_alike_get_names_of_their_own() -> None:
    plan = made("Agent", "agent", "agent")
    assert len({name.lower() for name in names_of(plan)}) == 3
    load_plan(plan, folder=Path.cwd())


def test_a_part_with_an_unprintable_name_makes_a_plan_that_can_be_run() -> None:
    load_plan(made(*COMMANDS, *MARKUP), folder=Path.cwd())


def test_settings_of_a_composed_plan_stand_in_its_sections() -> None:
    plan = compose.with_settings(
        made("a", "b"),
        [
            Setting(None, ("task_concurrency",), 3),
            Setting(None, ("runtime", "timeout_seconds"), 60.0),
            Setting(EVERY, ("execution", "n_repeat"), 2),
            Setting("set-b", ("execution", "n_repeat"), 5),
            Setting(EVERY, ("dataset", "sample", "limit"), 1),
        ],
    )
    loaded = load_plan(plan, folder=Path.cwd())
    assert loaded.plan.task_concurrency == 3
    assert loaded.plan.runtime.timeout_seconds == 60
    assert [request.execution.n_repeat for request in loaded.requests] == [2, 5]
    assert [request.dataset.sample.limit for request in loaded.requests] == [1, 1]


def test_a_setting_for_every_request_replaces_what_a_request_says_itself() -> None:
    plan = compose.with_settings(
        made("a", "b"),
        [Setting("set-b", ("execution", "n_repeat"), 5), Setting(EVERY, ("execution", "n_repeat"), 2)],
    )
    assert [request.execution.n_repeat for request in load_plan(plan, folder=Path.cwd()).requests] == [2, 2]


@pytest.mark.parametrize("name", ["plain", "with.dots", "a=b", 'quote"d', "a b", "[/]", "0"])
def test_an_override_reaches_the_request_it_is_meant_for(name: str) -> None:
    plan = {**made("x"), "requests": [{**made("x")["requests"][0], "name": each} for each in ("first", name, "last")]}
    names = names_of(plan)
    overrides = [
        compose.override_text(Setting(name, ("execution", "n_repeat"), 7), names),
        compose.override_text(Setting(EVERY, ("execution", "max_retries"), 1), names),
        compose.override_text(Setting(None, ("runtime", "qps"), {"api.example.com": 2.5}), names),
        compose.override_text(Setting(name, ("execution", "retry_pattern_list"), ["50[24]"]), names),
    ]
    loaded = load_plan(plan, folder=Path.cwd(), overrides=overrides)
    assert [request.execution.n_repeat for request in loaded.requests] == [1, 7, 1]
    assert [request.execution.max_retries for request in loaded.requests] == [1, 1, 1]
    assert loaded.plan.runtime.qps == {"api.example.com": 2.5}
    assert loaded.requests[1].execution.retry_pattern_list == ["50[24]"]


def test_the_last_setting_of_a_place_is_the_one_that_holds() -> None:
    first = compose.changed((), Setting(None, ("task_concurrency",), 1))
    both = compose.changed(first, Setting(None, ("task_concurrency",), 2))
    assert [each.value for each in both] == [2]
    assert compose.without(both, (None, ("task_concurrency",))) == ()


def test_parts_of_a_plan_in_another_folder_still_mean_their_own_files() -> None:
    assert compose.rebased({"argv": ["python3", "a.py"]}, "command", "sub")["cwd"] == "sub"
    assert compose.rebased({"argv": ["x"], "cwd": "bin"}, "command", "sub")["cwd"] == "sub/bin"
    assert compose.rebased({"argv": ["x"], "cwd": "/opt"}, "command", "sub")["cwd"] == "/opt"
    assert compose.rebased({"function": "m:f"}, "python", "sub/deep")["path"] == "sub/deep"
    tls = compose.rebased({"url": "https://x", "tls": {"ca_file": "ca.pem", "verify": True}}, "http", "sub")["tls"]
    assert tls == {"ca_file": "sub/ca.pem", "verify": True}
    assert compose.rebased({"argv": ["x"]}, "command", ".") == {"argv": ["x"]}


def test_a_file_whose_name_looks_like_a_reference_is_that_file(tmp_path: Path) -> None:
    (tmp_path / "a${HOME}.jsonl").write_text('{"id": 1}\n')
    plan = made("x")
    plan["requests"][0]["dataset"] = {"path": compose.dataset_path("a${HOME}.jsonl")}
    loaded = load_plan(plan, folder=tmp_path, environment={})
    assert loaded.requests[0].dataset.path == "a$${HOME}.jsonl"


def test_the_text_of_a_plan_keeps_references_as_they_were_typed() -> None:
    text = compose.plan_text({"url": "${AGENT_URL}/chat", "body": {"q": "{{ question }}"}}, "How to run it")
    assert text.startswith("# How to run it\n")
    assert "${AGENT_URL}/chat" in text
    assert parse_document(text, "plan.yaml").data == {"url": "${AGENT_URL}/chat", "body": {"q": "{{ question }}"}}


TRAPS = [
    "no",
    "1e3",
    "012",
    "1:30",
    "null",
    "",
    " ",
    "~",
    "0x1F",
    "2031-04-05",
    "- a",
    "a: b",
    "a #b",
    "{a",
    "%",
    "=",
    "<<",
]


@pytest.mark.parametrize("text", [*TRAPS, *MARKUP, *(text for text in COMMANDS if "\ud800" not in text)])
def test_a_hostile_text_is_read_back_as_it_was(text: str) -> None:
    data = {"a": text, "list": [text, {"deep": text}]}
    assert parse_document(compose.plan_text(data), "plan.yaml").data == data


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**15), 10**15)
    | st.floats(-1e6, 1e6).map(lambda n: round(n, 6))
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=30),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc_.-{$", min_size=1, max_size=8), inner, max_size=3)
    ),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(st.text("abcxyz_", min_size=1, max_size=8), JSON, min_size=1, max_size=4))
def test_whatever_a_plan_holds_is_read_back_the_same(data: dict[str, Any]) -> None:
    assert parse_document(compose.plan_text(data), "plan.yaml").data == data
