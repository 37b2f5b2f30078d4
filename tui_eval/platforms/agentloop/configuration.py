"""``AgentLoopConfig`` and ``EvaluatorConfig`` of the guide: the same parameters and defaults (contract, section 1.1)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass
class EvaluatorConfig:
    """An evaluator that the platform judges with: ``evaluator_ref`` (``Builtin.agent_correctness``), or a ``name``."""

    evaluator_ref: str = ""
    name: str = ""
    type: str = ""
    result_name: str = ""
    result_type: str = ""
    filters: dict[str, Any] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)
    variable_mapping: dict[str, str] = field(default_factory=dict)

    def section(self) -> dict[str, Any]:
        """As a plan file has it."""
        return {name: value for name, value in vars(self).items() if value}


@dataclass
class AgentLoopConfig:
    """Which experiment plan is run. Raises ValueError for what cannot be right.

    ``evaluators`` are checked against the platform before the first call; the platform judges with those of its own
    plan (``run_experiment(…, update_plan=True)`` adds the others to it). ``query`` is a condition for the rows, in place
    of the plan's. ``experiment_config`` is kept with every result. Keys that are not given come from the environment or
    the profile of ``aliyun configure``.
    """

    agent_space: str
    experiment_plan_id: str
    region_id: str
    project: str = ""
    query: str = ""
    max_rows: int = 1000
    evaluators: list[EvaluatorConfig] | None = None
    ground_truth_field: str = ""
    custom_agentloop_endpoint: str = ""
    custom_sls_endpoint: str = ""
    experiment_name: str = ""
    experiment_config: dict[str, Any] = field(default_factory=dict)
    access_key_id: str = field(default="", repr=False)
    access_key_secret: str = field(default="", repr=False)
    security_token: str = field(default="", repr=False)
    agentloop_endpoint: str | None = None
    sls_endpoint: str | None = None

    def __post_init__(self) -> None:
        for name in ("agent_space", "experiment_plan_id", "region_id"):
            if not getattr(self, name):
                raise ValueError(f"{name} must not be empty")
        if self.max_rows is None or self.max_rows < 1:
            raise ValueError(f"max_rows must be at least 1, not {self.max_rows}")

    def section(self) -> dict[str, Any]:
        """The ``agentloop`` section of a plan that means the same."""
        given = {
            "agent_space": self.agent_space,
            "experiment_plan_id": self.experiment_plan_id,
            "region_id": self.region_id,
            "project": self.project,
            "query": self.query,
            "max_rows": self.max_rows,
            "ground_truth_field": self.ground_truth_field,
            "custom_agentloop_endpoint": self.agentloop_endpoint or self.custom_agentloop_endpoint,
            "custom_sls_endpoint": self.sls_endpoint or self.custom_sls_endpoint,
            "experiment_name": self.experiment_name,
            "experiment_config": dict(self.experiment_config or {}),
            "evaluators": [evaluator.section() for evaluator in self.evaluators or ()],
        }
        # What a program gives is a value, never a reference to the environment.
        return {name: _literal(value) for name, value in given.items() if value}

    def environment(self, base: Mapping[str, str] | None = None) -> dict[str, str]:
        """``base`` (default: ours) with the keys that were given put first."""
        from tui_eval.platforms.agentloop.credentials import find_credentials

        environment = dict(os.environ if base is None else base)
        if self.access_key_id or self.access_key_secret:
            found = find_credentials(
                environment,
                access_key_id=self.access_key_id or "",
                access_key_secret=self.access_key_secret or "",
                security_token=self.security_token or "",
            )
            environment["AGENTLOOP_AK"] = found.access_key_id
            environment["AGENTLOOP_SK"] = found.access_key_secret
            environment["AGENTLOOP_SECURITY_TOKEN"] = found.security_token
        return environment


def _literal(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace("${", "$${")
    if isinstance(value, dict):
        return {key: _literal(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_literal(item) for item in value]
    return value
