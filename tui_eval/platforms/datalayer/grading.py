"""Grading as a Datalayer evalset asks for it, honestly (``strict``) or as the reference does (``compat``).

Source: Datalayer contract, section 4. The rules of one check:

* ``equals_expected`` (also ``equals``): the text of the output and of the expected value are the same, white space at
  both ends aside. The expected value has a text when it is a scalar, or an object with a scalar under ``text``.
* ``contains``: every needle is in the text of the output, upper and lower case being the same unless
  ``case_sensitive``. The needles are ``tokens``, ``substring`` or ``value``, else the text of the expected value.
* ``llm_judge``: a model (``model``, else that of the plan) scores the output from 0 to 1 by ``rubric``; it passes from
  ``threshold`` (0.7) on, and names the way in which an answer fails (``failure_modes``).

A case passes when all its checks do; its value is the mean of theirs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from tui_eval.domain import JsonValue, Score, as_text
from tui_eval.errors import EvaluatorError
from tui_eval.evaluators.base import EvaluatorSetup, Subject
from tui_eval.evaluators.differences import shown, text_difference, text_form
from tui_eval.evaluators.expected import score_name
from tui_eval.platforms.datalayer import reference
from tui_eval.spec.datalayer_options import DatalayerGrading, DatalayerVerdict
from tui_eval.spec.evalset import REPORT_EVALUATOR, normal_name

JUDGE_THRESHOLD = 0.7
_MODES = 'Where the output falls short, name the way in your object as "failure_mode": one of %s.'
COMPAT = "as Datalayer decides"
"""Beginning of every reason in compat grading: nobody must take such a verdict for a strict one."""


@dataclass(frozen=True, slots=True)
class Check:
    """What one evaluator of a case came to. ``passed`` is None when it decided nothing; ``reason`` says why either way.
    ``vacuous`` marks a pass of compat grading for which nothing was compared."""

    name: str
    passed: bool | None
    score: float | None
    reason: str
    failure_mode: str = ""
    vacuous: bool = False

    def data(self) -> dict[str, JsonValue]:
        found: dict[str, JsonValue] = {"name": self.name, "passed": self.passed, "score": self.score}
        found["reason"] = self.reason
        if self.failure_mode:
            found["failure_mode"] = self.failure_mode
        if self.vacuous:
            found["vacuous"] = True
        return found


class Grading:
    """The evaluator of kind ``datalayer``. See the module."""

    def __init__(self, options: DatalayerGrading, setup: EvaluatorSetup) -> None:
        self._options = options
        self._setup = setup
        self._name = score_name(options)
        self._compat = options.grading == "compat"

    async def evaluate(self, subject: Subject) -> Score:
        checks = [await self._check(ref, subject) for ref in _refs(subject.variables.get("evaluators"))]
        if self._options.output_schema is not None:
            checks.append(await self._fits_schema(self._options.output_schema, subject))
        return self._compat_score(checks) if self._compat else self._strict_score(checks)

    async def _check(self, ref: Mapping[str, Any], subject: Subject) -> Check:
        name = str(ref.get("name", ""))
        arguments = ref.get("arguments")
        arguments = arguments if isinstance(arguments, Mapping) else {}
        known = normal_name(name)
        if known in ("equals_expected", "equals"):
            return self._equals(name, subject)
        if known == "contains":
            return self._contains(name, arguments, subject)
        if known == "llm_judge":
            return await self._judged(name, arguments, subject)
        return self._undecided(name, f"`{name}` is no evaluator that can be carried out")

    def _equals(self, name: str, subject: Subject) -> Check:
        output, expected = subject.variables["output"], subject.variables.get("expected_output")
        if self._compat:
            found, wanted = reference.text_of(output).strip(), reference.text_of(expected).strip() or None
        else:
            found, wanted = text_form(output).strip(), _expected_text(expected)
        if wanted is None:
            return self._undecided(name, "nothing to compare: the expected value is no text, number or truth value")
        if found == wanted:
            return Check(name, True, 1.0, "equal")
        return Check(name, False, 0.0, text_difference(found, wanted), "wrong_answer")

    def _contains(self, name: str, arguments: Mapping[str, Any], subject: Subject) -> Check:
        expected = subject.variables.get("expected_output")
        output = text_form(subject.variables["output"])
        if self._compat:
            output = reference.text_of(subject.variables["output"])
            needles = reference.needles_of(arguments, expected)
            missing = [needle for needle in needles if not reference.is_in(needle, output, arguments)]
        else:
            needles = _needles(arguments, expected)
            fold = (lambda text: text) if arguments.get("case_sensitive") is True else str.casefold
            missing = [needle for needle in needles if fold(needle) not in fold(output)]
        if not needles or not all(needles):
            return self._undecided(name, "nothing to look for: no needle, or an empty one, and no expected text")
        if not missing:
            return Check(name, True, 1.0, "contains it" if len(needles) == 1 else f"contains all {len(needles)}")
        listed = ", ".join(shown(needle) for needle in missing[:3]) + (" …" if len(missing) > 3 else "")
        return Check(name, False, 0.0, f"{listed} is not in {shown(output)}", "wrong_answer")

    async def _judged(self, name: str, arguments: Mapping[str, Any], subject: Subject) -> Check:
        """The judge's verdict. The reference fails a case whose judge gives none; strictly that is no verdict."""
        threshold = arguments.get("threshold", JUDGE_THRESHOLD)
        usable = isinstance(threshold, int | float) and not isinstance(threshold, bool) and 0 <= threshold <= 1
        modes = _failure_modes(arguments)
        try:
            if not usable:
                raise EvaluatorError(f"threshold {shown(threshold)} is no number from 0 to 1")
            score = await self._ask(arguments, modes, subject)
        except EvaluatorError as error:
            if self._compat:
                return Check(name, False, 0.0, f"the judge gave no verdict: {error}", "other")
            return Check(name, None, None, str(error))
        value = score.value if score.value is not None else 0.0
        reason = score.reason or f"{value:g}"
        if value >= threshold:
            return Check(name, True, value, reason)
        words = score.detail.get("words")
        said = normal_name(str(words.get("failure_mode", ""))) if isinstance(words, Mapping) else ""
        return Check(name, False, value, reason, said if said in modes else "other" if said else "wrong_answer")

    async def _ask(self, arguments: Mapping[str, Any], modes: Sequence[str], subject: Subject) -> Score:
        from tui_eval.evaluators.judge import Judge

        model, setup = self._options.judge, self._setup
        if model is None or setup.ask is None:
            raise EvaluatorError("no judge is configured: give the evaluator `judge: {base_url, model}`")
        rubric = arguments.get("rubric", reference.RUBRIC)
        if self._compat and not rubric:
            rubric = reference.RUBRIC
        if not isinstance(rubric, str) or not rubric.strip():
            raise EvaluatorError("llm_judge has no rubric to judge by")
        named = arguments.get("model")
        if isinstance(named, str) and named.strip() and setup.ask_model is not None:
            setup = replace(setup, ask=setup.ask_model(named.strip()))
        variables = {name: subject.variables.get(name) for name in ("prompt", "output", "expected_output")}
        if variables["expected_output"] is None:
            del variables["expected_output"]
        judge = Judge(model.asking(f"{rubric}\n\n{_MODES % ', '.join(modes)}"), setup)
        return await judge.evaluate(Subject(subject.case_id, variables, subject.trace_id))

    async def _fits_schema(self, schema: dict[str, Any] | bool, subject: Subject) -> Check:
        """The output against the evalset's own schema. A text is taken as it is where the schema is for a text."""
        from tui_eval.evaluators.structure import Json
        from tui_eval.spec.evaluator_options import JsonOptions

        output = subject.variables["output"]
        if isinstance(schema, Mapping) and schema.get("type") == "string":
            passed = isinstance(output, str)
            return Check("output_schema", passed, float(passed), "a text" if passed else "not a text", "")
        options = JsonOptions.model_validate({"id": "json", "schema": schema, "code_fence": True})
        score = await Json(options, self._setup).evaluate(Subject(subject.case_id, {"output": output}))
        mode = "" if score.passed else "format"
        return Check("output_schema", score.passed, score.value, score.reason or score.error, mode)

    def _undecided(self, name: str, reason: str) -> Check:
        if self._compat:
            return Check(name, True, 1.0, f"{reason}; counts as passed", vacuous=True)
        return Check(name, None, None, reason)

    # -- the score of the case --

    def _strict_score(self, checks: Sequence[Check]) -> Score:
        detail = {"grading": "strict", "checks": [check.data() for check in checks]}
        if not checks:
            raise EvaluatorError(
                "nothing to grade by: the case has no evaluator, and the evalset no default one", detail
            )
        values = [check.score for check in checks if check.score is not None]
        value = fmean(values) if values else None
        failed = [check for check in checks if check.passed is False]
        if failed:
            return Score(self._name, value, False, _joined(failed), detail=detail)
        undecided = [check for check in checks if check.passed is None]
        if undecided:
            return Score(self._name, value, None, error=_joined(undecided), detail=detail)
        return Score(self._name, value, True, _joined(checks), detail=detail)

    def _compat_score(self, checks: Sequence[Check]) -> Score:
        """Skipped evaluators count for nothing in the mean; a case with none that could be carried out passes at 1."""
        detail = {"grading": "compat", "checks": [check.data() for check in checks]}
        counted = [check for check in checks if not (check.vacuous and "no evaluator" in check.reason)]
        value = fmean([check.score or 0.0 for check in counted]) if counted else 1.0
        passed = all(check.passed for check in checks)
        words = _joined(checks) if checks else "no evaluator; counts as passed"
        return Score(self._name, value, passed, f"{COMPAT}: {words}", detail=detail)


