"""``command``: a program that is started once per task, reads the case from its arguments or stdin, prints the output."""

from __future__ import annotations

import json
import re
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tui_eval.domain import Answer, JsonValue, as_text
from tui_eval.errors import Resend, SolutionError, StartError
from tui_eval.net.trace import TraceContext
from tui_eval.processes.child import ChildResult, last_lines, run_child
from tui_eval.solutions.base import CallContext, Limits, SolutionSetup
from tui_eval.solutions.extract import extractor
from tui_eval.solutions.program_checks import check_command, secret_in_argv_warning
from tui_eval.solutions.program_output import Text, decoded, evaluated, json_output, tail_decoded
from tui_eval.solutions.terminal_codes import without_terminal_codes
from tui_eval.solutions.wording import plural, seconds
from tui_eval.spec.rendered import Rendered
from tui_eval.spec.solution_options import CommandOptions

__all__ = ["CommandSolution", "check_command", "secret_in_argv_warning"]

PLAIN_TERMINAL = {"NO_COLOR": "1", "TERM": "dumb"}
"""Asks programs for plain text (no-color.org); a solution's own ``env`` wins."""

_OWN_TRACE = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")


@dataclass(frozen=True, slots=True)
class Invocation:
    """One start of the program. ``env`` is what is added to our own environment."""

    argv: list[str] | None
    shell: str | None
    stdin: str | None
    env: dict[str, str]
    cwd: Path


class CommandSolution:
    """Starts the program; its exit code 0 makes what it printed an answer, anything else is an error.

    The case reaches it as rendered ``argv`` (argument by argument, no shell) or on stdin. ``TRACEPARENT`` (W3C trace
    context) and, when there is any, ``BAGGAGE`` are set for each attempt. An attempt is never safe to repeat once the
    program was started: it may have acted.
    """

    def __init__(self, options: CommandOptions, setup: SolutionSetup) -> None:
        self._options = options
        self._setup = setup
        self._extractor = extractor(options.output_extractor, "output_extractor")

    async def call(self, request: Rendered, context: CallContext) -> Answer:
        invocation = self._invocation(request, request.sent, _trace_variables(context.trace))
        answer = Answer(trace_id=_trace_id(invocation.env, context.trace))
        context.on_phase("calling")
        result = await self._run(invocation, context, answer)
        stdout = self._describe(answer, result)
        self._refuse_failures(result, context.limits, answer)
        try:
            answer.output = self._output(stdout, answer)
        except SolutionError as error:
            error.partial = answer
            error.resend = Resend.MAYBE_RECEIVED
            raise
        return answer

    def host(self, request: Rendered) -> str | None:
        return None

    def preview(self, request: Rendered) -> dict[str, Any]:
        invocation = self._invocation(request, request.shown, {"TRACEPARENT": "(made for each attempt)"})
        how = {"argv": invocation.argv} if invocation.shell is None else {"shell": invocation.shell}
        return {**how, "cwd": str(invocation.cwd), "stdin": invocation.stdin, "env": invocation.env}

    async def aclose(self) -> None:
        """Nothing is kept between calls."""

    def _invocation(self, request: Rendered, fields: Mapping[str, Any], trace: Mapping[str, str]) -> Invocation:
        options = self._options
        argv = fields.get("argv")
        stdin = None
        if options.stdin == "json":
            stdin = json_line({"id": request.case_id, **request.case_input})
        elif options.stdin == "text":
            stdin = as_text(fields.get("stdin_text"))
        own = {name: as_text(value) for name, value in (fields.get("env") or {}).items()}
        cwd = fields.get("cwd")
        return Invocation(
            argv=None if argv is None else [as_text(word) for word in argv],
            shell=options.command,
            stdin=stdin,
            env={**PLAIN_TERMINAL, **trace, **own},
            cwd=self._setup.folder if cwd is None else self._setup.folder / Path(as_text(cwd)).expanduser(),
        )

    async def _run(self, invocation: Invocation, context: CallContext, answer: Answer) -> ChildResult:
        options, limits = self._options, context.limits
        heard = _FirstOutput(context, answer)
        try:
            return await run_child(
                invocation.argv,
                shell=invocation.shell,
                stdin=None if invocation.stdin is None else _encoded(invocation.stdin),
                env={**self._setup.environment, **invocation.env},
                cwd=invocation.cwd,
                total=limits.total,
                idle=limits.idle,
                grace=limits.grace,
                drain=options.drain_seconds,
                max_output=options.max_output_bytes,
                on_output=heard,
                whole_stderr=options.output == "stderr",
            )
        except StartError as error:
            resend = Resend.UNSENT if error.passing else Resend.NEVER
            raise SolutionError(
                error.kind, f"could not start: {error}" if error.kind == "start" else str(error), resend
            ) from error

    def _describe(self, answer: Answer, result: ChildResult) -> Text:
        """Put what the program wrote into ``answer``; gives its stdout."""
        stdout = decoded(result.stdout, "stdout")
        answer.raw, answer.raw_truncated = stdout.text, result.stdout_truncated
        answer.stderr = tail_decoded(result.stderr, cut=result.stderr_truncated and self._options.output != "stderr")
        answer.exit_code = result.exit_code
        answer.detail["strip_terminal_codes"] = self._options.strip_terminal_codes
        if result.signal_name is not None:
            answer.detail["signal"] = result.signal_name
        if stdout.note:
            answer.notes.append(stdout.note)
        if result.leftovers:
            answer.notes.append("the program left processes behind when it ended; they were killed")
        return stdout

    def _refuse_failures(self, result: ChildResult, limits: Limits, answer: Answer) -> None:
        """Raise the SolutionError of a program that was stopped, killed, or ended with another exit code than 0."""
        said = last_lines(without_terminal_codes(answer.stderr))
        tail = f": {said}" if said else ""
        if result.stopped == "flood":
            limit = self._options.max_output_bytes
            raise self._error("bad_answer", f"more than {limit} bytes of output (max_output_bytes); stopped", answer)
        if result.stopped is not None:
            raise self._error("timed_out", _timeout_words(result, limits) + tail, answer)
        if result.signal_name is not None:
            hint = " (often: out of memory)" if result.signal_name == "SIGKILL" else ""
            raise self._error("exit_code", f"killed by {result.signal_name}{hint}{tail}", answer)
        if result.exit_code:
            raise self._error("exit_code", f"exit {result.exit_code}{_as_shells_say(result.exit_code)}{tail}", answer)

    def _error(self, kind: str, message: str, answer: Answer) -> SolutionError:
        """An error that keeps what came as partial; its text is there to be shown, without terminal codes."""
        if self._options.output == "stdout":
            answer.output = evaluated(answer.raw, self._options.strip_terminal_codes)
        return SolutionError(kind, message, Resend.MAYBE_RECEIVED, partial=answer)

    def _output(self, stdout: Text, answer: Answer) -> JsonValue:
        options = self._options
        if options.output == "json":
            return json_output(stdout, options.strip_terminal_codes, self._extractor, options.allow_null, answer.notes)
        text = answer.stderr if options.output == "stderr" else stdout.text
        return evaluated(text, options.strip_terminal_codes)


