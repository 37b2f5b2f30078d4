"""The options of each solution kind that ships: how the agent is called.

A field marked ``Template`` may hold ``{{ … }}`` and ``${NAME}`` in its strings, at any depth; it is rendered for
each case by ``templates``. Everything else is the same for all cases. ``sends_whole_case`` says whether the agent gets
all columns of a case besides what the templates name, so that a change in any of them is another call; a kind that
does not say is taken to send them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from tui_eval.spec.marks import (
    Address,
    Expression,
    HeaderEntries,
    OptionalExpression,
    ProxyAddress,
    Template,
    VariableEntries,
    Verbatim,
)
from tui_eval.spec.model import Strict

Headers = Annotated[dict[str, str], HeaderEntries]
Variables = Annotated[dict[str, str], VariableEntries]
ExpressionText = Annotated[str, Expression]
ExtractorText = Annotated[str, OptionalExpression]
ProxyText = Annotated[str, ProxyAddress]
TemplateText = Annotated[str, Template]
TemplateMap = Annotated[dict[str, Any], Template]


class Tls(Strict):
    """How a server is believed and what we show it. Paths are relative to the plan's folder."""

    verify: bool = Field(True, description="Check the server's certificate.")
    ca_file: str | None = Field(
        None, description="PEM file of certificate authorities to trust instead of the system's."
    )
    client_cert: str | None = Field(None, description="PEM file of a client certificate.")
    client_key: str | None = Field(None, description="PEM file of its key, if not in `client_cert`.")


class EndMarker(Strict):
    """What must be seen for a stream to be whole: a data text, an event name, or a JMESPath that becomes truthy."""

    data: str | None = None
    event: str | None = None
    field: ExpressionText | None = Field(None, description="JMESPath on each event's JSON.")

    @model_validator(mode="after")
    def _one(self) -> EndMarker:
        if sum(value is not None for value in (self.data, self.event, self.field)) != 1:
            raise ValueError("give exactly one of data, event, field")
        return self


class HttpOptions(Strict):
    """An agent behind an HTTP endpoint that answers with JSON, text or server-sent events."""

    sends_whole_case: ClassVar[bool] = False

    type: Literal["http"] = "http"
    url: Annotated[str, Template, Address] = Field(description="http:// or https:// address.")
    method: str = Field("POST", pattern=r"^[A-Za-z]+$", description="GET, POST, PUT, …")
    headers: Annotated[Headers, Template] = Field(
        default_factory=dict, description="Of every call; values may hold `${NAME}`."
    )
    params: TemplateMap = Field(default_factory=dict, description="Added to the address's own query.")
    body: Annotated[Any, Template] = Field(None, description="Sent as JSON.")
    form: TemplateMap | None = Field(None, description="Sent as application/x-www-form-urlencoded.")
    text: TemplateText | None = Field(None, description="Sent as it is (text/plain unless a header says otherwise).")
    response: Literal["auto", "json", "text", "sse"] = Field("auto", description="`auto` goes by the content type.")
    output_extractor: ExtractorText | None = Field(None, description="JMESPath to the output in a JSON body.")
    chunk_extractor: ExtractorText | None = Field(
        None, description="JMESPath to the text in each event's JSON; joined in order."
    )
    usage_extractor: ExtractorText | None = Field(
        None, description="JMESPath to an object with token counts, body or event."
    )
    end_marker: str | EndMarker | None = Field(None, description="A stream without it is incomplete. Text: event data.")
    error_when: ExpressionText | None = Field(
        None, description="JMESPath on the body or an event; truthy means the agent failed."
    )
    allow_null: bool = Field(False, description="Take null as an output instead of an error.")
    follow_redirects: bool = Field(True, description="For GET and HEAD only; others never follow.")
    proxy: ProxyText | None = Field(None, description="Proxy address; `${NAME}` allowed.")
    tls: Tls = Field(default_factory=Tls, description="Certificates: which server is believed, what is shown to it.")
    max_response_bytes: int = Field(16 * 1024 * 1024, ge=1024, description="A longer answer is an error.")

    @field_validator("method")
    @classmethod
    def _calls_an_agent(cls, method: str) -> str:
        if method.upper() == "CONNECT":
            raise ValueError("CONNECT asks a proxy for a tunnel and has no answer; name the proxy in `proxy`")
        return method

    @model_validator(mode="after")
    def _one_body(self) -> HttpOptions:
        given = [name for name in ("body", "form", "text") if getattr(self, name) is not None]
        if len(given) > 1:
            raise ValueError(f"give only one of body, form, text (there are {', '.join(given)})")
        return self


