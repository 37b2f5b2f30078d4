"""AgentCompass's own dry run: the orchestration as it resolves it. It is asked in a process of its own."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from textual import work
from textual.widget import Widget
from textual.widgets import Static

from tui_eval.errors import TuiEvalError
from tui_eval.tui.screens.base import BaseScreen
from tui_eval.tui.text import content, whole_seconds
from tui_eval.tui.widgets.text_view import TextView

if TYPE_CHECKING:
    from tui_eval.platforms.agentcompass.orchestration import LoadedOrchestration

WAITING = (
    "AgentCompass is asked what it makes of this orchestration.\n"
    "It imports everything it has first, which takes ten seconds and more. esc stops it."
)


class DryRunScreen(BaseScreen):
    """Asks, and shows the answer. ``esc`` ends the process that was asked."""

    DEFAULT_CSS = """
    DryRunScreen #told { height: auto; max-height: 8; padding: 1 2; }
    DryRunScreen #told.-failed { color: $state-failed; }
    DryRunScreen TextView { display: none; height: 1fr; }
    DryRunScreen.-answered TextView { display: block; }
    DryRunScreen.-answered #told { display: none; }
    """
    PANELS = ("#text",)
    HELP = (
        "The orchestration as AgentCompass itself resolves it, credentials hidden. It looks at ids, folders and merges; "
        "it loads no data, so it does not know how many tasks there are."
    )

    def __init__(self, loaded: LoadedOrchestration, environment: Mapping[str, str]) -> None:
        super().__init__()
        self._loaded = loaded
        self._environment = environment
        self._began = 0.0
        self._waiting = False

    def body(self) -> Iterable[Widget]:
        yield Static(content(WAITING), id="told", markup=False)
        yield TextView("", wrap=False, id="text")

    @property
    def crumb(self) -> str:
        return "AgentCompass's dry run"

    def on_mount(self) -> None:
        self.set_interval(1.0, self._tick)
        self._ask()

    def ask_again(self) -> None:
        """ctrl+r: once more."""
        super().ask_again()
        self._ask()

    @work(group="ask", exclusive=True)
    async def _ask(self) -> None:
        from tui_eval.platforms.agentcompass.dry_run import dry_run_text
        from tui_eval.platforms.agentcompass.starting import Options

        told = self.query_one("#told", Static)
        told.update(content(WAITING))
        told.set_class(False, "-failed")
        self.set_class(False, "-answered")
        self._began, self._waiting = time.monotonic(), True
        self._tick()
        try:
            text = await dry_run_text(self._loaded, Options(), self._environment)
        except TuiEvalError as error:
            told.update(content(f"✗ {error}"))
            told.set_class(True, "-failed")
            self.show_place("no answer")
            return
        finally:
            self._waiting = False
        took = whole_seconds(time.monotonic() - self._began)
        self.query_one(TextView).set_text(text)
        self.set_class(True, "-answered")
        self.query_one(TextView).focus()
        self.show_place(f"answered after {took}")

    def _tick(self) -> None:
        if self._waiting:
            self.show_place(f"asking, {whole_seconds(time.monotonic() - self._began)}")