class _FirstOutput:
    """Notes when the first byte came."""

    def __init__(self, context: CallContext, answer: Answer) -> None:
        self._begun = time.monotonic()
        self._context = context
        self._answer = answer

    def __call__(self) -> None:
        if self._answer.first_byte_seconds is None:
            self._answer.first_byte_seconds = time.monotonic() - self._begun
            self._context.on_phase("streaming")


def json_line(value: JsonValue) -> str:
    """``value`` as one line of JSON, real characters where UTF-8 has them, and a line end (so that ``read`` sees it)."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        text = json.dumps(value, allow_nan=False)
    return text + "\n"


def _as_shells_say(code: int) -> str:
    """A shell whose program was killed by a signal ends with 128 and the signal's number."""
    try:
        return f" (what a shell says when {signal.Signals(code - 128).name} killed its program)"
    except ValueError:
        return ""


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        at = error.start + 1
        raise SolutionError(
            "argument", f"stdin_text is not valid Unicode (half a surrogate pair at character {at}); use `stdin: json`"
        ) from None


def _trace_variables(trace: TraceContext) -> dict[str, str]:
    variables = {"TRACEPARENT": trace.traceparent}
    if trace.baggage:
        variables["BAGGAGE"] = ",".join(f"{name}={quote(value)}" for name, value in trace.baggage.items())
    return variables


def _trace_id(env: Mapping[str, str], trace: TraceContext) -> str:
    """The trace id the program was given: ours, unless the solution sets TRACEPARENT itself."""
    given = _OWN_TRACE.fullmatch(env.get("TRACEPARENT", ""))
    return given[1] if given else trace.trace_id


def _timeout_words(result: ChildResult, limits: Limits) -> str:
    got = f"{plural(len(result.stdout), 'byte')} of stdout until then"
    if result.stopped == "idle" and limits.idle is not None:
        return f"no output for {seconds(limits.idle)} (idle_timeout_seconds), the program was ended; {got}"
    limit = limits.total if limits.total is not None else result.seconds
    return f"timed out after {seconds(limit)} (attempt_timeout_seconds), the program was ended; {got}"
