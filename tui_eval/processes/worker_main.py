"""The program of a worker process: reads calls as JSON lines, runs the functions, writes results as JSON lines.

It is started by path, with only the standard library's quick parts loaded. The pipes it was started with become its
private ones; what the functions print (they, their libraries and the programs they start) goes to stderr, and their
stdin is empty, so nothing of theirs can get between the lines.

A call: ``{"function", "path", "style", "argument", "arguments", "environment"}``. Replies: ``{"ready": true}`` once,
``{"imported": true}`` when a function of this package was just imported, then for each call ``{"value": …}`` or
``{"stage", "error", "traceback"}``.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Callable
from typing import Any

OWN_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LONGEST_MESSAGE = 2_000
LONGEST_TRACEBACK = 20_000
SOLUTION_FIELDS = frozenset({"success", "output", "trajectory", "meta"})


class NotJson(Exception):
    """A function returned something that JSON cannot carry."""


class NotFound(Exception):
    """The module has no such function."""


class Task:
    """A case in AgentLoop's form (contract, section 1.5): what ``f(task, pre_hook)`` gets."""

    def __init__(self, case: dict[str, Any]) -> None:
        self.id = case["id"]
        self.input = case
        self.ground_truth = case.get("ground_truth")
        self.metrics: list[Any] = []
        self.tags: dict[str, Any] = {}
        self.metadata: dict[str, Any] = {}

    def __repr__(self) -> str:
        return f"Task(id={self.id!r})"


def pre_hook(*arguments: Any, **keywords: Any) -> None:
    """AgentLoop's hook for an agent's messages; accepted, and without effect here."""


class Worker:
    """The functions imported so far, and one event loop for the async ones (their clients live on between calls)."""

    def __init__(self, send: Callable[[dict[str, Any]], None]) -> None:
        self._send = send
        self._functions: dict[str, Callable[..., Any]] = {}
        self._runner: Any = None

    def answer(self, call: dict[str, Any]) -> dict[str, Any]:
        stage = "import"
        before = {name: os.environ.get(name) for name in call["environment"]}
        try:
            os.environ.update(call["environment"])
            function = self._function(call["function"], call["path"])
            stage = "call"
            value = self._run(function, call)
            stage = "result"
            checked(value)
            return {"value": value}
        except BaseException as error:  # SystemExit and KeyboardInterrupt too: the worker goes on
            return {"stage": stage, **described(error)}
        finally:
            for name, old in before.items():
                if old is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = old

    def _function(self, reference: str, path: str) -> Callable[..., Any]:
        if reference not in self._functions:
            if sys.path[0] != path:
                sys.path.insert(0, path)
            own = reference.startswith("tui_eval.")
            if own and OWN_ROOT not in sys.path:
                sys.path.append(OWN_ROOT)
            self._functions[reference] = imported(reference)
            if own:
                self._send({"imported": True})
        return self._functions[reference]

    def _run(self, function: Callable[..., Any], call: dict[str, Any]) -> Any:
        style, argument, keywords = call["style"], call["argument"], call["arguments"]
        if style == "keywords":
            return self._finished(function(**argument, **keywords))
        if style == "solution":
            if takes_hook(function, keywords):
                value = function(Task(argument), pre_hook, **keywords)
            else:
                value = function(argument, **keywords)
            return as_solution(self._finished(value))
        return self._finished(function(argument, **keywords))

    def _finished(self, value: Any) -> Any:
        """``value``, or what it gives when it is awaited."""
        if not hasattr(value, "__await__"):
            return value
        import asyncio

        if self._runner is None:
            self._runner = asyncio.Runner()

        async def wait() -> Any:
            return await value

        return self._runner.run(wait())


