"""The keys of an orchestration file of version 1, as AgentCompass 1.0.1 takes them (contract, section 1)."""

from __future__ import annotations

TOP = ("version", "name", "task_concurrency", "runtime", "defaults", "requests")
COMPONENTS = {"benchmark": "benchmark", "harness": "harness", "environment": "environment"}
SECTIONS = ("benchmark", "harness", "environment", "model", "execution", "runtime", "output")
REQUEST = ("name", *SECTIONS)
MODEL = ("id", "base_url", "api_key", "api_protocol", "params", "wrap_api_key")
RUN_RUNTIME = ("reuse", "reuse_run_id", "checkpoint_resume")
OUTPUT = ("run_name", "run_id")
RUNTIME = (
    "results_dir",
    "data_dir",
    "timeout_seconds",
    "cleanup_grace_seconds",
    "progress",
    "log_level",
    "file_log_level",
    "log_file",
    "auto_install_dependencies",
    "provider_limits",
    "env_open_qps",
    "recipe_dirs",
)
POSITIVE = (
    "retry_min_delay_seconds",
    "retry_max_delay_seconds",
    "timeout_multiplier",
    "run_timer_compensation_seconds",
    "runresult_collect_timeout_seconds",
)
"""Execution settings that are numbers above 0 and may not be null."""
POSITIVE_OR_NULL = (
    "run_timeout_seconds",
    "evaluation_timeout_seconds",
    "run_timeout_multiplier",
    "evaluation_timeout_multiplier",
    "artifact_collect_timeout_seconds",
)
EXECUTION = (
    "task_concurrency",
    "attempts",
    "enabled_recipes",
    "keep_environment",
    "enable_analysis",
    "analysis_params",
    "max_retries",
    "retry_pattern_list",
    *POSITIVE,
    *POSITIVE_OR_NULL,
    "artifact_limits",
    "save_artifacts",
    "artifacts",
    "artifact_collect",
)
KEYS = {"model": MODEL, "execution": EXECUTION, "runtime": RUN_RUNTIME, "output": OUTPUT}
"""The sections of requests and defaults whose keys are fixed."""
ENV_MAPS = frozenset(
    ("env", "env_variables", "run_env_variables", "evaluation_env_variables", "evaluation_environment_env_variables")
)
"""Maps inside an environment whose ``${NAME:-default}`` are resolved when a task is executed, not before."""
PROTOCOLS = ("openai-chat", "openai-responses", "anthropic")
PROGRESS = ("auto", "plain", "none")
LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
STRATEGIES = ("avg", "pass")
