"""Process groups: signal them, find what slipped out of them, and, run as a program, end them when our process dies.

A child of ours leads its own session, so its process id is also the id of its group and of its session. What it
starts is normally in that group. A process leaves the group by making one of its own (a shell with job control,
``setsid``); :func:`strays` finds those by session and by parentage, :func:`holders` by the pipe they keep open.

Run as a program this file is the watchdog (see ``watchdog``): it reads ``+<group> <grace seconds>`` and ``-<group>``
lines from stdin and ends the groups that are left at end of file. It is started without ``site``, so this module uses
only the quickest parts of the standard library and nothing of this package.
"""

from __future__ import annotations

import os
import signal
import time


class Entry:
    """One line of the process table. ``started`` is in clock ticks since boot: with ``pid`` it names a process."""

    __slots__ = ("group", "parent", "pid", "session", "started", "state")

    def __init__(self, pid: int, fields: list[bytes]) -> None:
        self.pid = pid
        self.state = fields[0].decode()
        self.parent = int(fields[1])
        self.group = int(fields[2])
        self.session = int(fields[3])
        self.started = int(fields[19])

    @property
    def living(self) -> bool:
        """False for one that has ended and only waits to be reaped."""
        return self.state not in "ZX"


def entry(pid: int) -> Entry | None:
    """The table's line for ``pid`` (proc(5), stat), None when there is none or this system has no ``/proc``."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            data = file.read()
    except OSError:
        return None
    # The second field is the program's name in parentheses and may hold anything, parentheses and spaces included.
    return Entry(pid, data[data.rindex(b")") + 2 :].split())


def table() -> list[Entry]:
    """Every process that can be seen; empty on a system without ``/proc``."""
    try:
        names = os.listdir("/proc")
    except OSError:
        return []
    found = (entry(int(name)) for name in names if name.isdigit())
    return [line for line in found if line is not None]


def strays(leader: int, lines: list[Entry]) -> list[Entry]:
    """Living processes of ``leader``'s session, or descended from it, that are not in its group."""
    ours = {line.pid for line in lines if line.pid == leader or line.session == leader or line.group == leader}
    grown = True
    while grown:
        younger = {line.pid for line in lines if line.parent in ours} - ours
        ours |= younger
        grown = bool(younger)
    return [line for line in lines if line.pid in ours and line.group != leader and line.living]


def marked(variable: bytes, since: int, lines: list[Entry]) -> list[Entry]:
    """Living processes not older than ``since`` that have ``variable`` (``NAME=value``) in the environment that they were
    started with. That of another user's process cannot be read, nor can that of one which took it out be known."""
    found = []
    for line in lines:
        if line.started >= since and line.living and line.pid != os.getpid():
            try:
                with open(f"/proc/{line.pid}/environ", "rb") as file:
                    variables = file.read().split(b"\0")
            except OSError:
                continue
            if variable in variables:
                found.append(line)
    return found


def any_left(group: int, found: list[Entry]) -> bool:
    """Whether a living process is in the group or among ``found``. What only waits to be reaped does not count: the
    first process of a container may be slow at that, or never do it."""
    if signal_group(group, 0):
        lines = table()
        if not lines or any(line.group == group and line.living for line in lines):
            return True
    return any(signal_one(line, 0) for line in found)


def holders(pipes: set[str], since: int) -> list[Entry]:
    """Processes that keep one of ``pipes`` (as in ``pipe:[4711]``) open and are not older than ``since``.

    An older one was given the pipe by our child (a terminal multiplexer's server, say): it is not ours to end.
    """
    own = os.getpid()
    found = []
    for line in table():
        if line.pid != own and line.started >= since and line.living and _holds(line.pid, pipes):
            found.append(line)
    return found


def _holds(pid: int, pipes: set[str]) -> bool:
    folder = f"/proc/{pid}/fd"
    try:
        names = os.listdir(folder)
    except OSError:  # gone, or another user's
        return False
    for name in names:
        try:
            if os.readlink(f"{folder}/{name}") in pipes:
                return True
        except OSError:  # closed in the meantime
            continue
    return False


def signal_group(group: int, number: int) -> bool:
    """Send a signal (0: only look) to a group. False when nothing is left in it."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    except PermissionError:  # there, but not ours to signal (a set-user-id program; on macOS also a zombie)
        return True
    return True


def signal_one(target: Entry, number: int) -> bool:
    """Send a signal (0: only look) to exactly that process. False when it has ended, even if its id is in use again."""
    now = entry(target.pid)
    if now is None or now.started != target.started or not now.living:
        return False
    try:
        os.kill(target.pid, number)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def end_groups(graces: dict[int, float]) -> None:
    """TERM to each group and its strays, the group's own grace (seconds), then KILL. Blocks until done."""
    begun = time.monotonic()
    lines = table()
    lost = {group: strays(group, lines) for group in graces}
    _signal_all(lost, signal.SIGTERM)
    _signal_all(lost, signal.SIGCONT)  # a stopped process acts on TERM only when it goes on
    while lost:
        now = time.monotonic()
        late = {group: found for group, found in lost.items() if now - begun >= graces[group]}
        _signal_all(late, signal.SIGKILL)
        lost = {group: found for group, found in lost.items() if group not in late and any_left(group, found)}
        if lost:
            time.sleep(0.02)


def _signal_all(groups: dict[int, list[Entry]], number: int) -> None:
    for group, found in groups.items():
        signal_group(group, number)
        for line in found:
            signal_one(line, number)


def watch(source: int) -> None:
    """Keep the list of groups that the lines on file descriptor ``source`` give; end what is left at its end."""
    graces: dict[int, float] = {}
    rest = b""
    while chunk := os.read(source, 65536):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if line.startswith(b"+"):
                group, grace = line[1:].split()
                graces[int(group)] = float(grace)
            else:
                graces.pop(int(line[1:]), None)
    end_groups(graces)


def _main() -> None:
    # A terminal's Ctrl-C or hang-up, or a TERM to a whole service, is for the runner to act on. This process must
    # outlive it by a moment, and ends by itself at end of file.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    os.setsid()
    os.chdir("/")
    watch(0)


if __name__ == "__main__":
    _main()
