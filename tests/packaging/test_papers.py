"""The papers say what the code does today."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from tests.packaging.reference import README, TABLES, current, table_names
from tui_eval.cli.app import VERBS

ROOT = Path(__file__).parents[2]
TRY = "python3 -m venv .venv && .venv/bin/pip install . && .venv/bin/tui-eval demo"
TEST = "python3 -m venv .venv && .venv/bin/pip install '.[dev]' && .venv/bin/pytest"


def test_the_tables_of_the_readme_are_current() -> None:
    text = README.read_text(encoding="utf-8")
    assert current(text) == text, "run: python -m tests.packaging.reference"
    assert set(table_names(text)) == set(TABLES)


def test_the_readme_has_the_two_command_lines_and_an_example_of_every_verb() -> None:
    text = README.read_text(encoding="utf-8")
    assert TRY in text
    assert TEST in text
    for verb in VERBS:
        assert re.search(rf"^tui-eval {verb}\b", text, re.MULTILINE), f"README.md has no example of {verb}"


def test_the_whole_check_runs_the_command_line_of_the_readme() -> None:
    script = ROOT / ".ci" / "run"
    assert TEST in script.read_text(encoding="utf-8")
    assert os.access(script, os.X_OK)
    subprocess.run(["bash", "-n", str(script)], check=True, timeout=30)


def test_every_sample_plan_is_in_the_list_of_samples() -> None:
    folder = ROOT / "sample_specs"
    text = (folder / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"\]\(([^)]+)\)", text))
    assert named == {str(path.relative_to(folder)) for path in (*folder.glob("*.yaml"), *folder.glob("*/launch.yaml"))}


def test_the_licence_is_the_whole_text() -> None:
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "Apache License" in text
    assert "END OF TERMS AND CONDITIONS" in text


def test_links_of_the_papers_lead_somewhere() -> None:
    for paper in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        text = (ROOT / paper).read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#]+)\)", text):
            assert target.startswith("https://") or (ROOT / target).exists(), f"{paper}: {target}"
