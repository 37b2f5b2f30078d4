"""What a plan says about Datalayer: the ``datalayer`` section, and the evaluator of that name.

Sources: Datalayer contract, sections 3 (execution) and 4 (grading). The API key never stands in a plan: it is read from
``DATALAYER_API_KEY``, and only where something is sent to the platform.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, model_validator

from tui_eval.spec.evaluator_options import EvaluatorOptions, JudgeOptions
from tui_eval.spec.marks import Address, HeaderEntries, Verbatim
from tui_eval.spec.model import Seconds, Strict
from tui_eval.spec.solution_options import Headers, Variables

API_KEY = "DATALAYER_API_KEY"
"""The environment variable that holds the platform's key."""
API_URL = "DATALAYER_AI_AGENTS_URL"
"""The environment variable that says where the platform is."""
DEFAULT_API_URL = "https://r1.datalayer.run"
LOCAL_BASE_URL = "http://localhost:8765"
SERVER_COMMAND = (
    "agent-runtimes",
    "serve",
    "--host",
    "{host}",
    "--port",
    "{port}",
    "--protocol",
    "vercel-ai",
    "--log-level",
    "info",
    "--disable-tool-approvals",
)
_LOOPBACK = frozenset(("localhost", "::1"))


def is_here(base_url: str) -> bool:
    """Whether an address is of this machine."""
    host = urlsplit(base_url).hostname
    return host in _LOOPBACK or bool(host and host.startswith("127."))


class AgentServer(Strict):
    """The agent-runtimes server that agents are made on: the one that answers at ``base_url``, else one that is started.

    One that was started is ended with the run, whatever ends it; its output goes to a log beside the history.
    """

    base_url: Annotated[str, Address] = Field(LOCAL_BASE_URL, description="The server to use when it answers.")
    start: Literal["when_needed", "always", "never"] = Field(
        "when_needed", description="Start one: when none answers (on this machine only), always, or never."
    )
    command: list[str] = Field(
        default_factory=lambda: list(SERVER_COMMAND),
        min_length=1,
        description="Program and arguments; `{host}` and `{port}` are filled in. Default: `agent-runtimes serve …`.",
    )
    env: Variables = Field(default_factory=dict, description="Added to the server's environment.")
    ready_timeout_seconds: Seconds = Field(90.0, description="Until it must say that it is well.")
    create_timeout_seconds: Seconds = Field(120.0, description="Until an agent must be made.")
    grace_seconds: float = Field(
        5.0, ge=0, allow_inf_nan=False, description="Between TERM and KILL of a started server."
    )
    headers: Annotated[Headers, HeaderEntries] = Field(
        default_factory=dict, description="Sent to make and delete agents (never an API key unless you write it)."
    )

    @property
    def may_be_started(self) -> bool:
        """Whether a run can start a server of its own."""
        return self.start == "always" or (self.start == "when_needed" and is_here(self.base_url))


class CloudLaunch(Strict):
    """How the platform runs the evalset (its launches; contract, section 3c)."""

    concurrency: int = Field(4, ge=1, description="Cases at once, on the platform.")
    environment: str = Field("ai-agents-env", description="Environment of the runtimes.")
    time_reservation_minutes: int = Field(60, ge=1, description="Reserved for each runtime.")
    credits_limit: float | None = Field(
        None, gt=0, allow_inf_nan=False, description="Credits that a launch may use at most."
    )
    git: dict[str, Any] | None = Field(None, description="A repository for the runtimes, as the platform takes it.")
    request_timeout_seconds: Seconds = Field(180.0, description="One case, on the platform.")
    watch_timeout_seconds: Seconds = Field(3600.0, description="One launch; it is cancelled then.")
    queue_timeout_seconds: Seconds = Field(180.0, description="A launch that is still queued then is cancelled.")
    poll_interval_seconds: Seconds = Field(5.0, description="Between two looks at a launch.")


