"""How the program starts and how it ends: quick, quiet, and with a status that can be relied on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from tui_eval import __version__
from tui_eval.cli.app import VERBS, command_line
from tui_eval.cli.errors import EXIT_STATUSES, run_to_exit_status
from tui_eval.cli.terminal import out
from tui_eval.defects import write_report
from tui_eval.errors import Fault, HistoryError, SpecError, TuiEvalError, UsageError

HEAVY = ("textual", "httpx", "pydantic", "aiosqlite", "sqlite3", "jinja2", "jsonschema", "rapidfuzz", "asyncio")


def run(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tui_eval", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, **options)  # type: ignore[call-overload,no-any-return]


@pytest.mark.parametrize("arguments", [["--version"], ["-V"], ["--help"], ["-h"], []])
def test_help_and_version_load_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys\n"
        f"sys.argv = ['tui-eval', *{arguments!r}]\n"
        "from tui_eval.__main__ import main\n"
        "try:\n    main()\n"
        "except SystemExit as ended:\n    assert not ended.code, ended.code\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr.strip()) == (0, "[]")


def test_the_version_is_the_packages() -> None:
    assert run("--version").stdout == f"tui-eval {__version__}\n"


def test_alone_it_says_how_to_begin() -> None:
    done = run()
    assert done.returncode == 0
    for verb in ("demo", "validate", "run"):
        assert f"tui-eval {verb}" in done.stdout


@pytest.mark.parametrize("verb", list(VERBS))
def test_every_verb_is_there_and_explains_itself(verb: str) -> None:
    context = click.Context(command_line, info_name="tui-eval")
    command = command_line.get_command(context, verb)
    assert command is not None
    assert command.help
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, f"{verb} {parameter.opts}"


def test_a_mistyped_verb_is_refused_with_the_nearest() -> None:
    done = run("exprot")
    assert done.returncode == 2
    assert "no command `exprot`" in done.stderr
    assert "Did you mean `export`?" in done.stderr
    assert done.stdout == ""


def test_a_mistyped_option_is_refused() -> None:
    done = run("--hlep")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--hlep" in done.stderr


@pytest.mark.parametrize("arguments", [[], ["--help"]])
def test_a_full_disk_behind_standard_output_is_not_a_success(arguments: list[str]) -> None:
    if not Path("/dev/full").exists():
        pytest.fail("/dev/full is needed to see what a full disk does")
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "tui_eval", *arguments], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60
        )
    assert done.returncode == 74
    assert "standard output cannot be written" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", [[], ["--help"]])
def test_a_reader_that_has_enough_is_not_a_failure(arguments: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as gone:
        done = subprocess.run(
            [sys.executable, "-m", "tui_eval", *arguments], stdout=gone, stderr=subprocess.PIPE, text=True, timeout=60
        )
    assert (done.returncode, done.stderr) == (0, "")


def ending_with(error: BaseException) -> click.Command:
    @click.command()
    def verb() -> None:
        raise error

    return verb


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (UsageError("no run `x`"), 2),
        (SpecError([Fault("wrong", file="plan.yaml", line=3, column=5)]), 2),
        (HistoryError("history.db is damaged"), 3),
        (TuiEvalError("something of ours"), 1),
        (KeyboardInterrupt(), 130),
        (click.BadParameter("bad"), 2),
        (ValueError("unexpected"), 70),
        (OSError("unexpected"), 70),
        (BrokenPipeError(), 70),
    ],
)
def test_each_kind_of_error_has_its_status_and_a_message(
    error: BaseException, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_to_exit_status(ending_with(error), []) == status
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.strip()
    assert "Traceback" not in told.err
    assert status in EXIT_STATUSES


def test_a_message_cannot_command_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    run_to_exit_status(ending_with(UsageError("no run `\x1b[2J`")), [])
    assert "\x1b" not in capsys.readouterr().err


def test_what_a_verb_returns_is_the_status() -> None:
    @click.command()
    def verb() -> int:
        out("x")
        return 1

    assert run_to_exit_status(verb, []) == 1


def test_the_report_of_a_defect_holds_places_and_no_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    secret = "s3cr3t-token"
    try:
        try:
            raise ValueError(f"header {secret}")
        except ValueError as error:
            raise RuntimeError(f"while sending {secret}") from error
    except RuntimeError as error:
        path = write_report(ExceptionGroup(f"group {secret}", [error]))
    text = Path(path).read_text()
    assert "test_start.py" in text
    assert "RuntimeError" in text
    assert "ValueError" in text
    assert secret not in text.replace('secret = "s3cr3t-token"', "")
    assert Path(path).stat().st_mode & 0o777 == 0o600


def test_a_folder_that_was_removed_under_the_shell_is_no_defect(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    script = 'rmdir "$PWD"; exec "$@"'
    command = ["sh", "-c", script, "sh", sys.executable, "-m", "tui_eval", "run", "plan.yaml"]
    done = subprocess.run(command, cwd=gone, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2, done.stderr
    assert "the current folder is not there any more" in done.stderr
