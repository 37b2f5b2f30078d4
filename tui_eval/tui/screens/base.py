"""What every screen has: the two bars, its place in the trail, questions to the history, numbered panels."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, ClassVar, TypeVar, cast

from textual.app import ComposeResult
from textual.css.query import NoMatches
from textual.message import Message
from textual.screen import Screen
from textual.widget import Widget

from tui_eval.tui import routes
from tui_eval.tui.polling import Question, Watch
from tui_eval.tui.widgets.bars import KeyBar, TitleBar

if TYPE_CHECKING:
    from tui_eval.tui.application import TuiEvalApp

T = TypeVar("T")

FOCUS_SECONDS = 1.0
"""A focus that has not come by then holds no key any more."""


class BaseScreen(Screen[None], inherit_bindings=False):
    """Subclasses write :meth:`body`, and say in ``PANELS`` which widgets the keys 1 to 5 go to.

    ``route`` is the name it was opened by. ``HELP`` is a sentence or two for the help of the screen. ``HINTS`` are the
    ids of the keys that stand first in the line of keys. The toolkit's own keys of a screen (tab, ctrl+c) are not
    inherited: they would come before those of the application.
    """

    DEFAULT_CSS = """
    BaseScreen { layers: base overlay; }
    """
    PANELS: ClassVar[tuple[str, ...]] = ()
    HELP: ClassVar[str] = ""
    HINTS: ClassVar[tuple[str, ...]] = ()

    def __init__(self) -> None:
        super().__init__()
        self.route = ""
        self._status = ""
        self._watches: list[Watch[object]] = []
        self._focus_next: Widget | None = None
        self._focus_asked = 0.0

    @property
    def tui(self) -> TuiEvalApp:
        """The application, by its type."""
        return cast("TuiEvalApp", self.app)

    def compose(self) -> ComposeResult:
        yield TitleBar()
        yield from self.body()
        yield KeyBar()

    def body(self) -> Iterable[Widget]:
        """The widgets between the bars."""
        raise NotImplementedError

    def arrived_from(self, route: str) -> None:
        """A key of the application led here from the screen with this route; this one may not be mounted yet."""

    # -- the trail --

    @property
    def crumb(self) -> str:
        """The name of this place in the title bar; any text may be in it."""
        return routes.ROUTES[self.route].title if self.route in routes.ROUTES else self.route

    def show_place(self, status: str | None = None) -> None:
        """Bring the title bar up to date: after the crumb changed, or with another status."""
        try:
            bar = self.query_one(TitleBar)
        except NoMatches:
            return
        crumbs = [screen.crumb for screen in self.app.screen_stack if isinstance(screen, BaseScreen)]
        bar.path = ("tui-eval", *crumbs)
        if status is not None:
            self._status = status
        bar.status = self.tui.long_work.text or self._status

    def on_screen_resume(self) -> None:
        self.show_place()
        for watch in self._watches:
            watch.ask_again()

    # -- the history --

    def watch_history(self, question: Question[T], answer: Callable[[T], Message], *, every: float = 5.0) -> Watch[T]:
        """Ask now, and again whenever the history changes while this screen is in front; see :class:`Watch`."""
        watch = Watch(self, self.tui.history, question, answer, hz=self.tui.terminal.refresh_hz, every=every)
        self._watches.append(cast("Watch[object]", watch))
        self.run_worker(watch.run(), group="watch", exclusive=False)
        return watch

    def ask_again(self) -> None:
        """Ask all questions anew (ctrl+r, after something was changed)."""
        for watch in self._watches:
            watch.ask_again()

    # -- panels and leaving --

    def focus_panel(self, number: int) -> None:
        """Give the focus to a panel, counted from 1."""
        if number <= len(self.PANELS):
            panel = self.query_one(self.PANELS[number - 1])
            if panel.display and panel.focusable:
                panel.focus()

    def focus_soon(self, widget: Widget | None) -> None:
        """Give the focus to a widget once it is displayed, unless something else was asked for by then (None: that the
        focus stays where it was put meanwhile)."""
        self._focus_next = widget
        self._focus_asked = time.monotonic()
        if widget is not None:
            self.call_after_refresh(self._focus_now, widget)

    @property
    def focus_is_coming(self) -> bool:
        """Whether a widget is about to get the focus: a key that follows is meant for it."""
        return self._focus_next is not None and time.monotonic() - self._focus_asked < FOCUS_SECONDS

    def _focus_now(self, widget: Widget) -> None:
        if self._focus_next is widget:
            self._focus_next = None
            widget.focus()

    def give_back(self) -> bool:
        """``esc``: True when there was something to close first (a filter), so that the screen stays."""
        return False
