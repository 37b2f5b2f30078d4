"""Options that several verbs share, declared once."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

import click

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


class SectionOption(click.Option):
    """An option that ``--help`` lists under ``section``, below those that every use of the command may need."""

    def __init__(self, *declarations: Any, section: str, **attributes: Any) -> None:
        super().__init__(*declarations, **attributes)
        self.section = section


class SectionedCommand(click.Command):
    """A command whose help has a heading for each section of its options; "Options" comes first."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {"Options": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is not None:
                sections.setdefault(getattr(parameter, "section", "Options"), []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)


def examples(lines: str) -> str:
    """An epilog with a command line each, shown as they stand; what it is for may follow after ``  #``."""
    return "\b\nExamples:\n" + "\n".join(f"  {line.strip()}" for line in lines.strip().splitlines())


class Real(click.FloatRange):
    """A finite number within bounds. ``click.FloatRange`` takes NaN, which is within any, and infinity."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


def share_in(context: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """``0.9`` or ``90%`` as a share from 0 to 1."""
    if value is None:
        return None
    number, percent = value.strip().removesuffix("%"), value.strip().endswith("%")
    try:
        share = float(Decimal(number) / 100) if percent else float(number)
    except (ValueError, ArithmeticError):
        raise click.BadParameter(f"{value} is no share; write it as 0.9 or 90%", context, parameter) from None
    if not 0 <= share <= 1:
        hint = f"; write {number}%" if not percent and 1 < share <= 100 else ""
        raise click.BadParameter(f"{value} is not between 0 and 1{hint}", context, parameter)
    return share


def first_moment(context: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """A day or a time as seconds since the epoch (:mod:`tui_eval.moments`); of a day its first moment."""
    return _moment(context, parameter, value, end_of_day=False)


def last_moment(context: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """The same; of a day the moment after its last, so that the whole day is before it."""
    return _moment(context, parameter, value, end_of_day=True)


def _moment(context: click.Context, parameter: click.Parameter, value: str | None, *, end_of_day: bool) -> float | None:
    from tui_eval.moments import EXPECTED, moment

    if value is None:
        return None
    try:
        return moment(value, datetime.now().astimezone(), end_of_day=end_of_day)
    except ValueError:
        raise click.BadParameter(f"{value} is no day or time; write {EXPECTED}", context, parameter) from None


def history_option(command: Decorated) -> Decorated:
    """``--history PATH`` -> ``history: Path | None``; the environment and the default place are looked up later."""
    return click.option(
        "--history",
        type=click.Path(path_type=Path),
        metavar="PATH",
        help="History file. Default: $TUI_EVAL_HISTORY, else the user's data folder.",
    )(command)


def json_option(command: Decorated) -> Decorated:
    """``--json`` -> ``as_json: bool``: standard output is for machines only."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else on standard output.")(
        command
    )


def set_option(command: Decorated) -> Decorated:
    """``--set KEY=VALUE`` (repeatable) -> ``overrides: tuple[str, ...]``."""
    return click.option(
        "--set",
        "overrides",
        multiple=True,
        metavar="KEY=VALUE",
        help="Change one value of the plan, such as requests.NAME.solution.url=https://… (repeatable).",
    )(command)


def plan_argument(command: Decorated) -> Decorated:
    """``PLAN`` -> ``plan: Path``. That it is there and readable is checked where it is read."""
    return click.argument("plan", type=click.Path(path_type=Path))(command)
