"""``python`` and ``command``: a judgement by the user's own function or program, in a process that can be killed."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from tui_eval.domain import JsonValue, Score
from tui_eval.errors import EvaluatorError, StartError, WorkerError, WorkerTimeout
from tui_eval.evaluators.base import EvaluatorSetup, Subject
from tui_eval.evaluators.differences import shown
from tui_eval.evaluators.expected import score_name
from tui_eval.processes.child import ChildResult, last_lines, run_child
from tui_eval.spec.evaluator_options import CommandEvaluatorOptions, PythonEvaluatorOptions

MAX_VERDICT_BYTES = 4 * 1024 * 1024
GRACE_SECONDS = 2.0
DRAIN_SECONDS = 0.5
_PLAIN_TERMINAL = {"NO_COLOR": "1", "TERM": "dumb"}
_KNOWN = frozenset({"score", "passed", "reason"})


class PythonFunction:
    """``f(**variables, **arguments)``; what it returns is read as :func:`score_from` says."""

    def __init__(self, options: PythonEvaluatorOptions, setup: EvaluatorSetup) -> None:
        self._options = options
        self._setup = setup
        self._name = score_name(options)

    async def evaluate(self, subject: Subject) -> Score:
        options = self._options
        if self._setup.workers is None:
            raise EvaluatorError("a python evaluator needs a worker process, and there is none")
        timeout = self._setup.timeout_seconds
        try:
            value = await self._setup.workers.call(
                options.function,
                dict(subject.variables),
                timeout=timeout,
                path=options.path,
                style="keywords",
                arguments=options.arguments,
            )
        except WorkerTimeout:
            raise EvaluatorError(f"evaluator timed out ({timeout:g} s): {options.function} was killed") from None
        except WorkerError as error:
            raise EvaluatorError(f"no verdict: {error}") from error
        return score_from(value, self._name, options.threshold, options.function)


class Program:
    """Gets the variables as one JSON object on stdin. Its verdict is JSON on stdout (read as :func:`score_from` says,
    exit code 0 required), or with ``verdict: exit_code`` 0 for passed and 1 for failed, its stdout being the reason."""

    def __init__(self, options: CommandEvaluatorOptions, setup: EvaluatorSetup) -> None:
        self._options = options
        self._setup = setup
        self._name = score_name(options)

    async def evaluate(self, subject: Subject) -> Score:
        result = await self._run(subject)
        self._refuse_failures(result)
        if self._options.verdict == "exit_code":
            passed = result.exit_code == 0
            return Score(
                self._name, float(passed), passed, last_lines(result.stdout.decode("utf-8", "backslashreplace"))
            )
        return score_from(_parsed(result.stdout), self._name, self._options.threshold, self._options.argv[0])

    async def _run(self, subject: Subject) -> ChildResult:
        options, setup = self._options, self._setup
        added = {name: setup.resolve(value) for name, value in options.env.items()}
        folder = setup.folder if options.cwd is None else setup.folder / Path(options.cwd).expanduser()
        try:
            return await run_child(
                [setup.resolve(word) for word in options.argv],
                stdin=(json.dumps(dict(subject.variables)) + "\n").encode(),
                env={**setup.environment, **_PLAIN_TERMINAL, **added},
                cwd=folder,
                total=setup.timeout_seconds,
                idle=None,
                grace=GRACE_SECONDS,
                drain=DRAIN_SECONDS,
                max_output=MAX_VERDICT_BYTES,
            )
        except StartError as error:
            raise EvaluatorError(f"the evaluator could not start: {error}") from error

    def _refuse_failures(self, result: ChildResult) -> None:
        said = last_lines(result.stderr.decode("utf-8", "backslashreplace"))
        tail = f": {said}" if said else ""
        if result.stopped == "flood":
            raise EvaluatorError(f"the evaluator printed more than {MAX_VERDICT_BYTES} bytes; stopped")
        if result.stopped is not None:
            raise EvaluatorError(f"evaluator timed out ({self._setup.timeout_seconds:g} s){tail}")
        if result.signal_name is not None:
            raise EvaluatorError(f"the evaluator was killed by {result.signal_name}{tail}")
        fine = (0, 1) if self._options.verdict == "exit_code" else (0,)
        if result.exit_code not in fine:
            meaning = "0 is passed, 1 is failed" if len(fine) > 1 else "0 is expected, the verdict is read from stdout"
            raise EvaluatorError(f"the evaluator ended with exit {result.exit_code} ({meaning}){tail}")


def score_from(value: JsonValue, name: str, threshold: float | None, source: str) -> Score:
    """The score that a function or program gave.

    true or false: passed or not. A number: the value; it passes from ``threshold`` on, and is informative without one.
    An object: ``score`` (a number), ``passed`` (true or false), ``reason`` (a text), at least one of the first two; a
    ``passed`` that is there decides, whatever the threshold; other keys are kept as detail. Anything else, null and
    numbers that are not finite included, raises :class:`EvaluatorError`: a verdict is never guessed.
    """
    if isinstance(value, bool):
        return Score(name, float(value), value)
    if isinstance(value, int | float):
        return _numeric(value, name, threshold, source, "", {})
    if not isinstance(value, dict):
        expected = "true or false, a number, or {score, passed, reason}"
        raise EvaluatorError(f"{source} gave {shown(value)} as its verdict, expected {expected}")
    score, passed, reason = value.get("score"), value.get("passed"), value.get("reason")
    if score is None and passed is None:
        raise EvaluatorError(f"the verdict of {source} has neither `score` nor `passed`: {shown(value)}")
    if passed is not None and not isinstance(passed, bool):
        raise EvaluatorError(f"`passed` in the verdict of {source} is {shown(passed)}, expected true or false")
    if score is not None and (isinstance(score, bool) or not isinstance(score, int | float)):
        raise EvaluatorError(f"`score` in the verdict of {source} is {shown(score)}, expected a number")
    words = "" if reason is None else reason if isinstance(reason, str) else json.dumps(reason, ensure_ascii=False)
    detail = {key: item for key, item in value.items() if key not in _KNOWN}
    if score is None:
        return Score(name, float(bool(passed)), passed, words, detail=detail)
    numeric = _numeric(score, name, threshold, source, words, detail)
    return numeric if passed is None else Score(name, numeric.value, passed, words, detail=detail)


def _numeric(
    value: float, name: str, threshold: float | None, source: str, reason: str, detail: dict[str, Any]
) -> Score:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise EvaluatorError(f"{source} gave a score that is not a finite number")
    passed = None if threshold is None else number >= threshold
    return Score(name, number, passed, reason, detail=detail)


def _parsed(stdout: bytes) -> JsonValue:
    try:
        return json.loads(stdout.decode(), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        said = stdout[:200].decode("utf-8", "backslashreplace")
        where = error.msg if isinstance(error, json.JSONDecodeError) else error
        raise EvaluatorError(f"the evaluator's stdout is not one JSON verdict ({where}): {shown(said)}") from None


def _no_constant(name: str) -> JsonValue:
    raise ValueError(f"{name} is not a JSON number")
