"""Finding plans, datasets and saved parts without opening more than the beginning of files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_eval.platforms.agentcompass.preparing import write_prepared
from tui_eval.spec import workspace as module
from tui_eval.spec.workspace import classify, scan

FILES: dict[str, Any] = {
    "plans/support.yaml": "version: 1\nname: 'support bot'  # ours\nrequests:\n  - name: a\n    solution: {type: http}\n",
    "plans/flow.yml": "{version: 1, name: flow, requests: [{name: a, solution: {type: http}}]}",
    "plans/support.json": {"version": 1, "name": "json plan", "requests": [{"name": "a", "dataset": {"path": "x"}}]},
    "compass.yaml": "version: 1\nname: cmp\ndefaults:\n  harness: {id: h}\nrequests:\n- name: a\n  model:\n    id: m\n",
    "set.evalset.json": {"name": "an evalset", "cases": []},
    "set2.json": {"name": "another", "cases": [{"name": "c", "inputs": "x"}]},
    "solutions/prod.yaml": "type: http\nurl: http://h/\n",
    "checks/shape.yaml": "id: regex\nname: shape\npattern: x\n",
    "data/a.jsonl": '{"q": 1}\n',
    "data/b.csv": "a,b\n",
    "data/c.TSV": "a\tb\n",
    "data/d.json": [{"q": 1}],
    "data/e.yaml": "- q: 1\n- q: 2\n",
    "data/f.parquet": "PAR1",
    "result.json": {"orchestration_id": "x", "name": "done", "status": "completed", "requests": {"a": {"model": "m"}}},
    "schema.json": {"$schema": "x", "type": "object", "properties": {"requests": {}}},
    "package.json": {"name": "x", "version": "1"},
    "docker-compose.yaml": "services:\n  a:\n    image: x\n",
    "notes.md": "requests:\n",
    "numbers.json": [1, 2],
    ".hidden/x.jsonl": "{}\n",
    ".secret.jsonl": "{}\n",
    "node_modules/m/x.jsonl": "{}\n",
    "some-env/pyvenv.cfg": "home = /usr\n",
    "some-env/lib/x.jsonl": "{}\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, content in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content, indent=1), "utf-8")
    return tmp_path


def test_every_file_is_found_for_what_it_is(folder: Path) -> None:
    found = scan(folder)
    assert {(one.kind, one.path.relative_to(folder).as_posix(), one.name) for one in found.found} == {
        ("plan", "plans/support.yaml", "support bot"),
        ("plan", "plans/flow.yml", "flow"),
        ("plan", "plans/support.json", "json plan"),
        ("orchestration", "compass.yaml", "cmp"),
        ("evalset", "set.evalset.json", "an evalset"),
        ("evalset", "set2.json", "another"),
        ("solution", "solutions/prod.yaml", "prod"),
        ("evaluator", "checks/shape.yaml", "shape"),
        ("dataset", "data/a.jsonl", "a"),
        ("dataset", "data/b.csv", "b"),
        ("dataset", "data/c.TSV", "c"),
        ("dataset", "data/d.json", "d"),
        ("dataset", "data/e.yaml", "e"),
        ("dataset", "data/f.parquet", "f"),
    }
    assert found.cut == []
    assert found.of_kind("solution")[0].size == len("type: http\nurl: http://h/\n")


def test_what_a_run_writes_beside_a_history_in_the_workspace_is_not_taken_for_the_users(folder: Path) -> None:
    (folder / "agentcompass").mkdir()
    write_prepared({"version": 1, "requests": [{"name": "a", "benchmark": "gsm8k"}]}, folder / "agentcompass", "run")
    (folder / "history.db.unsaved-20261129-210813-c267.jsonl").write_text('{"task": 1}\n')
    (folder / "unsaved-thoughts.jsonl").write_text('{"id": 1}\n')
    assert {one.path.name for one in scan(folder).found} >= {"compass.yaml", "unsaved-thoughts.jsonl"}
    assert len(scan(folder).found) == 15


def test_links_and_pipes_are_not_followed(folder: Path) -> None:
    (folder / "loop").symlink_to(folder)
    (folder / "linked.jsonl").symlink_to(folder / "data" / "a.jsonl")
    os.mkfifo(folder / "pipe.yaml")
    assert len(scan(folder).found) == 14


def test_only_the_beginning_of_a_file_is_read(folder: Path) -> None:
    with open(folder / "large.yaml", "w", encoding="utf-8") as stream:
        stream.write("version: 1\nname: large\nrequests:\n- name: a\n  solution: {type: http}\n")
        stream.truncate(3 * 1024**3)
    assert [one.name for one in scan(folder).of_kind("plan") if one.path.name == "large.yaml"] == ["large"]


def test_bounds_are_kept_and_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = folder
    for _ in range(12):
        deep = deep / "d"
    deep.mkdir(parents=True)
    assert scan(folder).cut == ["folders more than 8 deep were not looked into"]
    monkeypatch.setattr(module, "MOST_FOUND", 3)
    limited = scan(folder)
    assert len(limited.found) == 3
    assert "stopped after 3 finds" in limited.cut[-1]
    monkeypatch.setattr(module, "MOST_FILES", 2)
    assert "stopped after 2 files" in scan(folder).cut[-1]


def test_a_folder_that_is_not_there_is_an_empty_workspace(tmp_path: Path) -> None:
    found = scan(tmp_path / "gone")
    assert found.found == []
    assert found.unreadable == [tmp_path / "gone"]


def test_the_recorded_cases_are_no_trouble(cases: Path) -> None:
    assert {one.kind for one in scan(cases).found} >= {"dataset"}


@given(st.text(max_size=200) | st.text("{}[]:,\"'- \n\tabrequests", max_size=200))
def test_any_text_can_be_classified(text: str) -> None:
    for name in ("x.yaml", "x.json"):
        kind, found_name = classify(text, name)
        assert kind is None or isinstance(found_name, str)
