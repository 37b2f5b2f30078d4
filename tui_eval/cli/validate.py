"""``tui-eval validate``: every fault of plans and their datasets that can be known before the first call."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tui_eval.cli.agentcompass import dry_run as dry_run_orchestration
from tui_eval.cli.agentcompass import orchestration_json, tell_orchestration
from tui_eval.cli.evalsets import EvalsetOptions, check_file, evalset_options
from tui_eval.cli.options import SectionedCommand, examples, json_option, set_option
from tui_eval.cli.terminal import one_line, out, out_json, out_table, safe, speaks_utf8, tell
from tui_eval.platforms.agentcompass.recognising import is_orchestration_file

if TYPE_CHECKING:
    from tui_eval.cli.checking import Checked
    from tui_eval.engine.reach import Reach


@click.command(
    cls=SectionedCommand,
    epilog=examples("""
        tui-eval validate plans/*.yaml
        tui-eval validate plan.yaml --set requests.prod.dataset.path=new.jsonl --json
    """),
)
@click.argument("plans", nargs=-1, metavar="PLAN...", type=click.Path(path_type=Path))
@set_option
@evalset_options
@json_option
@click.option("--from-stdin", is_flag=True, hidden=True, help="For the screens: what to check comes as JSON.")
def validate(
    plans: tuple[Path, ...], overrides: tuple[str, ...], as_json: bool, from_stdin: bool, **evalset: Any
) -> int:
    """List every fault of PLAN and its datasets. Nothing is executed or sent.

    PLAN is a plan file, a Datalayer evalset, or an orchestration file of AgentCompass.

    Exit status 0 when all plans can be run, 2 when one cannot.
    """
    if from_stdin:
        return _check_from_stdin()
    if not plans:
        raise click.UsageError("Missing argument 'PLAN...'.")
    options = EvalsetOptions(**evalset)
    if as_json:
        told = [_json_of(plan, overrides, options) for plan in plans]
        valid = all(one["valid"] for one in told)
        out_json({"valid": valid, "plans": told})
    else:
        told_valid = [_told(plan, overrides, options) for plan in plans]
        valid = all(told_valid)
    return 0 if valid else 2


def _told(plan: Path, overrides: tuple[str, ...], evalset: EvalsetOptions) -> bool:
    """Say what there is to say of one file; whether it can be run."""
    if is_orchestration_file(plan):
        return tell_orchestration(plan, overrides)
    checked = check_file(plan, overrides, evalset)
    _tell_about(checked)
    return checked.valid


def _json_of(plan: Path, overrides: tuple[str, ...], evalset: EvalsetOptions) -> dict[str, Any]:
    if is_orchestration_file(plan):
        return orchestration_json(plan, overrides)
    return _as_json(check_file(plan, overrides, evalset))


def _check_from_stdin() -> int:
    """What the screens ask for: ``{"plan": path or data, "folder": …, "overrides": […]}`` on standard input, so that
    nothing of a plan stands on a command line; the answer is that of ``--json`` for one plan. Standard error says how
    far it is, a line now and then."""
    from tui_eval.cli.checking import check
    from tui_eval.cli.waiting import LinesNowAndThen

    asked = json.load(sys.stdin)
    plan = asked["plan"]
    if isinstance(plan, str) and is_orchestration_file(Path(plan)):
        data = orchestration_json(Path(plan), tuple(asked.get("overrides", ())))
        out_json(data)
        return 0 if data["valid"] else 2
    folder = Path(asked["folder"]) if asked.get("folder") else None
    overrides = tuple(asked.get("overrides", ()))
    told = LinesNowAndThen()
    if isinstance(plan, str):
        checked = check_file(Path(plan), overrides, told=told)
    else:
        checked = check(plan, overrides, folder=folder, told=told)
    out_json(_as_json(checked))
    return 0 if checked.valid else 2


def dry_run(plan: Path, overrides: tuple[str, ...], as_json: bool, evalset: EvalsetOptions) -> int:
    """What ``run --dry-run`` does: the same checks and words as ``validate``, with the run's own overrides."""
    if is_orchestration_file(plan):
        return dry_run_orchestration(plan, overrides, as_json)
    checked = check_file(plan, overrides, evalset, suggested=False)
    if as_json:
        out_json(_as_json(checked))
    else:
        _tell_about(checked)
    return 0 if checked.valid else 2


def _tell_about(checked: Checked) -> None:
    for fault in checked.faults:
        tell(str(fault))
    for warning in checked.warnings:
        tell(f"warning: {warning}")
    plan = safe(str(checked.path))
    if not checked.valid:
        tell(f"{plan}: {_counted(len(checked.faults), 'fault')}")
        return
    report = checked.preflight
    assert report is not None
    calls = sum(request.attempts_at_most for request in report.requests)
    mark = "✓" if speaks_utf8() else "ok:"
    out(
        f"{mark} {plan}: {_counted(len(report.requests), 'request')}, {_counted(report.tasks, 'task')}, "
        f"at most {_counted(calls, 'call')} of the agent"
    )
    out_table(
        ["  request", "solution", "cases", "tasks", "calls to"],
        [
            [
                f"  {one_line(entry.request.name, 40)}",
                entry.request.solution_type,
                str(entry.survey.selected if entry.survey else 0),
                str(entry.tasks),
                one_line(", ".join((*entry.callees.hosts, *entry.callees.commands, *entry.callees.functions)), 70),
            ]
            for entry in report.requests
        ],
        right=(2, 3),
    )
    _name_all(checked)


def _name_all(checked: Checked) -> None:
    """Every command and function in full, and every file that is not the plan's own: the table above may cut them."""
    reach = _reach(checked)
    assert reach is not None
    for word, things in (("executes", reach.executes), ("reads", reach.reads), ("writes", reach.writes)):
        for thing in things:
            out(f"  {word} {one_line(thing)}")


def _reach(checked: Checked) -> Reach | None:
    from tui_eval.engine.reach import reach_of

    if checked.loaded is None or checked.preflight is None:
        return None
    return reach_of(checked.loaded, [entry.callees for entry in checked.preflight.requests])


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _as_json(checked: Checked) -> dict[str, Any]:
    reach = _reach(checked)
    requests = checked.preflight.requests if checked.preflight else []
    return {
        "path": str(checked.path),
        "valid": checked.valid,
        "faults": [asdict(fault) for fault in checked.faults],
        "warnings": [asdict(warning) for warning in checked.warnings],
        "reach": asdict(reach) if reach is not None else None,
        "requests": [
            {
                "name": entry.request.name,
                "solution": entry.request.solution_type,
                "dataset": entry.source.label if entry.source else None,
                "cases": entry.survey.count if entry.survey else None,
                "selected": entry.survey.selected if entry.survey else None,
                "tasks": entry.tasks,
                "calls_at_most": entry.attempts_at_most,
                "hosts": list(entry.callees.hosts),
                "commands": list(entry.callees.commands),
                "functions": list(entry.callees.functions),
            }
            for entry in requests
        ],
    }
