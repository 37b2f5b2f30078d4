"""``tui-eval try``: one call of an agent, or one judgement, with everything shown and nothing kept."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tui_eval.cli.case_detail import print_part
from tui_eval.cli.options import examples, json_option, set_option
from tui_eval.cli.preview import print_value
from tui_eval.cli.terminal import one_line, out, out_json, outcome_word, painted, safe, tell
from tui_eval.cli.try_target import (
    STDIN,
    Given,
    Target,
    find_target,
    from_stdin,
    read_json,
    read_stdin,
    saved_evaluator,
    text_or_file,
    whole_evaluator,
)
from tui_eval.domain import as_text, outcome_of
from tui_eval.errors import FaultsError, TemplateError, TuiEvalError, UsageError

if TYPE_CHECKING:
    from tui_eval.engine.data import TaskResult

T = TypeVar("T")
TERMINATED = 143
_ANSWER_PARTS = [
    "status_code",
    "content_type",
    "exit_code",
    "finish_reason",
    "first_byte_seconds",
    "usage",
    "notes",
    "headers",
    "events",
    "stderr",
    "raw",
    "output",
]


@click.command(
    "try",
    epilog=examples("""
        tui-eval try plan.yaml --case order-17                      # what would be sent
        tui-eval try plan.yaml --case order-17 --send --evaluate    # call the agent once, judge the answer
        tui-eval try solutions/prod.yaml --input '{"question": "Why?"}' --curl
        tui-eval try --evaluator evaluators/cites.yaml --output @answer.txt --expected Paris
    """),
)
@click.argument("target", required=False)
@click.option("--request", "request_name", metavar="NAME", help="A request of the plan. Default: the first.")
@click.option("--case", "case_id", metavar="ID", help="A case of the dataset. Default: the first.")
@click.option("--input", "typed", metavar="JSON|@FILE", help="A case's columns as a JSON object, instead of --case.")
@click.option("--send", is_flag=True, help="Call the agent, exactly once. Without it nothing is sent.")
@click.option("--evaluate", is_flag=True, help="With --send: judge the answer too, by the evaluators of the request.")
@click.option("--curl", is_flag=True, help="Print the request as a command for a shell, secrets as ${NAME}.")
@click.option("--evaluator", metavar="FILE|-", help="Try an evaluator instead: on --output.")
@click.option("--output", metavar="TEXT|@FILE", help="The output that --evaluator judges.")
@click.option("--output-json", metavar="JSON|@FILE", help="The same as a JSON value.")
@click.option("--expected", metavar="TEXT|@FILE", help="What --evaluator compares with.")
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    metavar="DIR",
    help="Where relative paths of what is given as JSON start. Default: here.",
)
@set_option
@json_option
def try_it(
    target: str | None,
    request_name: str | None,
    case_id: str | None,
    typed: str | None,
    send: bool,
    evaluate: bool,
    curl: bool,
    evaluator: str | None,
    output: str | None,
    output_json: str | None,
    expected: str | None,
    folder: Path | None,
    overrides: tuple[str, ...],
    as_json: bool,
) -> int:
    """Try one case of TARGET, or one evaluator. Nothing is kept.

    Shows what would be sent; with --send it calls the agent once and shows what came back. TARGET is a plan, a saved
    solution, or - for JSON on standard input (a solution, or an object with `solution`, `evaluator`, `input`, `output`,
    `expected`).
    """
    if (target is None) == (evaluator is None):
        raise UsageError("name a plan or a solution to try, or an evaluator with --evaluator")
    if evaluate and not send:
        raise UsageError("--evaluate judges what the agent answers: it needs --send")
    try:
        given = _given(target, evaluator, folder or Path.cwd(), typed, _output(output, output_json), expected)
        found = find_target(given, request_name, case_id, overrides)
        for warning in () if as_json else found.warnings:
            tell(f"warning: {warning}")
        report = _judged(found, given) if given.output is not None else _tried(found, send, evaluate)
    except TuiEvalError as error:
        if not as_json:
            raise
        out_json(_as_json(error))
        return error.exit_code
    except asyncio.CancelledError:
        return TERMINATED
    if curl:
        _print_curl(report)
    elif as_json:
        out_json(report)
    else:
        _print(report)
    return _status(report)


# -- what is asked for --


def _output(text: str | None, as_data: str | None) -> tuple[Any] | None:
    if text is not None and as_data is not None:
        raise UsageError("give --output or --output-json, not both")
    if as_data is not None:
        return (read_json(text_or_file(as_data, "--output-json"), "--output-json"),)
    return None if text is None else (text_or_file(text, "--output"),)


def _given(
    target: str | None,
    evaluator: str | None,
    folder: Path,
    typed: str | None,
    output: tuple[Any] | None,
    expected: str | None,
) -> Given:
    given = Given(folder=folder, output=output)
    if typed is not None:
        columns = read_json(text_or_file(typed, "--input"), "--input")
        if not isinstance(columns, dict):
            raise UsageError("--input must be a JSON object: a case's columns")
        given.input = columns
    if expected is not None:
        given.expected = (text_or_file(expected, "--expected"),)
    kind, name = ("solution", target) if evaluator is None else ("evaluator", evaluator)
    assert name is not None
    if name == STDIN:
        given = replace(given, **from_stdin(read_stdin(), kind))
    elif kind == "evaluator":
        given = saved_evaluator(given, Path(name))
    else:
        given.target = Path(name)
    if given.evaluator is not None and given.solution is None and given.output is None:
        raise UsageError("an evaluator judges an output: give one with --output TEXT, --output @FILE or --output-json")
    return _with_expected(given)


def _with_expected(given: Given) -> Given:
    """The expected value in the column that the evaluator reads it from, or in one made for it."""
    if given.expected is None or given.evaluator is None:
        return given
    columns = dict(given.input or {})
    evaluator = dict(given.evaluator)
    mapping = whole_evaluator(given).get("variable_mapping")
    source = mapping.get("expected_output") if isinstance(mapping, dict) else None
    if isinstance(source, str) and source.startswith("dataset."):
        columns.setdefault(source.removeprefix("dataset."), given.expected[0])
    else:
        evaluator["expected"] = given.expected[0]
    return replace(given, evaluator=evaluator, input=columns)


# -- doing it --


def _tried(found: Target, send: bool, evaluate: bool) -> dict[str, Any]:
    from tui_eval.engine.trying import preview_case, try_case

    report: dict[str, Any] = {
        "request": found.request.name,
        "case": found.case.id,
        "input": dict(found.case.input),
        "kind": found.request.solution_type,
        "sent": False,
    }
    try:
        sends = asyncio.run(preview_case(found.loaded, found.request, found.case))
    except TemplateError as error:
        report["error"] = {"kind": "template", "message": str(error)}
        return _shown(found, report)
    report |= {"host": sends.host, "calls": _calls(sends.sent, sends.host), "sends": sends.sent}
    report["curl"] = _curl(found, sends.sent)
    if send:
        judged = evaluate and bool(found.request.evaluators)
        result = _run(try_case(found.loaded, found.request, found.case, judged=judged))
        report |= _result(result, judged)
    return _shown(found, report)


def _judged(found: Target, given: Given) -> dict[str, Any]:
    from tui_eval.engine.trying import judge_output

    assert given.output is not None
    scores = _run(judge_output(found.loaded, found.request, found.case, given.output[0]))
    report = {
        "evaluator": found.request.evaluators[0].name,
        "kind": found.request.evaluators[0].id,
        "input": dict(found.case.input),
        "output": given.output[0],
        "outcome": outcome_of(scores).value,
        "scores": [_score(score) for score in scores],
    }
    return _shown(found, report)


def _run(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end; SIGTERM ends it like Ctrl-C: what was opened or started is closed first."""

    async def running() -> T:
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        return await work

    return asyncio.run(running())