def imported(reference: str) -> Callable[..., Any]:
    """The function behind ``module:function`` (``module:Class.method`` too)."""
    module_name, _, names = reference.partition(":")
    found: Any = importlib.import_module(module_name)
    for name in names.split("."):
        try:
            found = getattr(found, name)
        except AttributeError:
            place = getattr(found, "__file__", None) or module_name
            raise NotFound(f"there is no `{names}` in {place}") from None
    if not callable(found):
        raise NotFound(f"`{names}` in {module_name} is not a function but {type(found).__name__}")
    return found  # type: ignore[no-any-return]


def takes_hook(function: Callable[..., Any], keywords: dict[str, Any]) -> bool:
    """Whether ``function`` has AgentLoop's form ``f(task, pre_hook)``: a second parameter that is filled by position
    and must be given (or is named ``pre_hook``), and is not among the keyword arguments of the plan."""
    import inspect

    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # a built-in one
        return False
    by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    places = [each for each in parameters if each.kind in by_position and each.name not in keywords]
    return len(places) > 1 and (places[1].default is inspect.Parameter.empty or places[1].name == "pre_hook")


def as_solution(value: Any) -> dict[str, Any]:
    """``{"success", "output", "trajectory", "meta", "notes"}`` of what a solution function returned.

    An object with ``success`` and ``output``, or a mapping of just AgentLoop's four fields with a true-or-false
    ``success``, says whether it succeeded; anything else is the output itself.
    """
    if isinstance(value, dict):
        said = {"success", "output"} <= value.keys() <= SOLUTION_FIELDS and isinstance(value["success"], bool)
        fields = value if said else {"output": value}
    elif hasattr(value, "success") and hasattr(value, "output"):
        fields = {name: getattr(value, name, None) for name in SOLUTION_FIELDS}
    else:
        fields = {"output": value}
    result: dict[str, Any] = {"success": bool(fields.get("success", True)), "output": fields["output"], "notes": []}
    for name in ("trajectory", "meta"):
        try:
            checked(fields.get(name))
            result[name] = fields.get(name)
        except NotJson as error:
            result[name] = None
            result["notes"].append(f"`{name}` was left out: {error}")
    return result


def checked(value: Any) -> None:
    """Raise :class:`NotJson` unless ``value`` is what JSON can carry."""
    try:
        json.dumps(value, allow_nan=False)
    except RecursionError:
        raise NotJson("it is nested too deeply for JSON") from None
    except (TypeError, ValueError) as error:
        reason = str(error)
        if "Out of range float" in reason:
            reason = "JSON has no NaN or infinity"
        raise NotJson(f"it returned something that is not JSON: {reason}") from None


def described(error: BaseException) -> dict[str, str]:
    """Type, message and traceback (of the function's own frames, without local values) of what was raised."""
    import traceback

    try:
        message = str(error)
    except Exception:
        message = "(its message cannot be shown)"
    kind = type(error).__name__
    text = f"{kind}: {message}" if message else kind
    if isinstance(error, NotJson | NotFound):
        return {"error": message[:LONGEST_MESSAGE], "traceback": ""}
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not _machinery(frame.filename)]
    lines = ["Traceback (most recent call last):\n", *traceback.format_list(frames), text]
    return {"error": text[:LONGEST_MESSAGE], "traceback": "".join(lines)[-LONGEST_TRACEBACK:]}


def _machinery(filename: str) -> bool:
    return filename == __file__ or filename.startswith("<frozen importlib")


def take_pipes() -> tuple[int, int]:
    """Our private copies of stdin and stdout; in their place: nothing to read, and stderr."""
    source, target = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True, errors="backslashreplace")  # type: ignore[union-attr]
    return source, target


def main() -> None:
    source, target = take_pipes()
    replies = os.fdopen(target, "wb")

    def send(reply: dict[str, Any]) -> None:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        replies.write(json.dumps(reply, allow_nan=False).encode() + b"\n")
        replies.flush()

    worker = Worker(send)
    send({"ready": True})
    with os.fdopen(source, "rb") as calls:
        for line in calls:
            send(worker.answer(json.loads(line)))


if __name__ == "__main__":
    main()
