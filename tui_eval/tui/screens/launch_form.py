"""A form on a screen of its own, for the launch screens: settings of a request, a solution of this launch only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

from pydantic import BaseModel
from textual import work
from textual.widget import Widget

from tui_eval.tui import keys
from tui_eval.tui.screens.base import BaseScreen
from tui_eval.tui.widgets.form import Check, Form


class LaunchFormScreen(BaseScreen):
    """Shows ``data`` in the fields of ``model``; ``done`` gets what stands there when it is accepted without a fault.
    ``check`` finds more faults than the model alone. ``esc`` leaves everything as it was."""

    BINDINGS: ClassVar = keys.bindings("launch_form")
    HELP = "Every field is optional unless it has a star; an empty one means the default. ctrl+o takes it over."

    def __init__(
        self,
        title: str,
        model: type[BaseModel],
        data: Mapping[str, Any],
        done: Callable[[dict[str, Any]], object],
        *,
        skip: tuple[str, ...] = (),
        check: Check | None = None,
    ) -> None:
        super().__init__()
        self._title = title
        self._model = model
        self._data = data
        self._done = done
        self._skip = skip
        self._check = check

    def body(self) -> Iterable[Widget]:
        yield Form(self._model, data=self._data, skip=self._skip, check=self._check)

    @property
    def crumb(self) -> str:
        return self._title

    def on_mount(self) -> None:
        self.show_place("ctrl+o accepts, esc leaves it as it was")
        self.query_one(Form).focus_first()

    @work(group="accept", exclusive=True)
    async def action_accept(self) -> None:
        value = await self.query_one(Form).checked()
        if value is not None:
            self.app.pop_screen()
            self._done(value)
