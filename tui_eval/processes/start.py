"""Starting a child process, and saying in plain words why one could not be started."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from tui_eval.errors import StartError
from tui_eval.processes.strays import CHILD, MARK, child_mark, mark
from tui_eval.processes.watchdog import WATCHDOG

LONGEST_ARGUMENT = 131071
"""Bytes in one argument or ``NAME=value``: Linux takes 32 pages with the closing NUL (execve(2), MAX_ARG_STRLEN)."""

ON_STDIN = "pass it on stdin (`stdin: json` or `stdin: text`)"
_PASSING = {errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.ETXTBSY}


class Started(subprocess.Popen[bytes]):
    """A process that was started. ``mark`` is what it and all that it starts have in their environment (see
    ``strays.CHILD``)."""

    mark = ""


def start(
    argv: Sequence[str] | None, shell: str | None, env: Mapping[str, str], cwd: Path, *, with_stdin: bool
) -> Started:
    """Start ``argv`` (or ``shell`` with /bin/sh) as the leader of its own session, all three streams being pipes.

    Without ``with_stdin`` its stdin is empty; ours is never inherited. A program name without a slash is searched on
    ``env``'s PATH; a relative one with a slash starts at ``cwd``. It is marked as ours (see ``strays``). Raises :class:`~tui_eval.errors.StartError`.
    """
    if (argv is None) == (shell is None):
        raise ValueError("give either argv or shell")
    words = [encode_argument(word, f"argv[{index}]") for index, word in enumerate(argv or ())]
    if shell is not None:
        words = [b"/bin/sh", b"-c", encode_argument(shell, "the shell text")]
    if not words or not words[0]:
        raise StartError("start", "the command names no program (argv[0] is empty)")
    child = child_mark()
    environment = encode_environment({**env, MARK: mark(), CHILD: child})
    _keep_exit_codes()
    try:
        WATCHDOG.start()
        started = Started(
            words,
            bufsize=0,
            stdin=subprocess.PIPE if with_stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env=environment,
            start_new_session=True,
        )
    except OSError as error:
        raise _explained(error, os.fsdecode(words[0]), cwd) from error
    started.mark = child
    return started


def encode_argument(text: str, place: str) -> bytes:
    """The bytes of one command-line argument (UTF-8 whatever the locale). Raises StartError of kind ``argument``."""
    if "\0" in text:
        raise StartError("argument", f"a command argument cannot contain NUL ({place}); {ON_STDIN}")
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise StartError("argument", f"{place} is not valid Unicode ({_surrogate(error)}); {ON_STDIN}") from None
    _check_length(data, place)
    return data


def encode_environment(env: Mapping[str, str]) -> dict[bytes, bytes]:
    """The bytes of an environment. Raises StartError of kind ``argument`` that names the variable, never its value."""
    encoded = {}
    for name, value in env.items():
        if not name or "=" in name or "\0" in name:
            raise StartError("argument", f"{name!r} cannot be the name of an environment variable")
        if "\0" in value:
            raise StartError("argument", f"an environment variable cannot contain NUL ({name}); {ON_STDIN}")
        try:
            key, data = os.fsencode(name), os.fsencode(value)
        except UnicodeEncodeError as error:
            reason = f"environment variable {name} cannot be encoded ({_surrogate(error)})"
            raise StartError("argument", f"{reason}; {ON_STDIN}") from None
        _check_length(key + b"=" + data, f"environment variable {name}")
        encoded[key] = data
    return encoded


def _check_length(data: bytes, place: str) -> None:
    if len(data) > LONGEST_ARGUMENT and sys.platform == "linux":
        raise StartError(
            "argument",
            f"a command argument cannot be longer than {LONGEST_ARGUMENT} bytes ({place} has {len(data)}); {ON_STDIN}",
        )


def _surrogate(error: UnicodeEncodeError) -> str:
    return f"U+{ord(error.object[error.start]):04X} at character {error.start + 1}"


def _keep_exit_codes() -> None:
    """Undo an inherited "ignore SIGCHLD": with it the system throws exit codes away and every child seems to succeed."""
    if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:
        if threading.current_thread() is not threading.main_thread():
            raise StartError(
                "start", "SIGCHLD is ignored in this process, so exit codes are lost; start it without that"
            )
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def _explained(error: OSError, program: str, cwd: Path) -> StartError:
    if error.errno == errno.E2BIG:
        return StartError(
            "argument", f"the arguments and environment together are longer than the system takes; {ON_STDIN}"
        )
    reason = folder_fault(cwd) or program_fault(program, cwd, error)
    return StartError("start", reason, passing=error.errno in _PASSING)


def folder_fault(cwd: Path) -> str:
    """Why ``cwd`` cannot be the working folder, empty when it can."""
    if not cwd.exists():
        return f"the working folder does not exist: {cwd}"
    if not cwd.is_dir():
        return f"the working folder is not a folder: {cwd}"
    if not os.access(cwd, os.X_OK):
        return f"the working folder cannot be entered (permissions): {cwd}"
    return ""


def program_fault(program: str, cwd: Path, error: OSError) -> str:
    """Why the system would not start ``program``, with its full path when it was named by path."""
    named = os.path.join(cwd, program) if "/" in program else program
    system = (error.strerror or str(error)).lower()
    if error.errno == errno.ENOENT:
        if "/" in program and os.path.exists(named):
            return f"{named}: its interpreter is missing ({_first_line(named)})"
        where = "no such file" if "/" in program else "no such program on PATH"
        return f"{named}: {where}"
    if error.errno == errno.EACCES:
        if os.path.isdir(named):
            return f"{named}: is a folder, not a program"
        return f"{named}: is not executable (chmod +x, or name the interpreter first: [python, {program}])"
    if error.errno == errno.ENOEXEC:
        return f"{named}: the system cannot run it (a script needs a first line such as #!/bin/sh)"
    return f"{named}: {system}"


def _first_line(path: str) -> str:
    try:
        with open(path, "rb") as file:
            line = file.readline(200)
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return line.decode("utf-8", "backslashreplace").rstrip("\r\n") if line.startswith(b"#!") else "for this machine"
