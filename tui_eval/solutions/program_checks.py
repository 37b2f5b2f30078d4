"""What can be told about a command before anything is started: nothing here executes."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from tui_eval.errors import StartError
from tui_eval.processes.start import encode_argument, folder_fault
from tui_eval.spec.solution_options import CommandOptions

_FILLED_IN = re.compile(r"\{\{|\{%|\{#|\$\{")
_REFERENCE = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}")


def check_command(options: CommandOptions, folder: Path, environment: Mapping[str, str]) -> list[str]:
    """What is wrong with the program, its folder or its fixed arguments. Parts with ``{{ … }}`` or ``${…}`` are left
    to the call, as is everything that depends on them."""
    return check_program(options.argv, options.cwd, options.env, folder, environment)


def check_program(
    argv: Sequence[str] | None,
    cwd: str | None,
    env: Mapping[str, str],
    folder: Path,
    environment: Mapping[str, str],
) -> list[str]:
    """As :func:`check_command`, for any kind that starts a program (``argv`` None: a shell text)."""
    faults = []
    for index, word in enumerate(argv or ()):
        if not _FILLED_IN.search(word):
            faults += _argument_fault(word, index)
    if cwd is not None and _FILLED_IN.search(cwd):
        return faults
    place = folder if cwd is None else folder / Path(cwd).expanduser()
    fault = folder_fault(place)
    if fault:
        return [*faults, fault]
    path = env.get("PATH", environment.get("PATH", os.defpath))
    if argv and not _FILLED_IN.search(argv[0]) and not _FILLED_IN.search(path):
        faults += _missing_program(argv[0], place, path)
    return faults


def secret_in_argv_warning(options: CommandOptions) -> str | None:
    """A warning when ``argv`` holds ``${NAME}``: on most systems every user can read the arguments of a running program."""
    names = sorted({name for word in options.argv or () for name in _REFERENCE.findall(word)})
    if not names:
        return None
    return (
        f"argv holds {', '.join(names)}: every user of the machine can see a program's arguments while it runs "
        "(ps); hand secrets over in `env` or on stdin"
    )


def _argument_fault(word: str, index: int) -> list[str]:
    try:
        encode_argument(word, f"argv[{index}]")
    except StartError as error:
        return [str(error)]
    return []


def _missing_program(program: str, place: Path, path: str) -> list[str]:
    if not program:
        return ["the command names no program (argv[0] is empty)"]
    if "/" not in program:
        if shutil.which(program, path=path) is not None:
            return []
        if " " in program:
            return [
                f"{program}: no such program on PATH (argv is a list: program and arguments are items of their own)"
            ]
        beside = f"; there is one in {place}, write ./{program}" if (place / program).is_file() else ""
        if program == "python" and shutil.which("python3", path=path) is not None:
            beside = "; there is python3"
        return [f"{program}: no such program on PATH{beside}"]
    named = os.path.join(place, program)
    if not os.path.exists(named):
        return [f"{named}: no such file"]
    if os.path.isdir(named):
        return [f"{named}: is a folder, not a program"]
    if not os.access(named, os.X_OK):
        return [f"{named}: is not executable (chmod +x, or name the interpreter first: [python, {program}])"]
    return []
