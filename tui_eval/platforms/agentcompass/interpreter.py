"""The interpreter that AgentCompass lives in: named by the user, or found.

In this order: ``TUI_EVAL_AGENTCOMPASS_PYTHON``, ``agentcompass: {python: PATH}`` in our ``config.yaml``, the interpreter
of an ``agentcompass`` program on ``PATH``, and any Python on ``PATH`` that has the package.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tui_eval.errors import UsageError

VARIABLE = "TUI_EVAL_AGENTCOMPASS_PYTHON"
OLDEST = (3, 12)
_NAMES = ("python3.14", "python3.13", "python3.12", "python3", "python")
_ASK = (
    "import sys\n"
    "print('.'.join(map(str, sys.version_info[:3])))\n"
    "import importlib.metadata as m\n"
    "try: print(m.version('agentcompass'))\n"
    "except m.PackageNotFoundError: print('')\n"
)
INSTALL = (
    "install it into an environment of its own (Python 3.12 or newer, about 1 GB): "
    "python3.12 -m venv ~/agentcompass && ~/agentcompass/bin/pip install agentcompass, "
    f"then set {VARIABLE}=~/agentcompass/bin/python, or `agentcompass: {{python: PATH}}` in tui_eval's config.yaml"
)


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python. ``agentcompass`` is the installed version, "" when it is not installed; ``named_by`` says where the
    path came from."""

    path: str
    python: str
    agentcompass: str
    named_by: str

    @property
    def usable(self) -> bool:
        return bool(self.agentcompass) and self.version >= OLDEST

    @property
    def version(self) -> tuple[int, ...]:
        return tuple(int(part) for part in self.python.split(".")[:2] if part.isdecimal())

    @property
    def problem(self) -> str:
        """Why it cannot be used, "" when it can."""
        if self.version < OLDEST:
            return f"{self.path} (from {self.named_by}) is Python {self.python}; AgentCompass needs 3.12 or newer"
        return "" if self.agentcompass else f"{self.path} (from {self.named_by}) has no package `agentcompass`"


def find_interpreter(environment: Mapping[str, str], named: str | None = None) -> Interpreter:
    """The interpreter to use. Raises UsageError that says what is missing and how to install it.

    ``named`` is a path that the user gave on the command line.
    """
    place, named_by = (named, "--python") if named else configured(environment)
    if place:
        found = ask(str(Path(place).expanduser()), named_by)
        if found.problem:
            raise UsageError(f"{found.problem}: {INSTALL}")
        return found
    for path, where in _candidates(environment):
        found = ask(path, where)
        if found.usable:
            return found
    raise UsageError(f"AgentCompass was not found: {INSTALL}")


def ask(path: str, named_by: str) -> Interpreter:
    """Start a Python and ask what it is. Raises UsageError when it cannot be started."""
    try:
        done = subprocess.run(
            [path, "-P" if not named_by.startswith("PATH") else "-I", "-c", _ASK],
            capture_output=True,
            text=True,
            timeout=60,
            stdin=subprocess.DEVNULL,
            cwd="/",
            env=clean_environment(os.environ),
        )
    except (OSError, subprocess.TimeoutExpired, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(
            f"the Python of AgentCompass, {path} (from {named_by}), cannot be started: {reason}"
        ) from error
    lines = done.stdout.splitlines()
    if done.returncode != 0 and not lines:
        return Interpreter(path, "0", "", named_by)  # too old to know the options, or no Python at all
    return Interpreter(path, lines[0], lines[1] if len(lines) > 1 else "", named_by)


def clean_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment for another Python: nothing that would make it import our packages."""
    package = str(Path(__file__).parents[3])
    kept = {name: value for name, value in environment.items() if name not in ("PYTHONHOME", "__PYVENV_LAUNCHER__")}
    parts = [part for part in kept.pop("PYTHONPATH", "").split(os.pathsep) if part and os.path.abspath(part) != package]
    return {**kept, **({"PYTHONPATH": os.pathsep.join(parts)} if parts else {})}


def configured(environment: Mapping[str, str]) -> tuple[str, str]:
    """The path that the user has set, and where; both "" when none is set. Raises UsageError."""
    if environment.get(VARIABLE):
        return environment[VARIABLE], VARIABLE
    import yaml
    from platformdirs import user_config_path

    path = user_config_path("tui_eval") / "config.yaml"
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        return "", ""
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise UsageError(f"{path} cannot be read, and so not where AgentCompass is: {error}") from error
    section = data.get("agentcompass") if isinstance(data, dict) else None
    python = section.get("python") if isinstance(section, dict) else None
    if python is not None and not isinstance(python, str):
        raise UsageError(f"{path}: agentcompass.python must be the path of a Python")
    return python or "", str(path)


def _candidates(environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    search = environment.get("PATH")
    program = shutil.which("agentcompass", path=search)
    if program is not None:
        try:
            with open(program, "rb") as file:
                line = file.readline(500).decode("utf-8", "replace").strip()
        except OSError:
            line = ""
        if line.startswith("#!") and Path(line[2:].split()[0]).exists():
            yield line[2:].split()[0], f"{program}"
    for name in _NAMES:
        path = shutil.which(name, path=search)
        if path is not None:
            yield path, f"PATH ({name})"
