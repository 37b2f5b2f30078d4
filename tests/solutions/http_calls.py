"""How the tests of HTTP solutions make a call."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.player import answer
from tui_eval.domain import Answer
from tui_eval.errors import SolutionError
from tui_eval.net.trace import TraceContext
from tui_eval.solutions.base import CallContext, Limits, SolutionSetup
from tui_eval.solutions.http import HttpSolution
from tui_eval.spec.rendered import Rendered
from tui_eval.spec.solution_options import HttpOptions

OK = answer('{"text": "ok"}')
SETUP = SolutionSetup(folder=Path("/"), environment={})


def rendered(sent: Mapping[str, Any], shown: Mapping[str, Any] | None = None) -> Rendered:
    return Rendered(sent=sent, shown=shown or sent, case_id="1", case_input={})


def context(
    total: float | None = 5.0, idle: float | None = None, connect: float | None = 5.0, baggage: Any = None
) -> CallContext:
    return CallContext(Limits(total=total, connect=connect, idle=idle), TraceContext.new(baggage))


@asynccontextmanager
async def http(url: str, setup: SolutionSetup = SETUP, **options: Any) -> AsyncIterator[Any]:
    """A function ``call(limits…) -> Answer`` of one HTTP solution, closed at the end."""
    model = HttpOptions.model_validate({"url": url, **options})
    solution = HttpSolution(model, setup)
    fields = {"url": url, **{name: options.get(name) for name in ("headers", "params", "body", "form", "text")}}

    async def call(**limits: Any) -> Answer:
        return await solution.call(rendered(fields), context(**limits))

    try:
        yield call
    finally:
        await solution.aclose()


async def answer_of(url: str, limits: Mapping[str, Any] | None = None, **options: Any) -> Answer:
    async with http(url, **options) as call:
        answer: Answer = await call(**(limits or {}))
        return answer


async def error_of(url: str, limits: Mapping[str, Any] | None = None, **options: Any) -> SolutionError:
    with pytest.raises(SolutionError) as caught:
        await answer_of(url, limits, **options)
    assert str(caught.value)
    return caught.value