class DatalayerOptions(Strict):
    """Where the agents of this plan's agentspecs run, and whether the results are reported to Datalayer."""

    execution_target: Literal["local", "cloud"] = Field(
        "local", description="Agents on a server here, or launches on the platform (with an API key)."
    )
    grading: Literal["strict", "compat"] = Field("strict", description="How the evalset's pass rate is judged.")
    server: AgentServer = Field(default_factory=AgentServer, description="The agent-runtimes server of local runs.")
    agent: dict[str, Any] = Field(
        default_factory=dict, description="Added to what makes an agent: `model`, `system_prompt`, `backendTools`, …"
    )
    cloud: CloudLaunch = Field(default_factory=CloudLaunch, description="Launches on the platform.")
    report: bool = Field(False, description="Report evalset, experiments and runs to the platform.")
    evalset_name: str | None = Field(None, min_length=1, description="Name of the evalset on the platform.")
    report_folder: str | None = Field(
        None, min_length=1, description="Folder for the report (Markdown and CSV) at the end; from the plan's folder."
    )
    run_environment: Literal["ui", "sdk"] = Field("sdk", description="Lane of the evalset on the platform.")
    launch_source: str = Field("tui-eval", description="Where the platform's records say that they come from.")
    account_uid: str | None = Field(None, description="Account that the platform's records belong to.")
    api_url: Annotated[str | None, Address] = Field(
        None, description="The platform. Default: `DATALAYER_AI_AGENTS_URL`, else https://r1.datalayer.run."
    )
    spec: Annotated[dict[str, Any] | None, Verbatim] = Field(
        None, description="The evalset itself, where the dataset is no evalset file: for reporting and launches."
    )


class JudgeModel(Strict):
    """The model that `llm_judge` asks: an OpenAI-compatible endpoint."""

    base_url: Annotated[str, Address]
    model: str
    api_key: str | None = Field(None, description="Sent as a bearer token; write `${NAME}`.")
    params: dict[str, Any] = Field(default_factory=lambda: {"temperature": 0})
    headers: Annotated[Headers, HeaderEntries] = Field(default_factory=dict)
    max_retries: int = Field(2, ge=0, le=20)

    def asking(self, rubric: str) -> JudgeOptions:
        """The options of a judge that scores from 0 to 1 by ``rubric``."""
        given = self.model_dump(by_alias=True, exclude_unset=False)
        return JudgeOptions(id="judge", rubric=rubric, **given)


class DatalayerGrading(EvaluatorOptions):
    """The evaluators that a Datalayer evalset names for a case: `equals_expected`, `contains`, `llm_judge`.

    `strict`: a verdict is given only where something was compared. An unknown evaluator, nothing to look for, an expected
    value without a text to compare, no evaluator at all, or a judge that gave none leave the case unscored. `compat`: as
    Datalayer's own runner decides, which passes all of these (but fails where a judge gives no verdict).
    """

    variables = None

    id: Literal["datalayer"] = "datalayer"
    grading: Literal["strict", "compat"] = Field(
        "strict", description="`strict`: what cannot be compared is unscored; `compat`: as Datalayer's runner."
    )
    judge: JudgeModel | None = Field(None, description="The model that `llm_judge` asks.")
    output_schema: dict[str, Any] | bool | None = Field(
        None, description="Also check the output against this JSON Schema."
    )

    def judge_options(self) -> JudgeOptions | None:
        return self.judge.asking("-") if self.judge is not None else None

    @model_validator(mode="after")
    def _no_negation(self) -> DatalayerGrading:
        if self.negate:
            raise ValueError("`not` goes with one check; an evalset's grading is several")
        return self


class DatalayerVerdict(EvaluatorOptions):
    """The verdict of Datalayer's platform on a case that it ran (solution `datalayer_cloud`)."""

    id: Literal["datalayer_platform"] = "datalayer_platform"


GRADED = {
    "expected_output": "dataset.expected_output",
    "evaluators": "dataset.evaluators",
    "prompt": "dataset.prompt",
}
"""The ``variable_mapping`` of the evaluator for the cases of an evalset."""
