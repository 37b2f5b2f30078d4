"""The ``agentloop`` section of a plan: which experiment plan of the platform is run here and reported there.

The names are those of the platform's guide (AgentLoop contract, section 1.1). Credentials never stand in a plan.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from tui_eval.spec.model import Strict


class AgentLoopEvaluator(Strict):
    """An evaluator for the platform to judge with: one of its own by ``evaluator_ref``, or one by ``name``."""

    evaluator_ref: str = Field("", description="An evaluator of the platform, as `Builtin.agent_correctness`.")
    name: str = Field("", description="Name of an evaluator that is described here, instead of `evaluator_ref`.")
    type: str = Field("", description="Its type; taken from the platform when it is empty.")
    result_name: str = Field("", description="Name of the score; the evaluator's metric when it is empty.")
    result_type: Literal["score", "binary", "text", ""] = Field("", description="What kind of result it gives.")
    variable_mapping: dict[str, str] = Field(
        default_factory=dict,
        description="Its variables: `experiment_input`, `experiment_output` or `dataset.<column>`.",
    )
    filters: dict[str, Any] = Field(default_factory=dict, description="As the platform takes them.")
    config: dict[str, Any] = Field(default_factory=dict, description="As the platform takes it.")

    @model_validator(mode="after")
    def _one_name(self) -> AgentLoopEvaluator:
        if bool(self.evaluator_ref) == bool(self.name):
            raise ValueError("give either evaluator_ref (an evaluator of the platform) or name")
        return self

    @field_validator("variable_mapping")
    @classmethod
    def _known_sources(cls, mapping: dict[str, str]) -> dict[str, str]:
        for variable, source in mapping.items():
            column = source.startswith("dataset.") and len(source) > len("dataset.")
            if source not in ("experiment_input", "experiment_output") and not column:
                raise ValueError(
                    f"`{variable}: {source[:60]}` must be experiment_input, experiment_output or dataset.<column>"
                )
        return mapping


class AgentLoopOptions(Strict):
    """An experiment plan of AgentLoop: requests without a dataset of their own take its rows, and are reported to it."""

    agent_space: str = Field(min_length=1, description="Name of the agent space.")
    experiment_plan_id: str = Field(min_length=1, description="The experiment plan (an offline one).")
    region_id: str = Field(min_length=1, description="Region of the platform, as `cn-hangzhou`.")
    project: str = Field("", description="Log project. Default: that of the agent space.")
    experiment_name: str = Field("", description="Name of the experiment group. Default: `experimentA`.")
    experiment_config: dict[str, Any] = Field(default_factory=dict, description="Kept with every reported result.")
    max_rows: int = Field(1000, ge=1, description="At most so many rows of the dataset.")
    query: str = Field("", description="Condition for the rows, instead of the plan's own (SQL after WHERE).")
    ground_truth_field: str = Field("", description="Column with the expected answer, for functions that read it.")
    evaluators: list[AgentLoopEvaluator] = Field(
        default_factory=list, description="Checked here; the platform judges with those of its own plan."
    )
    report: bool = Field(True, description="Report the results to the platform.")
    wait_for_scores_seconds: float = Field(
        300.0, ge=0, allow_inf_nan=False, description="How long to wait for the platform's scores in the background."
    )
    result_dir: str | None = Field(None, description="Also write AgentLoop's own result files below this folder.")
    vpc: bool = Field(False, description="Use the endpoints inside the VPC.")
    custom_agentloop_endpoint: str = Field("", description="host[:port] of the platform, instead of the region's.")
    custom_sls_endpoint: str = Field("", description="host[:port] of the log service, instead of the region's.")

    def kept_under(self, what: str, *, of_space: bool = True) -> str:
        """The name that the platform's last answer about ``what`` is kept under: by place, and by agent space where it
        belongs to one."""
        place = self.custom_agentloop_endpoint or self.region_id
        return f"{what} {place} {self.agent_space if of_space else ''}".strip()

    def with_evaluators(self, sections: list[dict[str, Any]]) -> AgentLoopOptions:
        """The same with other evaluators. Raises ValueError for one that cannot be."""
        found = [AgentLoopEvaluator.model_validate(section) for section in sections]
        return self.model_copy(update={"evaluators": found})
