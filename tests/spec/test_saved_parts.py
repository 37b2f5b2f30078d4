"""What a plan takes from elsewhere: saved solutions and evaluators, kinds of other packages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.spec.plans import Write, data, faults_of, loaded, messages
from tui_eval.errors import SpecError
from tui_eval.spec import kinds
from tui_eval.spec.loading import load_plan


def test_a_saved_solution_is_the_base_and_the_other_keys_go_over_it(write: Write, tmp_path: Path) -> None:
    write("type: http\nurl: http://saved/\nheaders: {a: '1', b: '1'}\n", "solutions/prod.yaml")
    write("id: regex\npattern: saved\n", "checks/r.yaml")
    write("cases: [{q: saved}]\n", "data/small.yaml")
    plan = data(
        solution={"use": "solutions/prod.yaml", "headers": {"b": "2"}},
        evaluators=[{"use": "checks/r.yaml", "name": "mine"}],
        dataset={"use": "data/small.yaml"},
    )
    loaded = load_plan(plan, environment={}, folder=tmp_path)
    (request,) = loaded.requests
    assert (request.solution.url, request.solution.headers) == ("http://saved/", {"a": "1", "b": "2"})
    assert (request.evaluators[0].name, request.evaluators[0].options.pattern) == ("mine", "saved")
    assert request.dataset.cases == [{"q": "saved"}]
    assert "use" not in json.dumps(loaded.stored)


def test_a_fault_in_a_saved_file_names_that_file(write: Write, tmp_path: Path) -> None:
    write("type: http\nurl: http://saved/\nheaders: {a: [1]}\nbogus: 1\n", "s.yaml")
    found = faults_of(data(solution={"use": "s.yaml"}), folder=tmp_path)
    assert [(Path(fault.file).name, fault.line, fault.path) for fault in found] == [
        ("s.yaml", 3, "headers.a"),
        ("s.yaml", 4, "bogus"),
    ]


@pytest.mark.parametrize("name", ["../out.yaml", "/etc/passwd", "a/../../out.yaml", "link.yaml", "", 5, "nul\0"])
def test_saved_files_lie_below_the_plans_folder(name: Any, tmp_path: Path) -> None:
    (tmp_path / "out.yaml").write_text("type: http\nurl: http://h/\n")
    folder = tmp_path / "plans"
    folder.mkdir()
    (folder / "link.yaml").symlink_to(tmp_path / "out.yaml")
    text = messages(data(solution={"use": name}), folder=folder)
    assert "outside the plan's folder" in text or "names a saved file" in text


def test_saved_files_that_use_each_other_are_refused(write: Write, tmp_path: Path) -> None:
    write("use: b.yaml\ntype: http\n", "a.yaml")
    write("use: a.yaml\nurl: http://h/\n", "b.yaml")
    assert "used by itself" in messages(data(solution={"use": "a.yaml"}), folder=tmp_path)
    assert "No such file" in messages(data(solution={"use": "gone.yaml"}), folder=tmp_path)


@pytest.mark.parametrize("section", ["dataset", "solution", "evaluators", "defaults"])
def test_a_saved_file_that_is_gone_is_the_only_fault(section: str, tmp_path: Path) -> None:
    gone = {"use": "gone.yaml"}
    plan = data() if section == "defaults" else data(**{section: [gone] if section == "evaluators" else gone})
    if section == "defaults":
        plan["defaults"] = {"solution": gone, "dataset": gone}
    with pytest.raises(SpecError) as caught:
        load_plan(plan, folder=tmp_path)
    assert {fault.message for fault in caught.value.faults} == {"cannot be read: No such file or directory"}


class _Point:
    """An entry point of an installed package."""

    dist = None

    def __init__(self, name: str, target: Any) -> None:
        self.name, self.value, self._target = name, "package:KIND", target

    def load(self) -> Any:
        if isinstance(self._target, Exception):
            raise self._target
        return self._target


def test_kinds_of_packages_are_imported_only_when_a_plan_names_them(monkeypatch: pytest.MonkeyPatch) -> None:
    good = kinds.Kind("tui_eval.spec.solution_options:HttpOptions", "x:Y")
    points = [
        _Point("mine", good),
        _Point("broken", ImportError("no module named foo")),
        _Point("http", ImportError("must not replace ours")),
    ]
    monkeypatch.setattr(kinds, "entry_points", lambda group: points)
    found = kinds.Kinds("tui_eval.solutions", kinds.SOLUTIONS)
    monkeypatch.setattr(kinds, "solution_kinds", lambda: found)
    assert list(found)[-2:] == ["broken", "mine"] or set(found) >= {"broken", "mine"}
    assert found["http"] is kinds.SOLUTIONS["http"]
    assert loaded().requests
    text = messages(data(solution={"type": "broken"}))
    assert "the kind `broken` of the package" in text
    assert "no module named foo" in text
    assert "did you mean `mine`?" in messages(data(solution={"type": "minee"}))
