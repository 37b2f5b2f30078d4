"""What the screen of a run asks the history, and how often the dear parts of it.

Counters, slots and the log are read at every change. What needs all tasks (the groups of failures, percentiles, the
order of the table) takes up to a tenth of a second for 100,000 tasks: it is read again only when forty times that
has passed, so that it never takes more than a fortieth of a core.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Generic, TypeVar

from tui_eval.analysis.summary import total_of
from tui_eval.domain import Outcome
from tui_eval.store.records import Activity, Counters, LogLine, RequestRecord, RunRecord, RunState, TaskRecord
from tui_eval.text_query import TextQuery
from tui_eval.tui.background import short_turns
from tui_eval.tui.projections.requests import Pace, pace
from tui_eval.tui.projections.tasks import Group, group_rows

if TYPE_CHECKING:
    from tui_eval.store.platform_records import PlatformRecord, ReportCounts
    from tui_eval.store.reader import History, Sought

T = TypeVar("T")

LOG_LINES = 1000
_SHARE = 40.0
_SLOWEST = 10.0  # seconds
_LATELY = 120.0  # seconds of finished tasks that the speed is made of
_SAMPLE = 20_000  # of more tasks than this, percentiles are those of an even sample of about so many


class Sparing(Generic[T]):
    """A reading that is done again when what it depends on has changed (its ``version``), and only when ``_SHARE``
    times its own duration has passed."""

    def __init__(self, read: Callable[[History], T], clock: Callable[[], float] = time.monotonic) -> None:
        self._read = read
        self._clock = clock
        self._due = float("-inf")
        self._value: T | None = None
        self._version: object = None

    def get(self, history: History, version: object, now: bool = False) -> T:
        """The value, read anew when the version is another one and it is due, or at once for ``now``."""
        started = self._clock()
        if self._value is None or (version != self._version and (now or started >= self._due)):
            self._value = self._read(history)
            self._version = version
            ended = self._clock()
            self._due = ended + min(_SLOWEST, (ended - started) * _SHARE)
        return self._value

    def forget(self) -> None:
        """Read anew next time, whatever the version."""
        self._value = None


@dataclass(frozen=True, slots=True)
class RunView:
    """A run as of one moment. ``log`` is its newest lines; ``failures`` and ``paces`` may be a moment older."""

    run: RunRecord
    state: RunState
    requests: tuple[RequestRecord, ...]
    total: Counters
    slots: tuple[Activity, ...]
    slot_tasks: Mapping[int, TaskRecord]
    log: tuple[LogLine, ...]
    failures: tuple[Group, ...]
    paces: Mapping[int, Pace]
    platforms: tuple[tuple[PlatformRecord, ReportCounts], ...] = ()

    @property
    def request_names(self) -> dict[int, str]:
        return {request.id: request.name for request in self.requests}


class RunReading:
    """The question about one run. Called in a thread, never by two at once."""

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id
        self._key = 0
        self._log: list[LogLine] = []
        self._last_state: RunState | None = None
        self._failures = Sparing(lambda history: tuple(group_rows(history.failures(self._key))))
        self._paces = Sparing(self._read_paces)
        self._platforms = Sparing(self._read_platforms)

    def __call__(self, history: History) -> RunView:
        from tui_eval.store.liveness import state_now

        run = history.run(self._run_id)
        self._key = run.id
        state = state_now(run)
        ended = state is not self._last_state and not state.live
        self._last_state = state
        requests = tuple(history.requests(run))
        if not state.live:
            for request in requests:  # what a lost runner was doing is not being done: it waits
                request.counters.running = request.counters.waiting = 0
        slots = tuple(history.activity(run)) if state.live else ()
        total = total_of(request.counters for request in requests)
        version = finished_of(requests)
        return RunView(
            run,
            state,
            requests,
            total,
            slots,
            history.tasks_of(slot.task for slot in slots),
            self._read_log(history),
            self._failures.get(history, version, now=ended),
            self._paces.get(history, (version, _minute(state)), now=ended),
            # Reporting goes on after the run has ended, and no counter of it tells.
            self._platforms.get(history, time.monotonic(), now=ended) if _has_platform(run) else (),
        )

    def _read_log(self, history: History) -> tuple[LogLine, ...]:
        while True:
            lines = history.log(self._key, self._log[-1].id if self._log else 0, LOG_LINES)
            self._log = (self._log + lines)[-LOG_LINES:]
            if len(lines) < LOG_LINES:
                return tuple(self._log)

    def _read_platforms(self, history: History) -> tuple[tuple[PlatformRecord, ReportCounts], ...]:
        from tui_eval.store.platform_records import reported

        return tuple(reported(history.path, self._key))

    def _read_paces(self, history: History) -> dict[int, Pace]:
        latencies: dict[int, list[float]] = {}
        ends: dict[int, list[float]] = {}
        since = time.time() - _LATELY
        finished = sum(request.counters.finished for request in history.requests(self._key))
        for request, sampled, latency, finished_at in history.timings(self._key, 1 + finished // _SAMPLE, since):
            if sampled and latency is not None:
                latencies.setdefault(request, []).append(latency)
            if finished_at is not None and finished_at >= since:
                ends.setdefault(request, []).append(finished_at)
        return {key: pace(latencies.get(key, ()), ends.get(key, ())) for key in latencies.keys() | ends.keys()}


def finished_of(requests: Iterable[RequestRecord]) -> tuple[tuple[int, int, int], ...]:
    """What tells two moments of a run apart as far as its tasks go."""
    return tuple((each.counters.total, each.counters.finished, each.counters.running) for each in requests)


def _has_platform(run: RunRecord) -> bool:
    """Whether a run may be reported anywhere: its plan has the section of a platform."""
    from tui_eval.spec.kinds import PLATFORMS

    return any(name in run.plan for name in PLATFORMS)


def _minute(state: RunState) -> int:
    """While a run is live its speed changes also when nothing finishes."""
    return int(time.time() / 10) if state.live else 0


@dataclass(frozen=True, slots=True)
class TasksWanted:
    """Which tasks the table shows, in which order. ``request`` is a key, None for all; ``failure`` the key of a group of
    failures; ``text`` what their texts must match."""

    request: int | None = None
    outcomes: tuple[Outcome, ...] = ()
    text: TextQuery = field(default_factory=TextQuery)
    failure: tuple[str, str, str] | None = None
    sort: str = "position"
    descending: bool = False

    @property
    def narrowed(self) -> bool:
        return bool(self.chosen or self.outcomes or self.text)

    @property
    def chosen(self) -> bool:
        """Whether a request or a group of failures was chosen in the panels."""
        return self.request is not None or self.failure is not None

    @property
    def in_plan_order(self) -> bool:
        """Whether the list depends on nothing that changes while a run goes on."""
        return self.sort == "position" and not self.outcomes and not self.text and self.failure is None

    def of_every_panel(self) -> TasksWanted:
        """The same without the request and the group that were chosen."""
        return replace(self, request=None, failure=None)


@dataclass(frozen=True, slots=True)
class TasksView:
    """The answer: the keys of all such tasks, and the tasks of the pages that are on the screen."""

    wanted: TasksWanted
    keys: Sequence[int]
    pages: tuple[tuple[Sequence[int], dict[int, TaskRecord]], ...]


class TasksReading:
    """The question about the tasks of one run. ``wanted`` and ``pages`` are set by the screen at any time.

    ``looked_at`` is how many tasks a scan for a text has looked at so far, None while there is none. Another ``wanted``
    ends a scan, and so does :meth:`give_up`.
    """

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id
        self.wanted = TasksWanted()
        self.pages: Sequence[Sequence[int]] = ()
        self.looked_at: int | None = None
        self._read_for: TasksWanted | None = None
        self._reading_for = self.wanted
        self._given_up = False
        self._keys: Sparing[Sequence[int]] = Sparing(self._read_keys)

    def __call__(self, history: History) -> TasksView:
        wanted, pages = self.wanted, self.pages
        self._reading_for = wanted
        requests = history.requests(history.run(self._run_id))
        totals = tuple(request.counters.total for request in requests)
        # In the order of the plan the tasks stay where they are, whatever becomes of them.
        version = (wanted, totals if wanted.in_plan_order else finished_of(requests))
        keys = self._keys.get(history, version, now=wanted != self._read_for)
        self._read_for = wanted
        if self.wanted != wanted:
            self._keys.forget()  # a scan was given up: what it has is a part
        return TasksView(wanted, keys, tuple((page, history.tasks_of(page)) for page in pages))

    def give_up(self) -> None:
        """Nobody wants the answer any more."""
        self._given_up = True

    def _read_keys(self, history: History) -> Sequence[int]:
        wanted = self._reading_for
        run = history.run(self._run_id)
        outcomes, sought = wanted.outcomes, None
        if wanted.failure is not None:
            outcome, kind, _ = wanted.failure
            groups = group_rows(history.failures(run))
            messages = next((group.messages for group in groups if group.key == wanted.failure), set())
            outcomes = tuple(each for each in outcomes or tuple(Outcome) if each.value == outcome)
            sought = self._sought(wanted, kind, frozenset(messages))
        elif wanted.text:
            sought = self._sought(wanted, None, None)
        if wanted.failure is not None and not outcomes:
            return ()
        with short_turns:
            try:
                return history.task_keys(
                    run,
                    request=wanted.request,
                    outcomes=outcomes or None,
                    sort=wanted.sort,
                    descending=wanted.descending,
                    sought=sought,
                )
            finally:
                self.looked_at = None

    def _sought(self, wanted: TasksWanted, kind: str | None, messages: frozenset[str] | None) -> Sought:
        from tui_eval.store.reader import Sought

        def looked_at(count: int) -> None:
            self.looked_at = count

        return Sought(wanted.text, kind, messages, looked_at, lambda: self._given_up or self.wanted != wanted)
