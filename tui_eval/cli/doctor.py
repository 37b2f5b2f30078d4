"""``tui-eval doctor``: is everything here that tui_eval needs, and is the history well?"""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tui_eval.cli.options import history_option, json_option
from tui_eval.cli.terminal import is_terminal, one_line, out, out_json, painted, speaks_utf8, uses_colour

if TYPE_CHECKING:
    from tui_eval.store.reader import History

PACKAGES = ("textual", "httpx", "pydantic", "pyyaml", "click", "jinja2", "jmespath", "jsonschema", "rapidfuzz")
EXTRAS = {"pyarrow": "reads Parquet datasets: pip install 'tui-eval[parquet]'"}
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
LITTLE_SPACE = 200 * 1024 * 1024
FEW_FILES = 1024
MARKS = {"good": ("✓", "ok"), "note": ("·", ".."), "bad": ("✗", "!!")}
COLOURS = {"good": "32", "note": "2", "bad": "31"}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at. ``state``: ``good``, ``note`` (worth knowing), ``bad`` (has to be put right)."""

    area: str
    state: str
    text: str


@click.command()
@history_option
@json_option
def doctor(history: Path | None, as_json: bool) -> int:
    """Check this installation, the terminal and the history.

    Exit status 0 when nothing is wrong, 1 when something has to be put right, 3 when it is the history.
    """
    from tui_eval.cli.waiting import Waiting

    with Waiting("looking through the history"):
        findings = [
            *_python(),
            *_sqlite(),
            *_packages(),
            *_terminal(),
            *_surroundings(),
            *_history(history),
            *_strays(),
            *_agentcompass(),
            *_agents(history),
        ]
    bad = [finding for finding in findings if finding.state == "bad"]
    if as_json:
        out_json({"well": not bad, "findings": [asdict(finding) for finding in findings]})
    else:
        for finding in findings:
            rich, plain = MARKS[finding.state]
            mark = painted(rich if speaks_utf8() else plain, COLOURS[finding.state])
            out(f"{mark} {finding.area:<9} {one_line(finding.text)}")
    if any(finding.area == "history" for finding in bad):
        return 3
    return 1 if bad else 0


def _python() -> Iterator[Finding]:
    from tui_eval import __version__

    yield Finding("program", "good", f"tui-eval {__version__} in {Path(__file__).parent.parent}")
    yield Finding("python", "good", f"{platform.python_version()} ({sys.executable}) on {platform.platform()}")


def _sqlite() -> Iterator[Finding]:
    import sqlite3

    wanting = ""
    if sqlite3.sqlite_version_info < (3, 37):
        wanting = ": 3.37 or newer is needed (strict tables)"
    else:
        with closing(sqlite3.connect(":memory:")) as connection:
            try:
                connection.execute("SELECT json_array(1)")
            except sqlite3.OperationalError:
                wanting = ": it was built without its JSON functions, which are needed (3.38 or newer always has them)"
    yield Finding("sqlite", "bad" if wanting else "good", f"{sqlite3.sqlite_version}{wanting}")


def _packages() -> Iterator[Finding]:
    found, missing = [], []
    for name in PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    yield Finding("packages", "good", ", ".join(found))
    if missing:
        yield Finding("packages", "bad", f"missing: {', '.join(missing)}; install tui-eval again")
    for name, use in EXTRAS.items():
        try:
            yield Finding("extras", "good", f"{name} {version(name)}")
        except PackageNotFoundError:
            yield Finding("extras", "note", f"{name} is not installed; it {use}")


def _terminal() -> Iterator[Finding]:
    encoding = getattr(sys.stdout, "encoding", None) or "none"
    if not is_terminal(sys.stdout):
        yield Finding("terminal", "note", f"standard output is not a terminal; encoding {encoding}")
        return
    size = shutil.get_terminal_size()
    colour = "colours" if uses_colour() else "no colours"
    text = f"TERM={os.environ.get('TERM', '')}, {size.columns}x{size.lines}, {colour}, encoding {encoding}"
    yield Finding("terminal", "good", text)
    if not speaks_utf8():
        yield Finding("terminal", "note", "the encoding is not UTF-8; try LANG=C.UTF-8")


def _surroundings() -> Iterator[Finding]:
    import resource

    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    few = 0 <= files < FEW_FILES
    advice = "; every call in flight needs one or more: `ulimit -n 4096`" if few else ""
    yield Finding("limits", "note" if few else "good", f"{files} open files{advice}")
    proxies = sorted({name for name in PROXIES for form in (name, name.lower()) if os.environ.get(form)})
    if proxies:
        yield Finding("network", "note", f"proxy settings in the environment: {', '.join(proxies)}")


def _history(option: Path | None) -> Iterator[Finding]:
    from tui_eval.cli.history import place_of
    from tui_eval.errors import HistoryError

    try:
        place = place_of(option)
    except HistoryError as error:
        yield Finding("history", "bad", str(error))
        return
    if not os.path.lexists(place):
        yield Finding("history", "note", f"{place} (not there yet; the first run makes it)")
    else:
        try:
            yield from _existing_history(place)
        except HistoryError as error:
            yield Finding("history", "bad", str(error))
    folder = next((parent for parent in place.parents if parent.is_dir()), Path("/"))
    free = shutil.disk_usage(folder).free
    little = free < LITTLE_SPACE
    yield Finding("disk", "bad" if little else "good", f"{free // 2**20} MiB free in {folder}")


def _strays() -> Iterator[Finding]:
    """Programs that runs have started and that outlived them: normally there are none, not even after `kill -9`."""
    from tui_eval.processes.strays import strays

    for stray in strays():
        text = f"process {stray.pid} ({stray.program}) was started by a runner that is gone ({stray.runner})"
        yield Finding("processes", "bad", f"{text}; end it: kill {stray.pid}")


def _agents(option: Path | None) -> Iterator[Finding]:
    """Agents that killed runs have left on agent-runtimes servers; the next run with such a server deletes them."""
    from tui_eval.cli.history import place_of
    from tui_eval.errors import HistoryError

    try:
        place = place_of(option)
    except HistoryError:
        return
    if not (place.parent / "agents").is_dir():
        return
    from tui_eval.platforms.datalayer.leases import stale

    for lease in stale(place):
        text = f"the agent {lease.agent} of run {lease.run_id} was left at {lease.base_url}"
        yield Finding("agents", "note", f"{text}; the next run of an evalset deletes it")


def _agentcompass() -> Iterator[Finding]:
    """The interpreter that AgentCompass lives in. Not having it is worth a note, unless one is set."""
    from tui_eval.errors import UsageError
    from tui_eval.platforms.agentcompass.catalog import KNOWN_VERSION
    from tui_eval.platforms.agentcompass.interpreter import INSTALL, configured, find_interpreter

    named = True
    try:
        named = bool(configured(os.environ)[0])
        found = find_interpreter(os.environ)
    except UsageError as error:
        if named:
            yield Finding("compass", "bad", str(error))
        else:
            yield Finding(
                "compass", "note", f"AgentCompass was not found, which only its orchestrations need: {INSTALL}"
            )
        return
    text = f"AgentCompass {found.agentcompass} in {found.path} (Python {found.python}, from {found.named_by})"
    if found.agentcompass == KNOWN_VERSION:
        yield Finding("compass", "good", text)
    else:
        yield Finding("compass", "note", f"{text}; tested with {KNOWN_VERSION}")


def _existing_history(place: Path) -> Iterator[Finding]:
    from tui_eval.store.file_system import network_disk
    from tui_eval.store.opening import check_integrity
    from tui_eval.store.reader import History

    if kind := network_disk(place):
        yield Finding("history", "note", f"it lies on a network disk ({kind}): only one machine may ever use it")
    with History(place) as history:
        damages = check_integrity(place)
        size = sum(
            file.stat().st_size for name in ("", "-wal") if (file := place.with_name(place.name + name)).exists()
        )
        yield Finding("history", "good", f"{place}, {size / 2**20:.1f} MiB")
        for damage in damages:
            yield Finding("history", "bad", damage)
        if not damages:
            yield Finding("history", "good", "integrity: pages, references and counts agree")
        mode = place.stat().st_mode & 0o777
        if mode & 0o077:
            yield Finding("history", "note", f"others may read it (mode {mode:04o}): chmod 600 {place}")
        yield from _runs(history)


def _runs(history: History) -> Iterator[Finding]:
    """Runs that are live or have lost their runner, and results of runs that are beside the history."""
    from tui_eval.store import fallback
    from tui_eval.store.records import RunState

    for overview in history.runs(limit=1000):
        run = overview.run
        if run.state.live and overview.state is RunState.INTERRUPTED:
            yield Finding("runs", "note", f"{run.run_id} lost its runner: tui-eval resume {run.run_id}")
        elif run.state.live:
            yield Finding("runs", "note", f"{run.run_id} is {run.state.value} (process {run.pid} on {run.host})")
        if not overview.state.live:
            for place in fallback.find(history.path, run.run_id):
                text = f"{run.run_id} has results that are not in the history yet, in {place}"
                yield Finding("runs", "note", f"{text}: tui-eval resume {run.run_id}")
