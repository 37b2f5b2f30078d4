"""``tui-eval preview``: exactly what would be sent, made by the code that sends it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tui_eval.cli.evalsets import EvalsetOptions, check_file, evalset_options
from tui_eval.cli.options import SectionedCommand, examples, json_option, plan_argument, set_option
from tui_eval.cli.terminal import one_line, out, out_json, painted, safe, tell
from tui_eval.domain import Case, as_text
from tui_eval.errors import SolutionError, TemplateError, UsageError

if TYPE_CHECKING:
    from tui_eval.engine.preflight import RequestPreflight
    from tui_eval.solutions.base import Solution
    from tui_eval.spec.loading import LoadedPlan, LoadedRequest


@click.command(
    cls=SectionedCommand,
    epilog=examples("""
        tui-eval preview plan.yaml
        tui-eval preview plan.yaml --request prod --case order-17
    """),
)
@plan_argument
@click.option("--request", "names", multiple=True, metavar="NAME", help="Only this request (repeatable).")
@click.option("--case", "case_ids", multiple=True, metavar="ID", help="This case (repeatable).")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="Without --case: the first N selected cases.",
)
@set_option
@evalset_options
@json_option
def preview(
    plan: Path,
    names: tuple[str, ...],
    case_ids: tuple[str, ...],
    limit: int,
    overrides: tuple[str, ...],
    as_json: bool,
    **evalset: Any,
) -> int:
    """Show exactly what PLAN would send for a case, secrets hidden. Nothing is sent and nothing is executed."""
    checked = check_file(plan, overrides, EvalsetOptions(**evalset))
    checked.raise_faults()
    assert checked.loaded is not None
    assert checked.preflight is not None
    for warning in checked.warnings:
        tell(f"warning: {warning}")
    entries = _chosen(checked.preflight.requests, names)
    shown = [item for entry in entries for item in _previews(checked.loaded, entry, case_ids, limit)]
    missing = set(case_ids) - {item["case"] for item in shown}
    if missing:
        raise UsageError(f"no request has a selected case with the id {', '.join(sorted(missing))}")
    if as_json:
        out_json(shown)
    else:
        for item in shown:
            _print(item)
    return 1 if any("error" in item for item in shown) else 0


def _chosen(entries: list[RequestPreflight], names: tuple[str, ...]) -> list[RequestPreflight]:
    from tui_eval.spec.nearest import nearest

    known = [entry.request.name for entry in entries]
    for name in names:
        if name not in known:
            near = nearest(name, known)
            hint = f"; did you mean `{near}`?" if near else f"; there are {', '.join(known)}"
            raise UsageError(f"the plan has no request `{name}`{hint}")
    return [entry for entry in entries if not names or entry.request.name in names]


def _previews(
    loaded: LoadedPlan, entry: RequestPreflight, case_ids: tuple[str, ...], limit: int
) -> Iterator[dict[str, Any]]:
    assert entry.source is not None
    solution = _solution(loaded, entry.request)
    cases: Iterator[Case] = iter(entry.source.sampled())
    if case_ids:
        cases = (case for case in cases if case.id in case_ids)
    else:
        cases = islice(cases, limit)
    for case in cases:
        yield _preview(entry, solution, case)


def _solution(loaded: LoadedPlan, request: LoadedRequest) -> Solution:
    """The solution as the engine makes it; making one opens nothing."""
    from tui_eval.solutions.base import SolutionSetup
    from tui_eval.spec.kinds import solution_kinds
    from tui_eval.spec.references import resolve

    setup = SolutionSetup(
        folder=loaded.folder, environment=os.environ, resolve=lambda text: str(resolve(text, os.environ))
    )
    made: Solution = solution_kinds()[request.solution_type].implementation_class()(request.solution, setup)
    return made


def _preview(entry: RequestPreflight, solution: Solution, case: Case) -> dict[str, Any]:
    item: dict[str, Any] = {
        "request": entry.request.name,
        "case": case.id,
        "solution": entry.request.solution_type,
    }
    try:
        rendered = entry.request.template.render(case, 0)
        item["sends"] = solution.preview(rendered)
        if check := getattr(solution, "check", None):
            check(rendered)
    except (TemplateError, SolutionError) as error:
        item["error"] = str(error)
    item["judged_by"] = [
        {"evaluator": evaluator.name, "kind": evaluator.id, "reads": getattr(evaluator.options, "variable_mapping", {})}
        for evaluator in entry.request.evaluators
    ]
    return item


def _print(item: dict[str, Any]) -> None:
    out(painted(f"{one_line(item['request'])} · case {one_line(item['case'])} · {item['solution']}", "1"))
    if "error" in item:
        out(f"  ! cannot be sent: {safe(item['error'])}")
    for name, value in item.get("sends", {}).items():
        print_value(name, value, "  ")
    names = ", ".join(one_line(judge["evaluator"]) for judge in item["judged_by"])
    out(f"  judged by: {names or 'nothing (the task will be unscored)'}")
    out()


def print_value(name: str, value: Any, indent: str) -> None:
    """``name: value``, mappings one key a line, long and multi-line texts in a block below."""
    if isinstance(value, dict) and value:
        out(f"{indent}{one_line(name)}:")
        for key, inner in value.items():
            print_value(str(key), inner, indent + "  ")
        return
    text = safe(as_text(value))
    if "\n" in text:
        out(f"{indent}{one_line(name)}: |")
        for line in text.split("\n"):
            out(f"{indent}  {line}")
    else:
        out(f"{indent}{one_line(name)}: {text}")
