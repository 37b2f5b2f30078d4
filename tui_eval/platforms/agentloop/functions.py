"""The guide's solution builders: an HTTP agent or a program, described by the user's own functions.

What they return may be given to ``run_experiment`` or be awaited as ``solution(task, pre_hook)`` from a function of the
user's own. Parameters and defaults are those of the guide (contract, section 1.4); how an answer is read is this
program's: WHATWG event streams, limits over the whole call, errors in a stream are errors.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tui_eval.domain import Answer, Case, JsonValue
from tui_eval.errors import Resend, SolutionError
from tui_eval.net.trace import TraceContext
from tui_eval.platforms.agentloop.described import DescribedHttp
from tui_eval.solutions.base import CallContext, Limits, SolutionSetup
from tui_eval.solutions.command import CommandSolution, Invocation
from tui_eval.solutions.strict_json import InvalidJson, parse_json
from tui_eval.spec.credentials import hide_credentials
from tui_eval.spec.rendered import Rendered
from tui_eval.spec.solution_options import CommandOptions

METHODS = ("GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS")
_IDEMPOTENT = frozenset(METHODS) - {"POST", "PATCH"}
"""Methods whose request may be sent again when its answer was lost (RFC 9110, section 9.2.2)."""
_RETRY_SECONDS = 0.5
"""Before the first retry; doubled for each further one (contract, section 2)."""
_PARTIAL_KEPT = 2000


@dataclass
class Task:
    """One row as a solution gets it."""

    id: str
    input: dict[str, Any]
    ground_truth: Any = ""
    metrics: list[Any] = field(default_factory=list)
    tags: dict[str, Any] | None = None
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass
class SolutionOutput:
    """What a solution returns. ``meta`` may say ``error_type``, ``error_message`` and ``traceId``."""

    success: bool
    output: Any
    trajectory: list[Any] = field(default_factory=list)
    meta: dict[str, Any] = field(default_factory=dict)


@dataclass
class HttpRequestSpec:
    """One request. Give ``json`` or ``data`` or neither; ``timeout`` is in seconds. Raises ValueError."""

    url: str
    method: str = "POST"
    headers: Mapping[str, str] | None = None
    json: Any = None
    data: Any = None
    params: Mapping[str, Any] | None = None
    timeout: float | None = None

    def __post_init__(self) -> None:
        if not str(self.url).startswith(("http://", "https://")):
            raise ValueError(f"url must start with http:// or https://, not {str(self.url)[:60]!r}")
        self.method = self.method.upper()
        if self.method not in METHODS:
            raise ValueError(f"method must be one of {', '.join(METHODS)}, not {self.method[:20]!r}")
        if self.json is not None and self.data is not None:
            raise ValueError("give json or data, not both")
        if self.timeout is not None and not self.timeout > 0:
            raise ValueError(f"timeout must be above 0 seconds, not {self.timeout}")


class SolutionFunction:
    """What a builder returns. ``timeout`` is in seconds (None: what it calls has limits of its own); ``retries`` are
    further attempts when nothing was sent."""

    timeout: float | None
    retries = 0

    async def answer(self, task: Task, context: CallContext) -> tuple[Answer, dict[str, JsonValue]]:
        """The answer, and what was sent with credentials hidden. Raises SolutionError, whose ``partial`` has what came."""
        raise NotImplementedError

    async def aclose(self) -> None:
        """Close what is open."""

    async def __call__(self, task: Task, pre_hook: Any = None) -> SolutionOutput:
        context = CallContext(Limits(total=self.timeout), TraceContext.new())
        try:
            answer, sent = await self._answered(task, context)
        except SolutionError as error:
            partial = error.partial or Answer()
            said: dict[str, Any] = {"error_type": error.kind, "error_message": error.message}
            if partial.status_code is not None:
                said["status_code"] = partial.status_code
            if partial.raw:
                said["partial_response"] = partial.raw[:_PARTIAL_KEPT]
            said["traceId"] = partial.trace_id or context.trace.trace_id
            return SolutionOutput(False, partial.output, [], said)
        finally:
            await self.aclose()
        meta: dict[str, Any] = {"request": sent, "traceId": answer.trace_id}
        if answer.status_code is not None:
            meta["status_code"] = answer.status_code
        return SolutionOutput(True, answer.output, [], meta)

    async def _answered(self, task: Task, context: CallContext) -> tuple[Answer, dict[str, JsonValue]]:
        """The answer, asked for again where nothing was sent; in a run the engine does that."""
        for retry in range(self.retries):
            try:
                return await self.answer(task, context)
            except SolutionError as error:
                if error.kind != "connection" or error.resend not in (Resend.UNSENT, Resend.REJECTED):
                    raise
            await asyncio.sleep(_RETRY_SECONDS * 2.0**retry)
        return await self.answer(task, context)


class HttpFunction(SolutionFunction):
    """An HTTP agent; ``build_request`` makes an :class:`HttpRequestSpec` of a task."""

    def __init__(
        self,
        build_request: Callable[[Task], HttpRequestSpec],
        default_timeout: float,
        chunk_extractor: Callable[[Any], Any] | None,
        transport_retries: int,
        trace_id_response_header: str | None,
    ) -> None:
        if not default_timeout > 0:
            raise ValueError(f"the timeout must be above 0 seconds, not {default_timeout}")
        if transport_retries < 0:
            raise ValueError(f"transport_retries must be 0 or more, not {transport_retries}")
        self.timeout = default_timeout
        self.retries = transport_retries
        self._build = build_request
        self._trace_header = (
            trace_id_response_header or os.environ.get("AGENTLOOP_TRACE_ID_RESPONSE_HEADER") or ""
        ).lower()
        self._http = DescribedHttp(chunk_extractor)

    async def answer(self, task: Task, context: CallContext) -> tuple[Answer, dict[str, JsonValue]]:
        spec = _built(self._build, task)
        if not isinstance(spec, HttpRequestSpec):
            kind = type(spec).__name__
            raise SolutionError("argument", f"build_request must return an HttpRequestSpec, not {kind}")
        limits = replace(context.limits, total=spec.timeout) if spec.timeout is not None else context.limits
        rendered = described_request(spec, task)
        try:
            answer = await self._http.call(rendered, replace(context, limits=limits))
        except SolutionError as error:
            if error.partial is None:
                error.partial = Answer()
            self._take_trace_id(error.partial)
            error.partial.detail.setdefault("request", self._shown(rendered))
            if error.kind == "connection" and spec.method in _IDEMPOTENT:
                error.resend = Resend.REJECTED
            raise
        self._take_trace_id(answer)
        answer.output = plain_output(answer)
        return answer, self._shown(rendered)

    def _take_trace_id(self, answer: Answer) -> None:
        """That of the header which the user names, where the answer has it; a refusal has one too."""
        own = {name.lower(): value for name, value in answer.headers}.get(self._trace_header, "").strip()
        if self._trace_header and own:
            answer.trace_id = own

    def _shown(self, rendered: Rendered) -> dict[str, JsonValue]:
        return hide_credentials(self._http.preview(rendered))

    async def aclose(self) -> None:
        await self._http.aclose()
        self._http = DescribedHttp(self._http.chunk_extractor)


def _built(build: Callable[[Task], Any], task: Task) -> Any:
    try:
        return build(task)
    except Exception as error:  # a user's function: it costs its own task only
        raise SolutionError("argument", f"the request could not be built: {type(error).__name__}: {error}") from error


def described_request(spec: HttpRequestSpec, task: Task) -> Rendered:
    """A request as :class:`DescribedHttp` takes it."""
    fields = _fields(spec)
    return Rendered(fields, fields, task.id, task.input)


def _fields(spec: HttpRequestSpec) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "method": spec.method,
        "url": spec.url,
        "headers": dict(spec.headers or {}),
        "params": dict(spec.params or {}),
        "has_json": spec.json is not None,
        "body": spec.json,
    }
    if isinstance(spec.data, Mapping):
        fields["form"] = dict(spec.data)
    elif isinstance(spec.data, bytes | bytearray):
        fields["text"] = bytes(spec.data)
        if not any(name.lower() == "content-type" for name in fields["headers"]):
            fields["headers"]["content-type"] = "application/octet-stream"
    elif spec.data is not None:
        fields["text"] = str(spec.data)
    return fields


def plain_output(answer: Answer) -> JsonValue:
    """A whole body that is JSON is its value, whatever its content type says (contract, section 2)."""
    if answer.events or not isinstance(answer.output, str):
        return answer.output
    try:
        return parse_json(answer.output)
    except InvalidJson:
        return answer.output


class CommandFunction(SolutionFunction):
    """A program; ``build_command`` makes a list of arguments (or a text for the shell) of a task."""

    def __init__(
        self,
        build_command: Callable[[Task], Sequence[str] | str],
        default_timeout: float,
        cwd: str | os.PathLike[str] | None,
        env: Mapping[str, str] | None,
        shell: bool,
    ) -> None:
        if not default_timeout > 0:
            raise ValueError(f"the timeout must be above 0 seconds, not {default_timeout}")
        self.timeout = default_timeout
        self._build = build_command
        self._cwd = Path(cwd) if cwd is not None else Path.cwd()
        self._env = {str(name): str(value) for name, value in (env or {}).items()}
        self._shell = shell

    async def answer(self, task: Task, context: CallContext) -> tuple[Answer, dict[str, JsonValue]]:
        command = _built(self._build, task)
        invocation = self._invocation(command)
        sent: dict[str, JsonValue] = hide_credentials({"argv": command if isinstance(command, str) else list(command)})
        answer = await run_program(invocation, task, context)
        stderr = answer.stderr.rstrip("\n")
        answer.output = {"stdout": answer.raw.rstrip("\n"), "stderr": stderr, "returncode": answer.exit_code or 0}
        return answer, sent

    def _invocation(self, command: Any) -> Invocation:
        if isinstance(command, str):
            return Invocation(None, command, None, self._env, self._cwd)
        if not isinstance(command, list | tuple) or not command:
            raise SolutionError("argument", "build_command must return a list of arguments (or a text), not nothing")
        if self._shell:
            import shlex

            return Invocation(None, shlex.join(str(word) for word in command), None, self._env, self._cwd)
        return Invocation([str(word) for word in command], None, None, self._env, self._cwd)


async def run_program(invocation: Invocation, task: Task, context: CallContext) -> Answer:
    """Start a program for ``task``, and wait for its end. Raises SolutionError."""
    return await _Program(invocation).call(Rendered({}, {}, task.id, task.input), context)


class _Program(CommandSolution):
    def __init__(self, invocation: Invocation) -> None:
        setup = SolutionSetup(folder=invocation.cwd, environment=os.environ)
        super().__init__(CommandOptions(argv=["true"]), setup)
        self._made = invocation

    def _invocation(self, request: Rendered, fields: Mapping[str, Any], trace: Mapping[str, str]) -> Invocation:
        return replace(self._made, env={**self._made.env, **trace})


def http_solution(
    build_request: Callable[[Task], HttpRequestSpec],
    default_timeout: float = 300.0,
    chunk_extractor: Callable[[Any], Any] | None = None,
    transport_retries: int = 2,
    trace_id_response_header: str | None = None,
) -> HttpFunction:
    """A solution that sends what ``build_request(task)`` describes. ``chunk_extractor`` gets the JSON of each event."""
    return HttpFunction(build_request, default_timeout, chunk_extractor, transport_retries, trace_id_response_header)


def http_solution_with(
    url: str,
    *,
    method: str = "POST",
    headers: Mapping[str, str] | None = None,
    json: Any = None,
    json_body: Any = None,
    data: Any = None,
    params: Mapping[str, Any] | None = None,
    body_builder: Callable[[Task], Any] | None = None,
    timeout: float = 300.0,
    chunk_extractor: Callable[[Any], Any] | None = None,
    transport_retries: int = 2,
    trace_id_response_header: str | None = None,
) -> HttpFunction:
    """A solution that sends the same request for each task, with the JSON that ``body_builder(task)`` makes.

    Raises ValueError for what does not go together: ``data`` with ``body_builder`` or with JSON.
    """
    static = json if json is not None else json_body
    if data is not None and (body_builder is not None or static is not None):
        raise ValueError("data goes neither with body_builder nor with json")
    HttpRequestSpec(url, method, headers, static, data, params)  # refused now, not once for each task

    def build(task: Task) -> HttpRequestSpec:
        body = body_builder(task) if body_builder is not None else static
        return HttpRequestSpec(url, method, headers, body, data, params)

    return HttpFunction(build, timeout, chunk_extractor, transport_retries, trace_id_response_header)


def command_solution(
    build_command: Callable[[Task], Sequence[str] | str],
    default_timeout: float = 60.0,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    shell: bool = False,
) -> CommandFunction:
    """A solution that starts the program ``build_command(task)`` names: a list of arguments, or a text for the shell.

    Its output is ``{"stdout", "stderr", "returncode"}``; an exit code other than 0 is an error.
    """
    return CommandFunction(build_command, default_timeout, cwd, env, shell)


def command_solution_with(
    cmd: Sequence[str] | str | Callable[[Task], Sequence[str] | str] | None = None,
    default_timeout: float = 60.0,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    shell: bool = False,
    *,
    command: Sequence[str] | str | Callable[[Task], Sequence[str] | str] | None = None,
) -> CommandFunction:
    """:func:`command_solution` for a command that is the same for each task, or a function that makes it."""
    chosen = cmd if cmd is not None else command
    if not chosen:
        raise ValueError("give a command")
    if callable(chosen):
        return CommandFunction(chosen, default_timeout, cwd, env, shell)
    fixed = chosen

    def build(task: Task) -> Sequence[str] | str:
        return fixed

    return CommandFunction(build, default_timeout, cwd, env, shell)


def task_of(case: Case, ground_truth_field: str, experiment_id: str) -> Task:
    """A case as a solution gets it."""
    columns = dict(case.input)
    return Task(case.id, columns, columns.get(ground_truth_field, ""), metadata={"experiment_id": experiment_id})
