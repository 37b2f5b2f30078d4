"""The form of one section of an orchestration. That of a component is made from the catalogue, anew for another id."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel
from textual import on, work
from textual.containers import Vertical
from textual.widget import Widget

from tui_eval.domain import JsonValue
from tui_eval.errors import Fault
from tui_eval.tui import keys
from tui_eval.tui.agentcompass_draft import (
    COMPONENTS,
    DEFAULTS,
    CompassDraft,
    Owner,
    effective_id,
    inherited,
    request_name,
    section,
)
from tui_eval.tui.agentcompass_reading import section_faults
from tui_eval.tui.projections.agentcompass import part_title
from tui_eval.tui.screens.base import BaseScreen
from tui_eval.tui.text import plural
from tui_eval.tui.widgets.form import Form

if TYPE_CHECKING:
    from tui_eval.platforms.agentcompass.catalog import Catalog


class CompassFormScreen(BaseScreen):
    """Shows the section ``key`` of ``owner``; ``done`` gets what stands there when it is accepted without a fault.
    ``esc`` leaves everything as it was."""

    DEFAULT_CSS = """
    CompassFormScreen #holder { height: 1fr; }
    """
    BINDINGS: ClassVar = keys.bindings("launch_form")
    HELP = (
        "Every field is optional unless it has a star. What stands in grey holds where nothing is typed: the defaults of "
        "the orchestration, else of AgentCompass. ${NAME} alone takes a value from the environment. ctrl+o takes it over."
    )

    def __init__(
        self,
        draft: CompassDraft,
        owner: Owner,
        key: str,
        catalog: Catalog,
        environment: Mapping[str, str],
        done: Callable[[dict[str, Any]], None],
    ) -> None:
        super().__init__()
        self._draft = draft
        self._owner = owner
        self._key = key
        self._catalog = catalog
        self._environment = environment
        self._done = done
        self._identity = effective_id(draft.data, owner, key)
        self._dropped: tuple[str, ...] = ()

    def body(self) -> Iterable[Widget]:
        with Vertical(id="holder"):
            yield self._form(section(self._draft.data, self._owner, self._key))

    def _form(self, data: Mapping[str, JsonValue]) -> Form:
        return Form(self._model(), data=data, check=self._check)

    @property
    def form(self) -> Form:
        return self.query_one(Form)

    @property
    def crumb(self) -> str:
        whose = request_name(self._draft.data, self._owner) if isinstance(self._owner, int) else self._owner
        return f"{part_title(self._key)} of {'all' if self._owner == DEFAULTS else whose}"

    def on_mount(self) -> None:
        self._tell()
        self.form.focus_first()

    # -- the model --

    def _model(self) -> type[BaseModel]:
        from tui_eval.platforms.agentcompass.catalog import NO_HARNESS
        from tui_eval.platforms.agentcompass.credentials import hidden
        from tui_eval.platforms.agentcompass.forms import SECTIONS, component_model, with_defaults

        above, whole = hidden(inherited(self._draft.data, self._owner, self._key)), self._owner != DEFAULTS
        if self._key not in COMPONENTS:
            return with_defaults(SECTIONS[self._key], above, whole=whole)
        known = self._catalog.of(self._key)
        ids = [*known, *([NO_HARNESS] if self._key == "harness" else []), *([self._identity] if self._identity else [])]
        return component_model(ids, known.get(self._identity), above, whole=whole)

    def _check(self, data: dict[str, JsonValue]) -> Iterable[Fault]:
        return section_faults(
            self._draft, self._owner, self._key, data, environment=self._environment, catalog=self._catalog
        )

    @on(Form.Changed)
    async def _changed(self, event: Form.Changed) -> None:
        if event.form is not self.form:
            return  # it has been replaced meanwhile
        if self._key in COMPONENTS:
            value = self.form.value()
            above = inherited(self._draft.data, self._owner, self._key)
            identity = str(value.get("id", above.get("id")) or "")
            if identity != self._identity:
                await self._show_other(identity, value)
        self._tell()

    async def _show_other(self, identity: str, value: Mapping[str, JsonValue]) -> None:
        """Fields of another component; what it does not know of the values is left out, and told."""
        before, after = (self._catalog.of(self._key).get(name) for name in (self._identity, identity))
        self._identity = identity
        unknown = () if before is None or after is None else before.parameters.keys() - after.parameters.keys()
        self._dropped = tuple(name for name in value if name in unknown)
        kept = {name: each for name, each in value.items() if name not in unknown}
        with self.app.batch_update():
            await self.form.remove()
            form = self._form(kept)
            await self.query_one("#holder").mount(form)
            form.focus_field("id")

    def _tell(self) -> None:
        form = self.form
        count = len(form.faults)
        told = [plural(count, "fault") + " (ctrl+n goes to it)" if count and not form.waiting else ""]
        told += [f"{self._identity} has no {', '.join(self._dropped)}: left out" if self._dropped else ""]
        self.show_place("; ".join(part for part in told if part) or "ctrl+o accepts, esc leaves it as it was")

    # -- keys --

    @work(group="accept", exclusive=True)
    async def action_accept(self) -> None:
        form = self.form
        value = await form.checked()
        if value is not None and form is self.form:
            self.app.pop_screen()
            self._done(value)
