"""What an installation holds: the code, and everything that the code reads from its own folder."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from tui_eval import __version__

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--quiet"]
    done = subprocess.run(
        [*command, "--wheel-dir", str(folder), str(ROOT)], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = folder.glob("*.whl")
    return zipfile.ZipFile(path)


def test_a_wheel_holds_all_that_is_read_at_run_time(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    for path in (ROOT / "tui_eval").rglob("*"):
        if path.is_file() and path.suffix in (".py", ".sql") and "__pycache__" not in path.parts:
            assert str(path.relative_to(ROOT)) in names
    for path in (ROOT / "sample_specs").rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            assert f"tui_eval/{path.relative_to(ROOT)}" in names
    assert any(name.startswith("tui_eval/themes/") for name in names)


def test_a_wheel_holds_nothing_else(wheel: zipfile.ZipFile) -> None:
    info = f"tui_eval-{__version__}.dist-info/"
    assert all(name.startswith(("tui_eval/", info)) for name in wheel.namelist())
    assert not [name for name in wheel.namelist() if "__pycache__" in name or name.endswith((".pyc", ".db"))]
    metadata = wheel.read(f"{info}METADATA").decode()
    assert "License-Expression: Apache-2.0" in metadata
    assert f"{info}licenses/LICENSE" in wheel.namelist()


def test_every_direct_dependency_has_a_tested_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pinned = {
        line.split("==")[0].lower().replace("_", "-")
        for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
        if line and not line.startswith("#")
    }
    wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"], "hatchling"]
    names = {requirement.split(">")[0].split("<")[0].split("=")[0].strip().lower() for requirement in wanted}
    assert names <= pinned


def test_every_direct_dependency_is_justified() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for requirement in project["dependencies"]:
        name = requirement.split(">")[0].split("<")[0].strip()
        assert f"| {name} |" in text, f"CONTRIBUTING.md does not say why {name} is needed"