def _result(result: TaskResult, judged: bool) -> dict[str, Any]:
    data: dict[str, Any] = {"sent": True, "seconds": result.latency, "trace_id": result.trace_id, "answer": None}
    attempt = result.attempts[-1] if result.attempts else None
    if attempt is not None and attempt.payload is not None:
        data |= {"sends": attempt.payload.request, "answer": attempt.payload.answer}
    data["error"] = {"kind": result.error_kind, "message": result.message} if result.error_kind else None
    if judged and not result.error_kind:
        data |= {"outcome": result.outcome.value, "scores": [_score(score) for score in result.scores]}
    return data


def _score(score: Any) -> dict[str, Any]:
    return {**asdict(score), "detail": dict(score.detail)}


def _calls(sent: dict[str, Any], host: str | None) -> str:
    """Who is called, in a few words: the host, or the program that is started."""
    if host is not None:
        return f"host {host}"
    if "argv" in sent:
        return "command " + " ".join(as_text(word) for word in sent["argv"])
    if "shell" in sent:
        return f"shell {as_text(sent['shell'])}"
    return f"function {as_text(sent['function'])}" if "function" in sent else "the solution"


def _curl(found: Target, sent: dict[str, Any]) -> str | None:
    from tui_eval.reports.shell_line import references, shell_line

    return shell_line(sent, references(found.loaded.stored["requests"][found.request.position]["solution"]))


