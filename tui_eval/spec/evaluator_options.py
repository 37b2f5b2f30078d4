"""The options of each evaluator kind that ships: how an answer is judged.

All share :class:`EvaluatorOptions`. What a kind compares, and how, is written in its docstring and nowhere else.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from tui_eval.spec.marks import Address, Expression, Pattern, Resolved, Schema
from tui_eval.spec.model import Strict
from tui_eval.spec.solution_options import Headers, ProxyText, Tls, Variables

NOT_GIVEN: Any = type("NotGiven", (), {"__repr__": lambda self: "not given"})()


def _not_given() -> Any:
    return NOT_GIVEN


class EvaluatorOptions(Strict):
    """What every evaluator takes.

    ``variable_mapping`` names what the evaluator reads, in AgentLoop's syntax: ``experiment_input`` (what was sent),
    ``experiment_output`` (the output) or ``dataset.<column>``. ``output`` is mapped to ``experiment_output`` unless
    said otherwise; nothing else is guessed.
    """

    variables: ClassVar[frozenset[str] | None] = frozenset(("input", "output", "expected_output"))
    """The variables that may be mapped; None: any, they are handed on by name."""

    id: str = Field(description="The kind.")
    name: str | None = Field(None, description="Name of the score. Default: the kind; must be unique in a request.")
    variable_mapping: dict[str, str] = Field(
        default_factory=dict, description="What it reads: variable -> `experiment_output`, `dataset.<column>`, …"
    )
    negate: bool = Field(False, alias="not", description="Pass when the check says no.")

    def judge_options(self) -> JudgeOptions | None:
        """The model that this evaluator asks, None when it asks none."""
        return None


class Expecting(EvaluatorOptions):
    """An evaluator that needs an expected value: ``expected``, or ``expected_output`` in the mapping.

    A mapped column that is null or missing in a case leaves that case unscored (nothing to compare); ``expected: null``
    is a value like any other.
    """

    expected: Annotated[Any, Resolved] = Field(
        default_factory=_not_given, description="The expected value, the same for every case."
    )

    @model_validator(mode="after")
    def _has_expected(self) -> Expecting:
        if (self.expected is NOT_GIVEN) == ("expected_output" not in self.variable_mapping):
            raise ValueError("give either expected, or variable_mapping.expected_output: dataset.<column>")
        return self


class ExactOptions(Expecting):
    """Equal values: JSON values by type and value (1 equals 1.0, never "1" or true), texts character by character.

    The same holds inside lists and objects, whose keys may come in any order; no Unicode normalisation takes place.
    """

    id: Literal["exact"] = "exact"
    strip: bool = Field(False, description="Ignore white space at both ends of texts.")
    ignore_case: bool = Field(False, description="Compare texts after Unicode case folding.")
    as_text: bool = Field(False, description="Compare the text forms (a text is itself, anything else its JSON).")


class ContainsOptions(Expecting):
    """The text form of the output contains the text form of the expected value (a list: every one, or any one).

    An empty expected text or list leaves the case unscored: every output would pass.
    """

    id: Literal["contains"] = "contains"
    ignore_case: bool = Field(False, description="Upper and lower case are the same.")
    mode: Literal["all", "any"] = Field("all", description="For a list of expected texts.")


class RegexOptions(EvaluatorOptions):
    """Python's ``re`` on the text form of the output, in a process that is killed after ``timeout_seconds``."""

    id: Literal["regex"] = "regex"
    pattern: Annotated[str, Pattern, Resolved] = Field(description="The regular expression.")
    match: Literal["search", "full"] = Field(
        "search", description="`search`: it is found anywhere; `full`: it is the whole output."
    )
    ignore_case: bool = Field(False, description="Upper and lower case are the same.")
    multiline: bool = Field(False, description="^ and $ also match at line breaks.")
    dotall: bool = Field(False, description=". also matches a line break.")
    timeout_seconds: float = Field(2.0, gt=0, le=60, description="A slower match is unscored.")


class JsonOptions(EvaluatorOptions):
    """The output is JSON (a value, or a text that is one), fits ``schema``, and has the values of ``equals``.

    Values are compared as by ``exact``; in ``equals`` a key that is missing is not null. A text with a repeated key,
    NaN or Infinity is not JSON. An expected value that is a text is not read as JSON.
    """

    id: Literal["json"] = "json"
    json_schema: Annotated[dict[str, Any] | bool | None, Schema, Resolved] = Field(
        None, alias="schema", description="JSON Schema (2020-12, unless `$schema` names another); nothing is fetched."
    )
    equals: Annotated[dict[str, Any], Expression, Resolved] = Field(
        default_factory=dict, description="JMESPath -> the value it must have."
    )
    expected: Annotated[Any, Resolved] = Field(
        default_factory=_not_given, description="The whole value (or map expected_output)."
    )
    code_fence: bool = Field(False, description="Also read JSON inside one Markdown code fence.")

    @model_validator(mode="after")
    def _one_expected(self) -> JsonOptions:
        if self.expected is not NOT_GIVEN and "expected_output" in self.variable_mapping:
            raise ValueError("give expected or variable_mapping.expected_output, not both")
        return self