class ChatOptions(Strict):
    """A model behind an OpenAI-compatible chat completions endpoint."""

    sends_whole_case: ClassVar[bool] = False

    type: Literal["chat"] = "chat"
    base_url: Annotated[str, Template, Address] = Field(
        description="Up to and with `/v1`; `/chat/completions` is added."
    )
    model: TemplateText = Field(description="Name of the model at that endpoint.")
    api_key: TemplateText | None = Field(None, description="Sent as a bearer token; write `${NAME}`.")
    system: TemplateText | None = Field(None, description="System message before `prompt`.")
    prompt: TemplateText | None = Field(None, description="One user message.")
    messages: Annotated[Any, Template] = Field(
        None, description="The whole list of messages, instead of system and prompt."
    )
    params: TemplateMap = Field(default_factory=dict, description="temperature, max_tokens, tools, …")
    stream: bool = Field(False, description="Ask for a stream of events.")
    headers: Annotated[Headers, Template] = Field(
        default_factory=dict, description="Of every call; values may hold `${NAME}`."
    )
    proxy: ProxyText | None = Field(None, description="Proxy address; `${NAME}` allowed.")
    tls: Tls = Field(default_factory=Tls, description="Certificates: which server is believed, what is shown to it.")
    max_response_bytes: int = Field(16 * 1024 * 1024, ge=1024, description="A longer answer is an error.")

    @model_validator(mode="after")
    def _one_prompt(self) -> ChatOptions:
        if (self.prompt is None) == (self.messages is None):
            raise ValueError("give either prompt (with an optional system) or messages")
        if self.messages is not None and self.system is not None:
            raise ValueError("system goes with prompt; put it into messages")
        return self


_TAKES_CODE = {
    re.compile(r"(ba|da|a|z|k|mk|fi)?sh"): re.compile(r"-[A-Za-z]*c"),
    re.compile(r"python[0-9.]*|pypy[0-9.]*"): re.compile(r"-[A-Za-z]*c"),
    re.compile(r"perl|ruby|node|nodejs|bun|lua[0-9.]*|Rscript"): re.compile(r"-[a-z]*[eEp]|--eval|--print"),
    re.compile(r"php[0-9.]*"): re.compile(r"-r"),
}


def text_that_is_code(argv: Sequence[str]) -> str | None:
    """The word of ``argv`` that a shell or an interpreter reads as a program (what follows ``sh -c``, ``python -c`` …,
    also behind ``env`` or ``timeout``), None when there is none."""
    for at, word in enumerate(argv):
        name = word.rpartition("/")[2]
        flag = next((flag for program, flag in _TAKES_CODE.items() if program.fullmatch(name)), None)
        for following in range(at + 1, len(argv) - 1) if flag is not None else ():
            if flag is not None and flag.fullmatch(argv[following]):
                return argv[following + 1]
            if not argv[following].startswith("-"):
                break
    return None


class CommandOptions(Strict):
    """A program that is started once per task."""

    type: Literal["command"] = "command"
    argv: Annotated[list[str] | None, Template] = Field(None, description="Program and arguments; no shell sees them.")
    shell: bool = Field(False, description="Run `command` with /bin/sh instead of `argv`.")
    command: Annotated[str, Verbatim] | None = Field(
        None, description="Shell text, only with `shell: true`; holds no templates (use env or stdin)."
    )
    stdin: Literal["none", "text", "json"] = Field(
        "none", description="`json`: the case's columns with its id; `text`: `stdin_text`."
    )
    stdin_text: TemplateText | None = Field(None, description="Standard input, with `stdin: text`.")
    env: Annotated[Variables, Template] = Field(default_factory=dict, description="Added to our own environment.")
    cwd: TemplateText | None = Field(None, description="Default: the plan's folder.")
    output: Literal["stdout", "json", "stderr"] = Field("stdout", description="`json`: stdout is one JSON value.")
    output_extractor: ExtractorText | None = Field(None, description="JMESPath to the output, with `output: json`.")
    allow_null: bool = Field(False, description="Take null as an output instead of an error.")
    strip_terminal_codes: bool = Field(True, description="Evaluators see the output without escape sequences.")
    drain_seconds: float = Field(0.5, ge=0, le=60, description="Wait for pipes held open after the program ended.")
    max_output_bytes: int = Field(16 * 1024 * 1024, ge=1024, description="A longer output is an error.")

    @property
    def sends_whole_case(self) -> bool:
        return self.stdin == "json"

    @model_validator(mode="after")
    def _argv_or_shell(self) -> CommandOptions:
        if self.shell and (self.command is None or self.argv is not None):
            raise ValueError("shell: true needs `command` (a text) and no `argv`")
        if not self.shell and (self.argv is None or self.command is not None):
            raise ValueError(
                "give `argv`, a list: [program, argument, …] (a shell text needs shell: true and `command`)"
            )
        if self.argv is not None and not self.argv:
            raise ValueError("argv is empty")
        if self.command is not None and ("{{" in self.command or "{%" in self.command):
            raise ValueError("a shell text holds no {{ … }}: data would be read as shell code; use argv, env or stdin")
        code = text_that_is_code(self.argv or ())
        if code is not None and ("{{" in code or "{%" in code):
            raise ValueError(
                "a program text holds no {{ … }}: data would be read as code; hand it on as an argument after the text "
                """([sh, -c, 'agent "$1"', sh, "{{ question }}"]), in env or on stdin"""
            )
        if (self.stdin == "text") != (self.stdin_text is not None):
            raise ValueError("stdin: text and stdin_text go together")
        if self.output_extractor is not None and self.output != "json":
            raise ValueError("output_extractor needs output: json")
        return self