def _shown(found: Target, report: dict[str, Any]) -> dict[str, Any]:
    """What may be shown: the values of ``${NAME}`` and typed credentials replaced, and the warnings."""
    from tui_eval.net.stream_secrets import keep_out

    report["warnings"] = [str(warning) for warning in found.warnings]
    shown: dict[str, Any] = keep_out(found.loaded.secrets)(report)
    return shown


def _as_json(error: TuiEvalError) -> dict[str, Any]:
    faults = error.faults if isinstance(error, FaultsError) else ()
    return {
        "sent": False,
        "error": {"kind": "faults" if faults else "usage", "message": str(error)},
        "faults": [asdict(fault) for fault in faults],
    }


def _status(report: dict[str, Any]) -> int:
    return 1 if report.get("error") or report.get("outcome") in ("failed", "unscored") else 0


# -- showing it --


def _print_curl(report: dict[str, Any]) -> None:
    if report.get("error") and "sends" not in report:
        raise UsageError(report["error"]["message"])
    if not report.get("curl"):
        raise UsageError(f"a solution of the kind {report['kind']} has no form as a command for a shell")
    out(safe(report["curl"]))


def _print(report: dict[str, Any]) -> None:
    if "evaluator" in report:
        out(painted(f"{one_line(report['evaluator'])} · {report['kind']}", "1"))
        _print_scores(report)
        return
    title = f"{one_line(report['request'])} · case {one_line(report['case'])} · {report['kind']}"
    out(painted(title, "1"))
    if "sends" in report:
        out("  sends:" if not report["sent"] else "  sent:")
        for name, value in report["sends"].items():
            print_value(name, value, "    ")
    if report.get("error"):
        out(f"  ! {one_line(report['error']['kind'])}: {safe(report['error']['message'])}")
    if report["sent"]:
        _print_answer(report)
    elif "sends" in report:
        out(f"  nothing was sent; --send calls {one_line(report['calls'], 60)}")


def _print_answer(report: dict[str, Any]) -> None:
    answer = {name: value for name, value in (report["answer"] or {}).items() if name not in ("trace_id", "detail")}
    seconds = report["seconds"]
    out(f"  took: {seconds * 1000:.0f} ms" if seconds is not None else "  took: -")
    if report["trace_id"]:
        out(f"  trace id: {one_line(report['trace_id'])}")
    for name in _ANSWER_PARTS:
        if name == "output" and name in answer:
            print_value(name, answer[name], "  ")
        elif answer.get(name) not in (None, "", [], {}):
            print_part(name, answer[name], "  ")
    _print_scores(report)


def _print_scores(report: dict[str, Any]) -> None:
    from tui_eval.domain import Outcome

    for score in report.get("scores", ()):
        outcome = {True: Outcome.PASSED, False: Outcome.FAILED, None: Outcome.UNSCORED}[score["passed"]]
        value = "" if score["value"] is None else f"  {score['value']:g}"
        out(
            f"  {outcome_word(outcome)}{value}  {one_line(score['evaluator'])}  {safe(score['error'] or score['reason'])}"
        )