class NumericOptions(Expecting):
    """The output is a number (or a text that is one) within ``absolute`` or ``relative`` tolerance of the expected.

    A text is a number when it is, white space around it aside, an optional sign, the digits 0-9 with an optional
    decimal point, and an optional exponent. ``1,234``, ``12 %``, ``1/2``, ``NaN`` and true are no numbers. With
    ``find`` a text may hold more: signs and units beside the number are ignored (``$5``, ``5 %``, ``5kg``), digits
    inside a word (``GPT-4``) are no number, and when the first or last one is written in a way that can be read
    differently (``1,234``, ``3-4``, ``12:30``, ``5k``) the check says no instead of guessing.
    """

    id: Literal["numeric"] = "numeric"
    absolute: float = Field(0.0, ge=0, allow_inf_nan=False, description="Largest difference that still passes.")
    relative: float = Field(0.0, ge=0, allow_inf_nan=False, description="Share of the expected value's size.")
    find: Literal["whole", "last", "first"] = Field("whole", description="`last`: the last number in a text.")
    thousands: Literal[",", "_", "'"] | None = Field(
        None, description="Mark between groups of three digits that is allowed in numbers (1,234.5)."
    )


class SimilarityOptions(Expecting):
    """Similarity of the text forms, 0 to 1, by rapidfuzz; passes from ``threshold`` on."""

    id: Literal["similarity"] = "similarity"
    method: Literal["ratio", "partial_ratio", "token_sort_ratio", "token_set_ratio", "levenshtein", "jaro_winkler"] = (
        "ratio"
    )
    threshold: float | None = Field(0.8, ge=0, le=1, description="null: informative only.")
    ignore_case: bool = Field(False, description="Upper and lower case are the same.")


class PythonEvaluatorOptions(EvaluatorOptions):
    """A Python function in a worker process: ``f(**variables)`` -> bool, number, or {score, passed, reason}."""

    variables = None

    id: Literal["python"] = "python"
    function: str = Field(pattern=r"^[\w.]+:[\w.]+$", description="`module:function`, sync or async.")
    path: Annotated[str | None, Resolved] = Field(
        None, description="Folder to import from. Default: the plan's folder."
    )
    threshold: float | None = Field(
        None, description="A number passes from here on. Without it a number is informative."
    )
    arguments: Annotated[dict[str, Any], Resolved] = Field(
        default_factory=dict, description="Keyword arguments beside the variables."
    )


class CommandEvaluatorOptions(EvaluatorOptions):
    """A program that reads the variables as JSON on stdin and prints a JSON verdict, or says it by exit code 0 or 1."""

    variables = None

    id: Literal["command"] = "command"
    argv: list[str] = Field(min_length=1, description="Program and arguments; no shell sees them.")
    env: Variables = Field(default_factory=dict, description="Added to our own environment.")
    cwd: Annotated[str | None, Resolved] = Field(None, description="Default: the plan's folder.")
    verdict: Literal["json", "exit_code"] = Field(
        "json", description="`json`: {score, passed, reason} on stdout; `exit_code`: 0 passed, 1 failed."
    )
    threshold: float | None = Field(None, description="A verdict that is only a number passes from here on.")


class JudgeOptions(EvaluatorOptions):
    """A model judges by a rubric: a number in ``range`` (passes from ``threshold`` on) or yes/no.

    The reply must hold exactly one JSON object with the verdict; anything else is *unscored*, never guessed, clamped
    or rescaled.
    """

    variables = None

    id: Literal["judge"] = "judge"
    base_url: Annotated[str, Address] = Field(description="Up to and with `/v1`; `/chat/completions` is added.")
    model: str = Field(description="Name of the judging model.")
    api_key: str | None = Field(None, description="Sent as a bearer token; write `${NAME}`.")
    rubric: Annotated[str, Resolved] = Field(min_length=1, description="What the model judges by, in words.")
    answer_type: Literal["score", "yes_no"] = Field("score", description="A number in `range`, or yes or no.")
    range: tuple[float, float] = Field((0.0, 1.0), description="Lowest and highest score.")
    threshold: float | None = Field(
        None, description="Default: the middle of the range. null: informative only. Not for yes_no."
    )
    verdict: Literal["only", "last"] = Field("only", description="`last`: take the last object of several.")
    repair: bool = Field(False, description="Accept comments in the verdict's JSON, with a note.")
    max_retries: int = Field(2, ge=0, le=20, description="Further calls after a refused or failed one.")
    params: dict[str, Any] = Field(default_factory=dict, description="temperature, …")
    headers: Headers = Field(default_factory=dict, description="Of every call; values may hold `${NAME}`.")
    proxy: ProxyText | None = Field(None, description="Proxy address; `${NAME}` allowed.")
    tls: Annotated[Tls, Resolved] = Field(
        default_factory=Tls, description="Certificates: which server is believed, what is shown to it."
    )

    def judge_options(self) -> JudgeOptions | None:
        return self

    @model_validator(mode="after")
    def _range_and_threshold(self) -> JudgeOptions:
        low, high = self.range
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise ValueError("range is [low, high], two finite numbers with low < high")
        if self.answer_type == "yes_no" and "threshold" in self.model_fields_set:
            raise ValueError("threshold goes with answer_type: score (yes passes, no does not)")
        if self.threshold is not None and not low <= self.threshold <= high:
            raise ValueError(f"threshold is outside the range {low:g} to {high:g}")
        return self
