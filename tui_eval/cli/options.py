"""Options that several verbs share, declared once."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


class Real(click.FloatRange):
    """A finite number within bounds. ``click.FloatRange`` takes NaN, which is within any, and infinity."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


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
        help="Change one value of the plan, as requests.NAME.solution.url=https://… (repeatable).",
    )(command)


def plan_argument(command: Decorated) -> Decorated:
    """``PLAN`` -> ``plan: Path``. That it is there and readable is checked where it is read."""
    return click.argument("plan", type=click.Path(path_type=Path))(command)