class PythonOptions(Strict):
    """A Python function, run in a worker process that can be killed: ``f(case)`` or AgentLoop's ``f(task, pre_hook)``."""

    sends_whole_case: ClassVar[bool] = True

    type: Literal["python"] = "python"
    function: str = Field(pattern=r"^[\w.]+:[\w.]+$", description="`module:function`, sync or async.")
    path: str | None = Field(None, description="Folder to import from. Default: the plan's folder.")
    arguments: TemplateMap = Field(default_factory=dict, description="Keyword arguments beside the case.")
    env: Annotated[Variables, Template] = Field(
        default_factory=dict, description="Environment of the worker (no case data)."
    )
    allow_null: bool = Field(False, description="Take None as an output instead of an error.")


class AgentRuntimesOptions(Strict):
    """An agent that speaks the AI SDK's UI message stream: agent-runtimes, pydantic-ai's adapter, Next.js.

    Where it is: ``url`` (the whole address of the chat), or ``base_url`` and ``agent`` (a running agent of an
    agent-runtimes server), or ``agentspec`` (an agent of that spec, made for this run and deleted after it; the plan
    then has a ``datalayer`` section).
    """

    sends_whole_case: ClassVar[bool] = False

    type: Literal["agent_runtimes"] = "agent_runtimes"
    url: Annotated[str | None, Template, Address] = Field(None, description="The whole address of the chat.")
    base_url: Annotated[str | None, Template, Address] = Field(
        None, description="An agent-runtimes server; `/api/v1/vercel-ai/AGENT` is added."
    )
    agent: TemplateText | None = Field(None, description="Name of an agent that runs there, with `base_url`.")
    agentspec: str | None = Field(
        None, min_length=1, description="Make an agent of this spec for the run (needs a `datalayer` section)."
    )
    prompt: TemplateText | None = Field(None, description="One user message.")
    messages: Annotated[Any, Template] = Field(
        None, description="The whole list of UI messages (`role`, `parts`), instead of `prompt`."
    )
    answer: Literal["last_step", "all_steps"] = Field(
        "last_step", description="Which text is the output: that of the last step, or of all steps joined."
    )
    sdk_version: int | None = Field(
        6, ge=4, le=99, description="Sent as `sdkVersion`: from 6 on pauses for approval are told. null: not sent."
    )
    body: TemplateMap = Field(default_factory=dict, description="Further keys of the request's JSON, as `model`.")
    headers: Annotated[Headers, Template] = Field(
        default_factory=dict, description="Of every call; values may hold `${NAME}`."
    )
    proxy: ProxyText | None = Field(None, description="Proxy address; `${NAME}` allowed.")
    tls: Tls = Field(default_factory=Tls, description="Certificates: which server is believed, what is shown to it.")
    max_response_bytes: int = Field(16 * 1024 * 1024, ge=1024, description="A longer answer is an error.")

    @model_validator(mode="after")
    def _one_place_and_one_prompt(self) -> AgentRuntimesOptions:
        if sum(place is not None for place in (self.url, self.base_url, self.agentspec)) != 1:
            raise ValueError("give exactly one of url (a chat), base_url with agent, agentspec")
        if (self.base_url is None) != (self.agent is None):
            raise ValueError("base_url and agent go together")
        if (self.prompt is None) == (self.messages is None):
            raise ValueError("give either prompt or messages")
        return self


class DatalayerCloudOptions(Strict):
    """A case that Datalayer's platform runs and grades (needs a `datalayer` section with `execution_target: cloud`)."""

    type: Literal["datalayer_cloud"] = "datalayer_cloud"
    agentspec: str = Field(min_length=1, description="The agentspec that the platform runs the evalset on.")
