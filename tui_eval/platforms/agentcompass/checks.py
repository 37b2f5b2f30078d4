"""What the values of a section must be: the rules that AgentCompass applies when it resolves an orchestration.

Every check takes the merged section, so that a fault names the place where the value was typed: in the request or in
the defaults.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

from tui_eval.platforms.agentcompass import fields
from tui_eval.spec.findings import Findings
from tui_eval.spec.nearest import suggestion
from tui_eval.spec.nodes import Node, Place


def place_of(section: Node, key: str) -> Place:
    """Where ``key`` of a map was typed."""
    return section.keys.get(key, section.place)


def number_of(value: Any) -> float | None:
    """What Python's ``float`` makes of a value, None when it is no finite number. AgentCompass takes numbers as text."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def check_keys(section: Node, known: Iterable[str], findings: Findings, what: str) -> None:
    """Refuse keys that the section does not have."""
    known = tuple(known)
    for key, place in section.keys.items():
        if key in section.value and key not in known:
            findings.add(place, f"unknown key `{key}` in {what}", suggestion(key, known))


def section_of(
    holder: Node, key: str, what: str, findings: Findings, known: tuple[str, ...] | None = None
) -> Node | None:
    """A section that is a map of ``known`` keys (None: of any), or None where there is none (null counts as none)."""
    node = holder.get(key)
    if node is None or node.value is None:
        return None
    if not node.is_map:
        findings.add(holder.keys.get(key, node.place), f"{what} must be a map of keys")
        return None
    if known is not None:
        check_keys(node, known, findings, what)
    return node


def check_sections(holder: Node, what: str, findings: Findings) -> None:
    """The parts of a request, or of the defaults, each by itself."""
    for key in fields.SECTIONS:
        section = section_of(holder, key, f"{what}.{key}", findings, fields.KEYS.get(key))
        if section is None:
            continue
        if key in fields.COMPONENTS and "params" in section.value:
            findings.add(
                section.keys["params"],
                f"{what}.{key} has no `params`: parameters stand beside `id`",
                "move them one level up",
            )
        if key == "execution" and "task_concurrency" in section.value:
            findings.add(
                section.keys["task_concurrency"],
                f"{what}.execution has no task_concurrency: it is one for the whole orchestration",
                "write `task_concurrency` at the top of the file",
            )
        if key == "model" and "params" in section.value and not section.value["params"].is_map:
            findings.add(section.keys["params"], f"{what}.model.params must be a map")


def check_runtime(runtime: Node, findings: Findings) -> None:
    """The ``runtime`` of the whole orchestration."""
    for key in ("timeout_seconds", "cleanup_grace_seconds"):
        node = runtime.get(key)
        if node is not None and node.value is not None:
            number = number_of(node.value)
            if number is None or number < 0:
                findings.add(place_of(runtime, key), f"{key} must be a number of seconds, 0 or more")
    for key, choices, fold in (
        ("progress", fields.PROGRESS, str.lower),
        ("log_level", fields.LOG_LEVELS, str.upper),
        ("file_log_level", fields.LOG_LEVELS, str.upper),
    ):
        node = runtime.get(key)
        if node is not None and node.value not in (None, "") and fold(str(node.value).strip()) not in choices:
            findings.add(place_of(runtime, key), f"{key} must be one of {', '.join(choices)}")
    for key in ("provider_limits", "env_open_qps"):
        _check_by_environment(runtime, key, findings)
    _check_texts(runtime, "recipe_dirs", findings)
    _check_boolean(runtime, "auto_install_dependencies", findings)
    if runtime.get("log_file") is not None:
        findings.warn(
            place_of(runtime, "log_file"),
            "AgentCompass 1.0.1 stores `log_file` and never reads it",
            "its log is `run.log` in the folder of each request; the run's own log is beside the history",
        )


def _check_by_environment(runtime: Node, key: str, findings: Findings) -> None:
    node = runtime.get(key)
    if node is None or node.value is None:
        return
    if not node.is_map:
        findings.add(place_of(runtime, key), f"{key} must be a map of environment ids to numbers")
        return
    for name, child in node.value.items():
        whole = (
            key == "provider_limits" and isinstance(child.value, str) and not child.value.strip().lstrip("+-").isdigit()
        )
        if number_of(child.value) is None or whole:
            noun = "a whole number" if key == "provider_limits" else "a number"
            findings.add(place_of(node, name), f"{key} of `{name}` must be {noun} (0 is no limit)")


def check_model(model: Node | None, request: Node, findings: Findings) -> None:
    """The merged ``model`` of a request."""
    identity = model.get("id") if model is not None else None
    if model is None or not str(identity.value if identity is not None and identity.value is not None else "").strip():
        place = request.place if model is None else model.place
        findings.add(place, "the request has no model: `model.id` is missing, in the request and in the defaults")
    if model is None:
        return
    params = model.get("params")
    if params is not None and not params.is_map:
        findings.add(place_of(model, "params"), "model.params must be a map")
    wrap = model.get("wrap_api_key")
    if wrap is not None and not isinstance(wrap.value, bool):
        findings.add(place_of(model, "wrap_api_key"), "wrap_api_key must be true or false")
    _check_protocol(model, findings)


