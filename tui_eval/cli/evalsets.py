"""Datalayer evalsets where a plan is expected: the options they need, and the plan that is made of one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tui_eval.cli.options import SectionOption
from tui_eval.errors import SpecError, UsageError

if TYPE_CHECKING:
    from tui_eval.cli.checking import Checked
    from tui_eval.engine.preflight import Told
    from tui_eval.spec.evalset import Evalset

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class EvalsetOptions:
    """What the command line says about an evalset. ``agentspecs`` are names; None is: not said."""

    agentspecs: tuple[str, ...] = ()
    grading: str | None = None
    target: str | None = None
    repeat: int | None = None

    @property
    def given(self) -> bool:
        return self != EvalsetOptions()


def _option(*declarations: str, **attributes: Any) -> Callable[[Decorated], Decorated]:
    return click.option(*declarations, cls=SectionOption, section="Datalayer evalsets", **attributes)


def evalset_options(command: Decorated) -> Decorated:
    """``--agentspec``, ``--grading``, ``--execution-target``, ``--run-limit``: for a PLAN that is an evalset."""
    for option in reversed(
        (
            _option(
                "--agentspec",
                "agentspecs",
                multiple=True,
                metavar="NAME",
                help="Run it on this agentspec (repeatable).",
            ),
            _option(
                "--grading",
                type=click.Choice(["strict", "compat"]),
                help="How it is graded. Default: strict.",
            ),
            _option(
                "--execution-target",
                "target",
                type=click.Choice(["local", "cloud"]),
                help="On a server here, or on the platform. Default: local.",
            ),
            _option(
                "--run-limit", "repeat", type=click.IntRange(1, 1000), metavar="N", help="Times each case is asked."
            ),
        )
    ):
        command = option(command)
    return command


def is_evalset(path: Path) -> bool:
    from tui_eval.spec.workspace import kind_of

    return kind_of(path) == "evalset"


def plan_from(path: Path, options: EvalsetOptions, *, suggested: bool = False) -> Path | dict[str, Any]:
    """``path``, or the plan that is made of it when it is an evalset.

    With ``suggested`` an evalset whose agentspecs were not said takes those that it suggests (to look at it, never to run
    it). Raises SpecError with every fault of the evalset, and UsageError for options that do not go with the file.
    """
    if not is_evalset(path):
        if options.given:
            raise UsageError(
                f"{path} is no evalset: --agentspec, --grading, --execution-target and --run-limit are for one"
            )
        return path
    from tui_eval.platforms.datalayer.conversion import Choices, plan_of
    from tui_eval.spec.evalset import load_evalset

    evalset = load_evalset(path, require_cases=True)
    specs = options.agentspecs or (evalset.agentspec_ids if suggested else ())
    if not specs and suggested:
        specs = ("AGENTSPEC",)
    if not specs:
        raise UsageError(_no_agentspec(path, evalset))
    return plan_of(
        evalset,
        Choices(
            specs,
            execution_target=options.target or "local",
            grading=options.grading or "strict",
            run_limit=options.repeat or 1,
        ),
    )


def pass_rate_asked_for(plan: dict[str, Any], folder: Path) -> float | None:
    """The pass rate that an evalset's own report evaluators ask for (the highest), None when they ask for none."""
    from tui_eval.platforms.datalayer.report import gates_of

    return max(gates_of(plan, folder), default=None)


def _no_agentspec(path: Path, evalset: Evalset) -> str:
    message = f"{path}: name the agentspecs to run it against: --agentspec NAME"
    if not evalset.agentspec_ids:
        return message
    return f"{message} (the evalset suggests {', '.join(evalset.agentspec_ids)})"


def check_file(
    path: Path,
    overrides: tuple[str, ...] = (),
    options: EvalsetOptions | None = None,
    *,
    suggested: bool = True,
    told: Told | None = None,
) -> Checked:
    """As ``checking.check``, for a plan file or an evalset."""
    from tui_eval.cli.checking import Checked, check

    try:
        source = plan_from(path, options or EvalsetOptions(), suggested=suggested)
    except SpecError as error:
        checked = Checked(path)
        for fault in error.faults:
            checked.add(fault)
        return checked
    folder = None if isinstance(source, Path) else path.absolute().parent
    checked = check(source, overrides, folder=folder, told=told)
    checked.path = path
    return checked
