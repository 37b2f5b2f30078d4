"""``regex``: a pattern on the text form of the output, with a time limit that holds.

``re`` can need exponential time, keeps the interpreter lock all the while and cannot be interrupted, so the search runs
in a worker process that is killed. Only a pattern without any special character is looked for here: that is a plain
substring search, linear in the text.
"""

from __future__ import annotations

import re

from tui_eval.domain import Score
from tui_eval.errors import EvaluatorError, WorkerError, WorkerTimeout
from tui_eval.evaluators.base import EvaluatorSetup, Subject
from tui_eval.evaluators.differences import shown, text_form
from tui_eval.evaluators.expected import score_name
from tui_eval.spec.evaluator_options import RegexOptions

SEARCH = "tui_eval.processes.regex_search:search"
_SPECIAL = frozenset(r".^$*+?{}[]\|()")


class Regex:
    """The pattern matches: somewhere in the text, or (``match: full``) the whole of it."""

    def __init__(self, options: RegexOptions, setup: EvaluatorSetup) -> None:
        self._options = options
        self._setup = setup
        self._name = score_name(options)
        self._full = options.match == "full"
        self._literal = not options.ignore_case and not _SPECIAL.intersection(options.pattern)

    async def evaluate(self, subject: Subject) -> Score:
        text = text_form(subject.variables["output"])
        span = self._plain(text) if self._literal else await self._in_worker(text)
        if span is None:
            where = "the whole of" if self._full else "anywhere in"
            reason = f"{shown(self._options.pattern)} does not match {where} {shown(text)}"
            return Score(self._name, 0.0, False, reason)
        start, end = span
        matched = text[start:end]
        return Score(self._name, 1.0, True, f"matched {shown(matched)} at character {start + 1}")

    def _plain(self, text: str) -> list[int] | None:
        pattern = self._options.pattern
        at = (0 if text == pattern else -1) if self._full else text.find(pattern)
        return None if at < 0 else [at, at + len(pattern)]

    async def _in_worker(self, text: str) -> list[int] | None:
        options = self._options
        if self._setup.workers is None:
            raise EvaluatorError("regex needs a worker process, and there is none")
        argument = {"pattern": options.pattern, "flags": int(flags(options)), "text": text, "full": self._full}
        try:
            span: list[int] | None = await self._setup.workers.call(SEARCH, argument, timeout=options.timeout_seconds)
        except WorkerTimeout:
            raise EvaluatorError(
                f"evaluator timed out ({options.timeout_seconds:g} s): the search for {shown(options.pattern)} in "
                f"{len(text):,} characters did not end; nested repeats such as (a+)* need exponential time"
            ) from None
        except WorkerError as error:
            raise EvaluatorError(f"the search could not be made: {error}") from error
        return span


def flags(options: RegexOptions) -> re.RegexFlag:
    """The flags of ``re`` that the options ask for."""
    chosen = re.RegexFlag(0)
    for wanted, flag in (
        (options.ignore_case, re.IGNORECASE),
        (options.multiline, re.MULTILINE),
        (options.dotall, re.DOTALL),
    ):
        if wanted:
            chosen |= flag
    return chosen