def _check_protocol(model: Node, findings: Findings) -> None:
    node = model.get("api_protocol")
    if node is None or node.value is None:
        return
    names = [item.value for item in node.value] if node.is_list else [node.value]
    texts = [str(name).strip().lower() for name in names]
    for text in texts:
        if text and text != "auto" and text not in fields.PROTOCOLS:
            findings.add(
                place_of(model, "api_protocol"),
                f"`{text}` is no protocol of AgentCompass",
                suggestion(text, (*fields.PROTOCOLS, "auto")),
            )
    if "auto" in texts and len(set(filter(None, texts))) > 1:
        findings.add(place_of(model, "api_protocol"), "`auto` cannot stand beside other protocols")


def check_execution(execution: Node, findings: Findings) -> None:
    """The merged ``execution`` of a request."""
    for key in fields.POSITIVE + fields.POSITIVE_OR_NULL:
        node = execution.get(key)
        if node is None or (node.value is None and key in fields.POSITIVE_OR_NULL):
            continue
        number = number_of(node.value)
        if number is None or number <= 0:
            findings.add(place_of(execution, key), f"{key} must be a number above 0")
    _check_delays(execution, findings)
    for key in ("keep_environment", "enable_analysis"):
        _check_boolean(execution, key, findings, null=False)
    _check_boolean(execution, "save_artifacts", findings)
    retries = execution.get("max_retries")
    if retries is not None and not _is_int(retries.value):
        findings.add(place_of(execution, "max_retries"), "max_retries must be a whole number, 0 or more")
    for key in ("analysis_params",):
        node = execution.get(key)
        if node is not None and node.value is not None and not node.is_map:
            findings.add(place_of(execution, key), f"{key} must be a map")
    _check_attempts(execution, findings)
    _check_patterns(execution, findings)
    _check_lists(execution, findings)


def _is_int(value: Any) -> bool:
    """True for what Python's ``int`` takes (AgentCompass uses it)."""
    try:
        int(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def _check_delays(execution: Node, findings: Findings) -> None:
    values = {"retry_min_delay_seconds": 5.0, "retry_max_delay_seconds": 60.0}
    for key in values:
        node = execution.get(key)
        number = number_of(node.value) if node is not None else None
        values[key] = number if number is not None else values[key]
    if values["retry_max_delay_seconds"] < values["retry_min_delay_seconds"]:
        key = next((key for key in values if execution.get(key) is not None), "retry_max_delay_seconds")
        findings.add(
            place_of(execution, key),
            "retry_max_delay_seconds must not be less than retry_min_delay_seconds (5 and 60 where not given)",
        )


def _check_attempts(execution: Node, findings: Findings) -> None:
    node = execution.get("attempts")
    if node is None:
        return
    if not node.is_map:
        findings.add(place_of(execution, "attempts"), "attempts must be a map of `k` and `strategy`")
        return
    check_keys(node, ("k", "strategy"), findings, "execution.attempts")
    k = node.get("k")
    if k is not None and (type(k.value) is not int or k.value < 1):
        findings.add(place_of(node, "k"), "attempts.k must be a whole number, 1 or more")
    strategy = node.get("strategy")
    if strategy is not None and str(strategy.value).strip().lower() not in fields.STRATEGIES:
        findings.add(place_of(node, "strategy"), f"attempts.strategy must be one of {', '.join(fields.STRATEGIES)}")


def _check_patterns(execution: Node, findings: Findings) -> None:
    node = execution.get("retry_pattern_list")
    if node is None or node.value is None:
        return
    if not node.is_list:
        findings.add(
            place_of(execution, "retry_pattern_list"), "retry_pattern_list must be a list of regular expressions"
        )
        return
    for item in node.value:
        if not isinstance(item.value, str):
            findings.add(item.place, "retry_pattern_list must hold texts only", "quote it")
            continue
        try:
            re.compile(item.value)
        except (re.error, RecursionError, OverflowError) as error:
            findings.add(item.place, f"retry_pattern_list: `{item.value[:60]}` is no regular expression: {error}")


def _check_lists(execution: Node, findings: Findings) -> None:
    for key in ("artifacts", "artifact_collect"):
        node = execution.get(key)
        if node is not None and node.value is not None and not node.is_list:
            findings.add(place_of(execution, key), f"{key} must be a list")
    limits = execution.get("artifact_limits")
    if limits is not None and limits.value is not None:
        if not limits.is_map:
            findings.add(place_of(execution, "artifact_limits"), "artifact_limits must be a map")
        else:
            check_keys(limits, ("max_mb", "max_files", "timeout_seconds"), findings, "execution.artifact_limits")


def check_run_runtime(runtime: Node, findings: Findings) -> None:
    """The merged ``runtime`` of a request: reuse."""
    for key in ("reuse", "checkpoint_resume"):
        _check_boolean(runtime, key, findings)


def _check_boolean(section: Node, key: str, findings: Findings, *, null: bool = True) -> None:
    node = section.get(key)
    if node is None or isinstance(node.value, bool) or (null and node.value is None):
        return
    findings.add(place_of(section, key), f"{key} must be true or false{' (or null)' if null else ''}")


def _check_texts(section: Node, key: str, findings: Findings) -> None:
    node = section.get(key)
    if node is None or node.value in (None, ""):
        return
    if not node.is_list or any(not isinstance(item.value, str) for item in node.value):
        findings.add(place_of(section, key), f"{key} must be a list of paths")
