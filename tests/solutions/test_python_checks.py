"""Whether a function is there is told by reading its source; nothing is imported."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tui_eval.solutions.python import check_function

SOURCE = """
raise SystemExit("imported!")
import json as parser
from os.path import join
async def answer(case): ...
class Agent: ...
made = lambda case: 1
one, (two, *rest) = 1, (2, 3)
if True:
    def inside(): ...
else:
    other: int = 1
try:
    import yaml
except ImportError:
    yaml = None
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "agents.py").write_text(SOURCE)
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("raise SystemExit('imported!')")
    (package / "inner.py").write_text("def f(case): ...")
    return tmp_path


@pytest.mark.parametrize(
    "name", ["parser", "join", "answer", "Agent", "Agent.run", "made", "one", "two", "rest", "inside", "other", "yaml"]
)
def test_every_way_to_bind_a_name_counts(folder: Path, name: str) -> None:
    assert check_function(f"agents:{name}", None, folder) == []


def test_a_missing_function_is_told_with_the_nearest_name(folder: Path) -> None:
    (fault,) = check_function("agents:anwser", None, folder)
    assert "there is no `anwser`" in fault
    assert "did you mean `answer`?" in fault


def test_packages_are_followed_without_importing_them(folder: Path) -> None:
    assert check_function("package.inner:f", None, folder) == []
    assert check_function("inner:f", "package", folder) == []
    assert "`package.absent`" in check_function("package.absent:f", None, folder)[0]
    assert "`agents.inner`" in check_function("agents.inner:f", None, folder)[0]
    assert "package" not in sys.modules


def test_missing_modules_and_folders_are_told(folder: Path) -> None:
    assert "no module `absent_module`" in check_function("absent_module:f", None, folder)[0]
    assert "does not exist" in check_function("agents:answer", "absent", folder)[0]


def test_installed_and_compiled_modules_are_accepted(folder: Path) -> None:
    assert check_function("json:loads", None, folder) == []
    assert check_function("math:sqrt", None, folder) == []


def test_source_that_is_not_python_is_told_with_its_line(folder: Path) -> None:
    (folder / "broken.py").write_text("def f(case):\n  return (\n")
    assert "broken.py:2 is not valid Python" in check_function("broken:f", None, folder)[0]
    (folder / "binary.py").write_bytes(b"\x00\xff")
    assert "not valid Python" in check_function("binary:f", None, folder)[0]


def test_names_that_cannot_be_known_are_left_to_the_call(folder: Path) -> None:
    (folder / "star.py").write_text("from os import *")
    (folder / "lazy.py").write_text("def __getattr__(name): ...")
    (folder / "dynamic.py").write_text("globals()['f'] = 1")
    assert [check_function(f"{name}:f", None, folder) for name in ("star", "lazy", "dynamic")] == [[], [], []]


def test_a_module_that_python_shadows_is_told(folder: Path) -> None:
    (folder / "json.py").write_text("def f(case): ...")
    assert "rename the file" in check_function("json:f", None, folder)[0]
