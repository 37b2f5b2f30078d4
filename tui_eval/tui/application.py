"""The application: wires settings, themes, the history and the screens together. It knows no screen by itself."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events
from textual.app import App
from textual.binding import Binding
from textual.css.query import NoMatches
from textual.dom import DOMNode
from textual.driver import Driver
from textual.notifications import SeverityLevel
from textual.screen import Screen
from textual.worker import WorkerFailed

from tui_eval.display import safe
from tui_eval.tui import keys, routes, theming
from tui_eval.tui import settings as settings_file
from tui_eval.tui.ascii_lines import AsciiLines
from tui_eval.tui.long_work import LongWork
from tui_eval.tui.polling import HistoryAccess, HistoryTrouble
from tui_eval.tui.settings import Settings
from tui_eval.tui.terminal import Terminal
from tui_eval.tui.theme_choice import LOOK_SECONDS, ThemeChoice
from tui_eval.tui.type_ahead import TypeAhead

if TYPE_CHECKING:
    from tui_eval.tui.dataset_shelf import DatasetShelf
    from tui_eval.tui.plan_reading import PlanShelf

INTERRUPT_SECONDS = 2.0
_AT_ONCE = frozenset(["ctrl+c", "ctrl+q"])
WIDTHS = [(0, "-narrow"), (80, "-normal"), (110, "-wide")]
"""Classes that every screen gets by its width in cells; HEIGHTS by its height in lines."""
HEIGHTS = [(0, "-short"), (24, "-tall"), (34, "-high")]


class TuiEvalApp(App[int]):
    """The screens over one history and one workspace. See ``app.main`` for how it is started."""

    TITLE = "tui-eval"
    BINDINGS: ClassVar = keys.bindings("everywhere")
    ENABLE_COMMAND_PALETTE = True
    COMMANDS: ClassVar = set()  # filled when the palette is opened
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS
    CSS = """
    Toast { max-width: 90%; padding: 0 1; background: $panel; }
    ToastRack { margin-bottom: 1; }
    * { scrollbar-size-vertical: 1; scrollbar-size-horizontal: 1; }
    Input { scrollbar-size-horizontal: 0; }
    """

    def __init__(
        self,
        history: Path,
        workspace: Path,
        *,
        terminal: Terminal | None = None,
        settings: Settings | None = None,
        config: Path | None = None,
        problems: Iterable[str] = (),
        run_id: str | None = None,
        painted: Callable[[], None] = lambda: None,
    ) -> None:
        self.terminal = terminal or Terminal()
        super().__init__(ansi_color=None if self.terminal.colour else True)
        self.history = HistoryAccess(history)
        self.workspace = workspace
        self.settings = settings or Settings()
        self.config = config or settings_file.default_path()
        self.defect: BaseException | None = None
        self.chosen_samples: dict[Path, dict[str, Any]] = {}
        """Samples chosen on the datasets screen, by the file's absolute path: mappings as `dataset.sample` of a plan."""
        self.themes = ThemeChoice(self)
        self.long_work = LongWork(self, self._show_work)
        self.type_ahead = TypeAhead(self, super().on_event)
        self._problems = list(problems)
        self._first_run = run_id
        self._painted = painted
        self._interrupted_at = float("-inf")
        self._clashes: set[frozenset[str]] = set()
        self.animation_level = "none"
        if not self.terminal.unicode:
            self._filters.append(AsciiLines())
        wanted = (self.settings.theme or theming.DEFAULT) if self.terminal.colour else theming.ANSI
        if problem := self.themes.use(wanted):
            self._problems.append(problem)
        self.set_keymap(self._keymap_of(self.settings))

    # -- what sections keep for each other; imported when one of them is first opened --

    @cached_property
    def plan_shelf(self) -> PlanShelf:
        from tui_eval.tui.plan_reading import PlanShelf

        return PlanShelf()

    @cached_property
    def dataset_shelf(self) -> DatasetShelf:
        from tui_eval.tui.dataset_shelf import DatasetShelf

        return DatasetShelf()

    # -- start and end --

    def get_driver_class(self) -> type[Driver]:
        found = super().get_driver_class()
        if found.__name__ != "LinuxDriver":  # Windows, or one that TEXTUAL_DRIVER names
            return found
        from tui_eval.tui.driver import TerminalDriver

        return TerminalDriver

    def get_default_screen(self) -> Screen[Any]:
        return routes.make("home")

    def on_mount(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._end_by_signal, number)
        self.call_after_refresh(self._after_first_paint)

    def _after_first_paint(self) -> None:
        self._painted()
        self._problems += self.themes.read_all()
        self.set_interval(LOOK_SECONDS, self._look_at_themes)
        if not self.terminal.unicode:
            self._problems.append("The terminal is not set to UTF-8: signs are shown in ASCII (set LANG=C.UTF-8).")
        for problem in self._problems:
            self.notify(problem, severity="warning", timeout=10)
        self._problems.clear()
        if self._first_run is not None:
            self.open("run", run_id=self._first_run)

    def on_unmount(self) -> None:
        self.history.close()

    def _end_by_signal(self, number: signal.Signals) -> None:
        self.exit(return_code=128 + number)

    def _fatal_error(self) -> None:
        # The toolkit would print the values of local variables, which may be outputs or secrets; see app.main.
        self._close_messages_no_wait()

    def _handle_exception(self, error: Exception) -> None:
        cause = error.error if isinstance(error, WorkerFailed) else error
        if isinstance(error, WorkerFailed) and isinstance(cause, NoMatches) and self._is_left(cause):
            return  # an answer that came after the widgets that it was for
        if self.defect is None:
            self.defect = cause
        super()._handle_exception(error)

    def _is_left(self, cause: BaseException) -> bool:
        """Whether the worker that failed belongs to a screen that is being left, or the application is."""
        worker = next((each for each in self.workers if each.error is cause), None)
        if worker is None or not self._running:
            return not self._running
        return worker.node._pruning or worker.node._closing or not worker.node.is_attached

    # -- keys and questions --

    async def on_event(self, event: events.Event) -> None:
        """Keys go through ``type_ahead``, but those that quit whatever is going on."""
        if isinstance(event, events.Key) and not event.is_forwarded and event.key not in _AT_ONCE:
            await self.type_ahead.take(event)
        else:
            await super().on_event(event)

    async def push_screen_wait(self, screen: Any, *, mode: str | None = None) -> Any:
        """Ask, in a worker, and wait for the answer; keys that were typed before wait for the question too."""
        with self.type_ahead.asking(screen):
            return await super().push_screen_wait(screen, mode=mode)

    # -- places --

    def open(self, name: str, **arguments: Any) -> None:
        """Push a screen by its route, or say that this version has none."""
        if not routes.available(name):
            self.notify(f"There is no screen “{name}” in this version of tui_eval.", severity="warning")
            return
        self.push_screen(routes.make(name, **arguments))

    def action_go(self, name: str) -> None:
        """Go to a section: back to it where it is open already, else to a new one."""
        stack = self.screen_stack
        if self.screen.is_modal:
            return
        left = getattr(self.screen, "route", "")
        for screen in stack:
            if getattr(screen, "route", "") == name:
                while self.screen is not screen:
                    self.pop_screen()
                break
        else:
            self.open(name)
        arrived = getattr(self.screen, "arrived_from", None)
        if arrived is not None and left != name:
            arrived(left)

    async def action_back(self) -> None:
        """Let the screen give back what it holds (a filter, a zoom), else leave it. The first screen stays."""
        handled = getattr(self.screen, "give_back", None)
        if handled is not None and handled():
            return
        if len(self.screen_stack) > 1:
            self.pop_screen()

    async def action_leave(self) -> None:
        if len(self.screen_stack) > 1:
            await self.action_back()
        else:
            self.exit(return_code=0)

    async def action_quit(self) -> None:
        self.exit(return_code=0)

    def action_interrupt(self) -> None:
        now = time.monotonic()
        if now - self._interrupted_at <= INTERRUPT_SECONDS:
            self.exit(return_code=0)
            return
        self._interrupted_at = now
        self.notify("Press ctrl+c again to quit. Runs go on without the screen.", timeout=INTERRUPT_SECONDS)

    # -- what every screen uses --

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = False,
    ) -> None:
        """A toast. Whatever is in the texts, they are shown character for character."""
        super().notify(safe(message), title=safe(title), severity=severity, timeout=timeout, markup=False)

    def on_history_trouble(self, message: HistoryTrouble) -> None:
        if not message.missing:
            self.notify(message.text, title="The history cannot be read", severity="error", timeout=15)
        elif message.before:
            text = "It was deleted. What you see is how it was last read; esc goes back."
            self.notify(text, title="Not in the history any more", severity="warning", timeout=15)
        else:
            self.notify(f"{message.text}; esc goes back.", title="Not in the history", severity="warning", timeout=15)

    def _show_work(self) -> None:
        stack = self.screen_stack  # empty while the screens are left
        show = getattr(stack[-1], "show_place", None) if stack and self.is_running else None
        if show is not None:
            show()

    def action_stop_work(self) -> None:
        if not self.long_work.stop_newest():
            self.notify("Nothing is being written or deleted.")

    def action_refresh_screen(self) -> None:
        again = getattr(self.screen, "ask_again", None)
        if again is not None:
            again()
        self.refresh(layout=True)
        self.screen.refresh(layout=True)

    def action_panel(self, number: int) -> None:
        focus_panel = getattr(self.screen, "focus_panel", None)
        if focus_panel is not None:
            focus_panel(number)

    def action_next_panel(self, direction: int) -> None:
        next_panel = getattr(self.screen, "next_panel", None)
        if next_panel is not None:
            next_panel(direction)
        elif direction > 0:
            self.action_focus_next()
        else:
            self.action_focus_previous()

    def action_zoom(self) -> None:
        screen = self.screen
        if screen.maximized is not None:
            screen.minimize()
        elif self.focused is not None and not screen.is_modal:
            screen.maximize(self.focused)

    def action_help(self) -> None:
        from tui_eval.tui.screens.help import HelpScreen

        if not isinstance(self.screen, HelpScreen):
            self.push_screen(HelpScreen(self.screen))

    def action_command_palette(self) -> None:
        from textual.command import CommandPalette

        from tui_eval.tui.palette import ScreenCommands

        if self.use_command_palette and not isinstance(self.screen, CommandPalette):
            self.push_screen(CommandPalette(providers=[ScreenCommands], placeholder="Search for an action…"))

    def action_toggle_mouse(self) -> None:
        """Give the mouse to the application, or back to the terminal (to select text with it)."""
        driver = self._driver
        enable = getattr(driver, "_enable_mouse_support", None)
        disable = getattr(driver, "_disable_mouse_support", None)
        if driver is None or enable is None or disable is None:
            return
        if driver._mouse:
            disable()
            driver._mouse = False
        else:
            driver._mouse = True
            enable()
        self.notify("Mouse on." if driver._mouse else "Mouse off: the terminal selects text with it again.")

    # -- themes, keys, settings --

    def _look_at_themes(self) -> None:
        for problem in self.themes.look():
            self.notify(problem, severity="warning", timeout=10)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return theming.variable_defaults()

    def _keymap_of(self, settings: Settings) -> dict[str, str]:
        known = {key.id for group in keys.groups() for key in group.keys} if settings.keymap else set()
        unknown = sorted(set(settings.keymap) - known)
        if unknown:
            self._problems.append(f"keymap: there is no key with the id {', '.join(unknown)} (see KEYS in the README).")
        return {name: pressed for name, pressed in settings.keymap.items() if name in known}

    def handle_bindings_clash(self, clashed_bindings: set[Binding], node: DOMNode) -> None:
        """Two meanings for one key after the user's keymap: say so, once."""
        ids = frozenset(binding.id or binding.action for binding in clashed_bindings)
        if ids not in self._clashes:
            self._clashes.add(ids)
            self.notify(f"keymap: one key has several meanings here: {', '.join(sorted(ids))}", severity="warning")

    def action_choose_theme(self) -> None:
        from tui_eval.tui.screens.dialogs import Choose, Option

        self._look_at_themes()
        before = self.theme

        def preview(name: str) -> None:
            self.theme = name

        def chosen(name: str | None) -> None:
            self.theme = name or before
            if name and name != before:
                self.save_settings(theme=name)

        options = [Option(name, title) for name, title in self.themes.titles.items()]
        self.push_screen(Choose("Theme", options, at=before, highlighted=preview), chosen)

    def save_settings(self, **changes: Any) -> bool:
        """Change settings and write them; a toast when that fails. What needs a new start says so where it is set."""
        from dataclasses import replace

        from tui_eval.errors import UsageError

        self.settings = replace(self.settings, **changes)
        try:
            settings_file.write(self.config, self.settings)
        except UsageError as error:
            self.notify(str(error), title="Not saved", severity="error", timeout=10)
            return False
        return True
