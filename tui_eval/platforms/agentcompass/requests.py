"""One request of an orchestration, composed: the defaults merged in, and everything that is wrong with it told."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tui_eval.platforms.agentcompass import checks, fields
from tui_eval.platforms.agentcompass.components import check_components
from tui_eval.platforms.agentcompass.config import ConfigStack
from tui_eval.platforms.agentcompass.orchestration import Checks, ComposedRequest
from tui_eval.platforms.agentcompass.paths import run_folder
from tui_eval.platforms.agentcompass.scalars import surprises
from tui_eval.spec.findings import Findings
from tui_eval.spec.nodes import Node, Place, merge


@dataclass(frozen=True, slots=True)
class Around:
    """What a request stands in: the defaults of its file, AgentCompass's own configuration files, the folder of
    results, what it is checked against, and where faults are told."""

    defaults: Node | None
    config: ConfigStack
    results_dir: Path
    against: Checks
    findings: Findings


def compose_request(node: Node, index: int, around: Around) -> tuple[ComposedRequest | None, Place]:
    """The request at ``index`` (None for what is no map), and the place of its name. Its ``sections`` are empty."""
    findings = around.findings
    if node.value is None:
        node = Node({}, node.place)
    if not node.is_map:
        findings.add(node.place, "a request must be a map of keys", "start it with `name`")
        return None, node.place
    checks.check_keys(node, fields.REQUEST, findings, "a request")
    typed = text_of(node, "name")
    checks.check_sections(node, f"requests.{typed}" if typed else "the request's part", findings)
    name = _name(node, findings)
    merged, ids = _merged(node, around)
    check_components(merged, ids, around.against.catalog, findings, preloaded=around.against.preloaded)
    checks.check_model(merged["model"], node, findings)
    execution = merge(around.config.section("execution"), merged["execution"]) or Node({}, node.place)
    checks.check_execution(execution, findings)
    runtime = merged["runtime"] or Node({}, node.place)
    checks.check_run_runtime(runtime, findings)
    output = merged["output"] or Node({}, node.place)
    reuse_run_id = _path_text(runtime, "reuse_run_id", findings).strip()
    request = ComposedRequest(
        name=name,
        position=index,
        benchmark=ids["benchmark"],
        harness=ids["harness"],
        environment=ids["environment"],
        model=text_of(merged["model"], "id"),
        sections={},
        k=_attempts(execution),
        run_name=_path_text(output, "run_name", findings),
        run_id=_path_text(output, "run_id", findings).strip(),
        reuse=_reuse(runtime) or bool(reuse_run_id),
        reuse_run_id=reuse_run_id,
        max_retries=_retries(execution),
    )
    if around.against.paths and request.name:
        _check_folders(request, runtime, output, around)
    _warn_of_reuse(request, runtime, findings)
    return request, node.keys.get("name", node.place)


def _merged(node: Node, around: Around) -> tuple[dict[str, Node | None], dict[str, str]]:
    """The sections over those of the defaults and of AgentCompass's own files, and the ids of the components."""
    merged = {key: merge(map_of(around.defaults, key), map_of(node, key)) for key in fields.SECTIONS}
    ids = {kind: _component_id(kind, merged[kind], node, around.findings) for kind in fields.COMPONENTS}
    for kind, identity in ids.items():
        if (section := merged[kind]) is not None:
            merged[kind] = merge(around.config.component(kind, identity), section)
    return merged, ids


def _name(node: Node, findings: Findings) -> str:
    child = node.get("name")
    place = node.keys.get("name", node.place)
    if child is not None and (child.is_map or child.is_list):
        findings.add(place, "a request's name must be a text")
        return ""
    name = str((child.value if child is not None else "") or "").strip()
    if not name:
        findings.add(place, "a request needs a name", "it becomes the name of a folder: letters, digits, - and _")
    elif child is not None and surprises(child):
        findings.warn(place, f"AgentCompass reads the unquoted name `{child.typed}` as `{name}`", "quote it")
    return name


def _component_id(kind: str, section: Node | None, request: Node, findings: Findings) -> str:
    child = section.get("id") if section is not None else None
    identity = str((child.value if child is not None else "") or "").strip()
    if not identity:
        place = section.place if section is not None else request.place
        findings.add(
            place,
            f"the request has no {kind}: `{kind}.id` is missing, in the request and in the defaults",
            "write `environment: {id: host_process}`" if kind == "environment" else "",
        )
    return identity


def _path_text(section: Node, key: str, findings: Findings) -> str:
    """A text that becomes a part of a path. What YAML takes for something else is a fault: AgentCompass would look for
    another folder."""
    node = section.get(key)
    if node is None or node.value is None or node.value == "":
        return ""
    if surprises(node):
        findings.add(
            checks.place_of(section, key),
            f"AgentCompass reads the unquoted `{node.typed}` as {node.value!r}, and would use the folder `{node.value}`",
            f'quote it: {key}: "{node.typed}"',
        )
    return str(node.value)


def _check_folders(request: ComposedRequest, runtime: Node, output: Node, around: Around) -> None:
    """The run that is reused must be there, the one that is made must not."""
    if request.reuse_run_id:
        source = run_folder(around.results_dir, request.run_name, request.name, request.reuse_run_id)
        if not source.exists():
            around.findings.add(
                checks.place_of(runtime, "reuse_run_id"),
                f"there is no earlier run `{request.reuse_run_id}` of this request: {source} does not exist",
            )
    if request.run_id:
        target = run_folder(around.results_dir, request.run_name, request.name, request.run_id)
        if target.exists():
            around.findings.add(
                checks.place_of(output, "run_id"),
                f"the run id `{request.run_id}` is taken: {target} exists",
                "choose another one, or leave it out",
            )


def _warn_of_reuse(request: ComposedRequest, runtime: Node, findings: Findings) -> None:
    if request.reuse and not request.max_retries:
        findings.warn(
            checks.place_of(runtime, "reuse_run_id" if request.reuse_run_id else "reuse"),
            "with max_retries 0, failed tasks are taken over as they are and nothing is run again; a wrong answer never is",
            "to run failures again: tui-eval rerun RUN --failed",
        )


def map_of(holder: Node | None, key: str) -> Node | None:
    """The map at ``key``, None for what is none."""
    node = holder.get(key) if holder is not None else None
    return node if node is not None and node.is_map else None


def text_of(section: Node | None, key: str) -> str:
    """The text at ``key`` without blanks around, "" for what is no single value."""
    node = section.get(key) if section is not None else None
    return "" if node is None or node.value is None or node.is_map or node.is_list else str(node.value).strip()


def _attempts(execution: Node) -> int:
    attempts = execution.get("attempts")
    k = attempts.get("k") if attempts is not None else None
    return k.value if k is not None and type(k.value) is int and k.value > 0 else 1


def _retries(execution: Node) -> int:
    node = execution.get("max_retries")
    try:
        return max(0, int(node.value)) if node is not None else 0
    except (TypeError, ValueError):
        return 0


def _reuse(runtime: Node) -> bool:
    node = runtime.get("reuse")
    return node is not None and node.value is True
