"""What a plan says for all its requests: whether a file is a plan at all, its version, name and runtime."""

from __future__ import annotations

from tui_eval.spec import foreign, kinds
from tui_eval.spec.findings import Findings
from tui_eval.spec.model import PlanHead
from tui_eval.spec.nodes import Node, Place, items_of
from tui_eval.spec.validation import known_keys, validated


def is_a_plan(root: Node, findings: Findings) -> bool:
    """False, with a fault, for what is something else altogether: one clear word instead of a list of faults."""
    if not root.is_map:
        findings.add(root.place, "a plan must be a map of keys", "it starts with `version: 1`")
        return False
    sections = [root.get("defaults"), *items_of(root.get("requests"))]
    section_keys = {key for section in sections if section is not None and section.is_map for key in section.value}
    if foreign.is_orchestration(root.value, section_keys):
        what = "an AgentCompass orchestration (requests of benchmark, harness, model)"
        hint = "`tui-eval run FILE` takes it as it is"
    elif foreign.is_evalset(root.value):
        what = "a Datalayer evalset"
        hint = "run it with `tui-eval run FILE --agentspec NAME`, or name it as the `path` of a dataset"
    elif _word(root, "type") in kinds.SOLUTIONS and "requests" not in root.value:
        what, hint = "a saved solution", "name it in a plan: `use: FILE`"
    elif _word(root, "id") in kinds.EVALUATORS and "requests" not in root.value:
        what, hint = "a saved evaluator", "name it in a plan, in `evaluators`: `- use: FILE`"
    else:
        return True
    findings.add(root.place, f"this looks like {what}, not a plan", hint)
    return False


def _word(root: Node, key: str) -> str:
    """The text at ``key``, "" where there is none or something else."""
    node = root.get(key)
    return node.value if node is not None and isinstance(node.value, str) else ""


def plan_head(root: Node, findings: Findings) -> PlanHead | None:
    """The settings of the plan as a whole, None when they have a fault."""
    part = {key: root.value[key] for key in known_keys(PlanHead) if key in root.value}
    node = Node(part, root.place, keys=root.keys)
    version = part.pop("version", None)
    if version is None:
        findings.add(
            Place(root.place.file, 1 if root.place.line else 0, 1 if root.place.line else 0, ("version",)),
            "`version` is missing",
            "write `version: 1`",
        )
    elif isinstance(version.value, bool) or not isinstance(version.value, int):
        what = f'the text "{version.value}"' if isinstance(version.value, str) else "something else"
        findings.add(root.keys["version"], f"version must be the number 1, not {what}", "write `version: 1`")
    elif version.value != 1:
        findings.add(root.keys["version"], f"version {version.value} is not known", "this program reads version 1")
    node.value["version"] = Node(1, root.place)
    head = validated(PlanHead, node, findings, what="a plan")
    if head is not None:
        _check_runtime(root, findings)
    return head


def _check_runtime(root: Node, findings: Findings) -> None:
    runtime = root.get("runtime")
    results = runtime.get("results_dir") if runtime is not None else None
    if runtime is not None and results is not None and "${" in str(results.value):
        findings.add(runtime.keys["results_dir"], "${…} is not replaced in `results_dir`", "write the folder out")
    for table in ("provider_limits", "qps"):
        limits = runtime.get(table) if runtime is not None else None
        for host, place in limits.keys.items() if limits is not None else ():
            port = host.rpartition(":")[2]
            if port in ("80", "443"):
                scheme = "http" if port == "80" else "https"
                findings.warn(
                    place, f"port {port} is not part of an {scheme} host", f"write `{host[: -len(port) - 1]}`"
                )
