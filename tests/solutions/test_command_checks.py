"""Faults of a command that are told before anything runs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tui_eval.solutions.command import check_command, secret_in_argv_warning
from tui_eval.spec.solution_options import CommandOptions


def check(folder: Path, *argv: str, **options: Any) -> list[str]:
    return check_command(CommandOptions(argv=list(argv), **options), folder, os.environ)


def test_a_program_that_is_there_has_no_fault(cases: Path) -> None:
    folder = cases / "31-cmd-exit-and-noise"
    assert check(folder, "python3", "-c", "x") == []
    assert check(folder, "./signal.sh") == []
    assert check(folder, "/bin/sh") == []
    assert check(folder, "./signal.sh", cwd=str(folder)) == []


def test_a_missing_or_unusable_program_is_named(cases: Path) -> None:
    folder = cases / "31-cmd-exit-and-noise"
    assert "not-executable.sh: is not executable" in check(folder, "./not-executable.sh")[0]
    assert "missing.sh: no such file" in check(folder, "./missing.sh")[0]
    assert "no such program on PATH" in check(folder, "no-such-program")[0]
    assert "write ./signal.sh" in check(folder, "signal.sh")[0]
    assert "items of their own" in check(folder, "python3 agent.py")[0]
    assert "is a folder" in check(folder, "./.")[0]
    assert "names no program" in check(folder, "")[0]


def test_a_missing_folder_is_named_and_the_program_is_looked_for_in_the_folder_given(tmp_path: Path) -> None:
    assert "working folder does not exist" in check(tmp_path, "true", cwd="no")[0]
    (tmp_path / "sub").mkdir()
    script = tmp_path / "sub" / "agent"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    assert check(tmp_path, "./agent", cwd="sub") == []
    assert check(tmp_path, "./agent") != []


def test_a_path_set_by_the_solution_is_the_one_that_is_searched(tmp_path: Path) -> None:
    assert check(tmp_path, "sh", env={"PATH": str(tmp_path)}) != []


def test_what_is_filled_in_later_is_left_to_the_call(tmp_path: Path) -> None:
    assert check(tmp_path, "{{ input.program }}") == []
    assert check(tmp_path, "${AGENT}") == []
    assert check(tmp_path, "./absent", cwd="{{ input.folder }}") == []


def test_fixed_arguments_that_can_never_be_passed_are_told(tmp_path: Path) -> None:
    assert "NUL (argv[1])" in check(tmp_path, "echo", "a\0b")[0]
    assert "131072" in check(tmp_path, "echo", "x" * 131072)[0]


def test_a_shell_text_is_checked_for_its_folder_only(tmp_path: Path) -> None:
    options = CommandOptions(shell=True, command="no-such-program")
    assert check_command(options, tmp_path, os.environ) == []
    assert check_command(options, tmp_path / "no", os.environ) != []


def test_a_secret_among_the_arguments_is_warned_about() -> None:
    warning = secret_in_argv_warning(CommandOptions(argv=["agent", "--key", "${KEY}", "x=${OTHER}", "${KEY}"]))
    assert warning is not None
    assert "${KEY}, ${OTHER}" in warning
    assert "env" in warning
    assert secret_in_argv_warning(CommandOptions(argv=["agent"], env={"KEY": "${KEY}"})) is None
    assert secret_in_argv_warning(CommandOptions(shell=True, command="agent ${KEY}")) is None
