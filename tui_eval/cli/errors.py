"""How a command ends: the one place where exceptions become messages and exit statuses (:data:`EXIT_STATUSES`)."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tui_eval.cli.terminal import OUTPUT_FAILED, StdoutClosed, prepare_streams, tell
from tui_eval.errors import FaultsError, TuiEvalError

if TYPE_CHECKING:
    import click

DEFECT = 70
INTERRUPTED = 130

EXIT_STATUSES = {
    0: "Success: every case passed, or the pass rate is at least --min-pass-rate. Also when the reader of standard "
    "output (`head`) has closed it.",
    1: "Something failed: a case, more errors than --allow-errors, a request; or the run timed out or decided nothing.",
    2: "Nothing could be run: a wrong option, an unknown file or run, an invalid plan or dataset, no case selected.",
    3: "The history cannot be opened, read or written.",
    70: "A defect of tui_eval. The message names a file with the details.",
    74: "The result could not be written (standard output or a file: disk full).",
    129: "Ended by SIGHUP; what was finished is saved.",
    130: "Interrupted (Ctrl-C); what was finished is saved.",
    143: "Ended by SIGTERM; what was finished is saved.",
}


def run_to_exit_status(command: click.Command, arguments: Sequence[str]) -> int:
    """Run a command line and return its exit status. Raises nothing."""
    prepare_streams()
    status = 0
    try:
        status = _status_of(command, arguments)
        if sys.stdout is not None:
            sys.stdout.flush()
    except (StdoutClosed, BrokenPipeError):
        return _silence_stdout(status)  # 0 unless the command had come to another end before
    except OSError as error:
        tell(f"tui-eval: standard output cannot be written: {error.strerror or error}")
        return _silence_stdout(OUTPUT_FAILED)
    return status


def _status_of(command: click.Command, arguments: Sequence[str]) -> int:
    import click

    try:
        result = _invoke(command, list(arguments))
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except (click.Abort, KeyboardInterrupt):
        tell("tui-eval: interrupted")
        return INTERRUPTED
    except click.ClickException as error:
        tell(_usage_message(error))
        return 2
    except StdoutClosed:
        raise
    except TuiEvalError as error:
        tell(error_message(error))
        return error.exit_code
    except OSError as error:
        if _came_from_click_echo(error):
            raise
        if isinstance(error, FileNotFoundError) and _folder_is_gone():
            tell("tui-eval: the current folder is not there any more; change into another one (`cd`)")
            return 2
        return _report_defect(error)
    except Exception as error:
        return _report_defect(error)
    return result if isinstance(result, int) else 0


def _invoke(command: click.Command, arguments: list[str]) -> object:
    """Run the command as click's own ``main`` does, which would end a broken pipe with status 1."""
    if instruction := os.environ.get("_TUI_EVAL_COMPLETE"):
        from click.shell_completion import shell_complete

        return shell_complete(command, {}, "tui-eval", "_TUI_EVAL_COMPLETE", instruction)
    with command.make_context("tui-eval", arguments) as context:
        return command.invoke(context)


def _usage_message(error: click.ClickException) -> str:
    import click

    lines = []
    if isinstance(error, click.UsageError) and error.ctx is not None:
        lines += [error.ctx.get_usage(), f"Try `{error.ctx.command_path} --help`.", ""]
    return "\n".join([*lines, f"tui-eval: {error.format_message()}"])


def error_message(error: TuiEvalError) -> str:
    """What a person reads about one of our own errors."""
    if isinstance(error, FaultsError):
        lines = [f"{'warning: ' if fault.warning else ''}{fault}" for fault in error.faults]
        faults = sum(not fault.warning for fault in error.faults)
        return "\n".join([*lines, f"tui-eval: {faults} fault{'' if faults == 1 else 's'}; nothing was run"])
    return f"tui-eval: {error}"


def _report_defect(error: Exception) -> int:
    from tui_eval.defects import write_report

    place = write_report(error)
    where = f"The details are in {place}; please report it with that file." if place else "No report could be written."
    tell(
        f"tui-eval: something unexpected happened ({type(error).__name__}). This is a defect of tui_eval, not of your "
        f"plan. What a run had finished is in the history. {where}"
    )
    return DEFECT


def _folder_is_gone() -> bool:
    """True when the working folder was removed: relative paths have no beginning then."""
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


def _came_from_click_echo(error: OSError) -> bool:
    """True for a failed write of click's own help and version texts."""
    frames = traceback.extract_tb(error.__traceback__)
    return bool(frames) and os.path.join("click", "utils.py") in frames[-1].filename


def _silence_stdout(status: int) -> int:
    """Point standard output to nowhere, so that Python's own flush at the end does not complain."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)
    except OSError:
        return status  # there is no standard output at all, so nothing to flush
    return status