class PlatformVerdict:
    """The evaluator of kind ``datalayer_platform``: what the platform said, nothing added."""

    def __init__(self, options: DatalayerVerdict, setup: EvaluatorSetup) -> None:
        self._name = score_name(options)

    async def evaluate(self, subject: Subject) -> Score:
        output = subject.variables["output"]
        verdict = output.get("verdict") if isinstance(output, Mapping) else None
        if not isinstance(verdict, Mapping):
            raise EvaluatorError("the answer holds no verdict of the platform")
        passed, score = verdict.get("passed"), verdict.get("score")
        explanation = str(verdict.get("explanation") or "")
        if not isinstance(passed, bool):
            raise EvaluatorError(f"the platform gave no verdict{f': {explanation}' if explanation else ''}")
        value = float(score) if isinstance(score, int | float) and not isinstance(score, bool) else None
        check = Check("platform", passed, value, explanation, str(verdict.get("failure_mode") or ""))
        detail = {"grading": "platform", "checks": [check.data()]}
        return Score(self._name, value, passed, explanation, detail=detail)


def _joined(checks: Sequence[Check]) -> str:
    return "; ".join(f"{check.name}: {check.reason}" for check in checks)


def _refs(value: JsonValue) -> list[Mapping[str, Any]]:
    """The evaluators of a case; one that judges whole runs is none of them."""
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(ref, Mapping) for ref in value):
        raise EvaluatorError("the column `evaluators` is no list of {name, arguments}: is the dataset an evalset?")
    return [ref for ref in value if normal_name(str(ref.get("name", ""))) != REPORT_EVALUATOR]


def _failure_modes(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """What the judge may call a failure: the names that the case gives, else the reference's."""
    given = arguments.get("failure_modes")
    names = [normal_name(name) for name in given if isinstance(name, str)] if isinstance(given, list) else []
    return tuple(name for name in names if name) or reference.FAILURE_MODES


def _expected_text(expected: JsonValue) -> str | None:
    """The text that an output can be compared with, None where there is none."""
    if isinstance(expected, Mapping):
        expected = expected.get("text")
    if expected is None or isinstance(expected, Mapping | list):
        return None
    return as_text(expected).strip()


def _needles(arguments: Mapping[str, Any], expected: JsonValue) -> list[str]:
    """What ``contains`` looks for: what its arguments name, else the text of the expected value."""
    tokens = arguments.get("tokens")
    if isinstance(tokens, list) and tokens:
        return [as_text(token) for token in tokens]
    for name in ("tokens", "substring", "value"):
        needle = arguments.get(name)
        if needle is not None and not isinstance(needle, list | Mapping):
            return [as_text(needle)]
    text = _expected_text(expected)
    return [] if text is None else [text]
