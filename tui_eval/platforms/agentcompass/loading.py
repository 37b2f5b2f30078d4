"""An AgentCompass orchestration file -> an orchestration that can be launched, or every reason why not.

All faults are told at once, each with file, line and column. Whatever AgentCompass 1.0.1 refuses is refused here, and
so is what it would stumble over later: parameters that a component does not have, variables that are not set, run ids
that YAML takes for numbers. Nothing is executed or sent.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tui_eval.errors import Fault, SpecError
from tui_eval.platforms.agentcompass import checks, config, fields
from tui_eval.platforms.agentcompass.components import check_components
from tui_eval.platforms.agentcompass.credentials import hidden, typed_values
from tui_eval.platforms.agentcompass.orchestration import Checks, ComposedRequest, LoadedOrchestration
from tui_eval.platforms.agentcompass.paths import namespace, run_folder
from tui_eval.platforms.agentcompass.references import check_references, expanded, names_in
from tui_eval.platforms.agentcompass.scalars import as_compass_reads, surprises
from tui_eval.platforms.agentcompass.settings import with_settings
from tui_eval.spec.findings import Findings
from tui_eval.spec.nodes import Node, Place, merge, node_of
from tui_eval.spec.nodes import Path as KeyPath
from tui_eval.spec.secrets import Secrets
from tui_eval.spec.source import compose, read_text

__all__ = ["Checks", "ComposedRequest", "LoadedOrchestration", "load_orchestration"]


def load_orchestration(
    source: Path | Mapping[str, Any],
    *,
    settings: Mapping[KeyPath, Any] | None = None,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    against: Checks | None = None,
) -> LoadedOrchestration:
    """Load an orchestration from a file, or from its data.

    ``settings`` are values put over those of the file, by path (``("runtime", "results_dir")``). ``folder`` is where
    relative paths start: the current folder, as with ``agentcompass launch``. Raises :class:`SpecError` with every fault.
    """
    environment = os.environ if environment is None else environment
    folder = Path(os.path.abspath(folder if folder is not None else Path.cwd()))
    file, root, faults = _read(source)
    findings = Findings()
    findings.extend(faults)
    if root is None:
        raise SpecError(findings.faults(file))
    path = source if isinstance(source, Path) else None
    reader = _Reader(file, path, folder, findings, environment, against or Checks())
    loaded = reader.load(root, settings or {})
    if loaded is None:
        raise SpecError([*findings.faults(file)])
    return loaded


def _read(source: Path | Mapping[str, Any]) -> tuple[str, Node | None, list[Fault]]:
    if isinstance(source, Mapping):
        try:
            return "", node_of(source, Place()), []
        except ValueError as error:
            raise SpecError([Fault(str(error), hint="an orchestration is made of JSON values")]) from None
    name = str(source)
    root, faults = compose(read_text(source, name), name)
    return name, as_compass_reads(root) if root is not None else None, faults


class _Reader:
    def __init__(
        self,
        file: str,
        path: Path | None,
        folder: Path,
        findings: Findings,
        environment: Mapping[str, str],
        against: Checks,
    ) -> None:
        self.file, self.path, self.folder = file, path, folder
        self.findings = findings
        self.environment = environment
        self.against = against
        self.config = config.ConfigStack()

    def load(self, root: Node, settings: Mapping[KeyPath, Any]) -> LoadedOrchestration | None:
        findings = self.findings
        if not root.is_map:
            findings.add(root.place, "an orchestration must be a map of keys", "it starts with `version: 1`")
            return None
        findings.name_path = _named(root)
        root = with_settings(root, settings, findings)
        findings.name_path = _named(root)
        checks.check_keys(root, fields.TOP, findings, "an orchestration")
        check_references(root, self.environment, findings, check_set=self.against.environment_set)
        self.config = config.read_stack(self.folder, self.environment, self.against.config_files, findings)
        filled = expanded(root, self.environment)
        self._check_version(filled)
        concurrency = self._concurrency(filled)
        runtime = self._section(filled, "runtime", "runtime", fields.RUNTIME)
        runtime = merge(self.config.section("runtime"), runtime) or Node({}, root.place)
        checks.check_runtime(runtime, findings)
        defaults = self._defaults(filled)
        results_dir = self._results_dir(runtime)
        pairs = [self._request(node, index, defaults, results_dir) for index, node in enumerate(self._requests(filled))]
        self._check_names(pairs)
        if findings.has_faults:
            return None
        return self._loaded(root, runtime, concurrency, results_dir, [one for one, _ in pairs if one is not None])

    def _loaded(
        self, root: Node, runtime: Node, concurrency: int, results_dir: Path, requests: list[ComposedRequest]
    ) -> LoadedOrchestration:
        data = root.data()
        references = names_in(data)
        values = {name: self.environment[name] for name in references if self.environment.get(name)}
        name = root.get("name")
        return LoadedOrchestration(
            path=self.path,
            folder=self.folder,
            name=str(expanded(name, self.environment).value or "") if name is not None else "",
            task_concurrency=concurrency,
            results_dir=results_dir,
            timeout_seconds=_seconds(runtime, "timeout_seconds", 360000.0),
            grace_seconds=_seconds(runtime, "cleanup_grace_seconds", 30.0),
            requests=tuple(self._unexpanded(request, root) for request in requests),
            warnings=tuple(self.findings.warnings(self.file)),
            secrets=Secrets(values, typed_values(data)),
            data=data,
            stored=hidden(data),
            references=frozenset(references),
            config_files=self.config.files,
        )

    def _unexpanded(self, request: ComposedRequest, root: Node) -> ComposedRequest:
        """The request with its sections as typed: no value of the environment is kept."""
        defaults, items = root.get("defaults"), root.get("requests")
        node = items.value[request.position] if items is not None and items.is_list else None
        sections = {}
        for key in fields.SECTIONS:
            merged = merge(_map_of(defaults, key), _map_of(node, key))
            if merged is not None:
                sections[key] = merged.data()
        return replace(request, sections=hidden(sections))

    def _check_version(self, root: Node) -> None:
        node = root.get("version")
        if node is None:
            return
        if isinstance(node.value, bool) or node.value != 1:
            shown = f'the text "{node.value}"' if isinstance(node.value, str) else f"{node.value}"[:40]
            self.findings.add(root.keys["version"], f"version must be the number 1, not {shown}", "write `version: 1`")

    def _concurrency(self, root: Node) -> int:
        node = root.get("task_concurrency")
        place = root.keys.get("task_concurrency", root.place)
        if node is None or node.value is None:
            execution = self.config.section("execution")
            node = execution.get("task_concurrency") if execution is not None else None
            if node is None:
                return 32
            place = node.place
        value = node.value
        number = 0
        if isinstance(value, int | str) and not isinstance(value, bool):
            try:
                number = int(value)
            except ValueError:
                number = 0
        if number < 1:
            self.findings.add(place, "task_concurrency must be a whole number, 1 or more", "or leave it out: 32")
        return max(number, 1)

    def _results_dir(self, runtime: Node) -> Path:
        node = runtime.get("results_dir")
        text = str(node.value) if node is not None and node.value else "results"
        return self.folder / Path(text).expanduser()

    def _requests(self, root: Node) -> list[Node]:
        node = root.get("requests")
        place = replace(root.keys.get("requests", root.place), path=("requests",))
        if node is None or not node.is_list:
            self.findings.add(place, "an orchestration needs a list of requests", "start each with `- name: …`")
            return []
        if not node.value:
            self.findings.add(place, "the list of requests is empty", "start each with `- name: …`")
        return list(node.value)

    def _section(self, holder: Node, key: str, what: str, known: tuple[str, ...] | None = None) -> Node | None:
        """A section that is a map, or None where there is none (null counts as none)."""
        node = holder.get(key)
        if node is None or node.value is None:
            return None
        if not node.is_map:
            self.findings.add(holder.keys.get(key, node.place), f"{what} must be a map of keys")
            return None
        if known is not None:
            checks.check_keys(node, known, self.findings, what)
        return node

    def _defaults(self, root: Node) -> Node | None:
        node = self._section(root, "defaults", "defaults", fields.SECTIONS)
        if node is not None:
            self._check_sections(node, "defaults")
        return node

    def _check_sections(self, holder: Node, what: str) -> None:
        """The parts of a request, or of the defaults, each by itself."""
        for key in fields.SECTIONS:
            section = self._section(holder, key, f"{what}.{key}", fields.KEYS.get(key))
            if section is None:
                continue
            if key in fields.COMPONENTS and "params" in section.value:
                self.findings.add(
                    section.keys["params"],
                    f"{what}.{key} has no `params`: parameters stand beside `id`",
                    "move them one level up",
                )
            if key == "execution" and "task_concurrency" in section.value:
                self.findings.add(
                    section.keys["task_concurrency"],
                    f"{what}.execution has no task_concurrency: it is one for the whole orchestration",
                    "write `task_concurrency` at the top of the file",
                )
            if key == "model" and "params" in section.value and not section.value["params"].is_map:
                self.findings.add(section.keys["params"], f"{what}.model.params must be a map")

    def _request(
        self, node: Node, index: int, defaults: Node | None, results_dir: Path
    ) -> tuple[ComposedRequest | None, Place]:
        if node.value is None:
            node = Node({}, node.place)
        if not node.is_map:
            self.findings.add(node.place, "a request must be a map of keys", "start it with `name`")
            return None, node.place
        checks.check_keys(node, fields.REQUEST, self.findings, "a request")
        self._check_sections(
            node, "the request's part" if not _text(node, "name") else f"requests.{_text(node, 'name')}"
        )
        name = self._name(node)
        merged = {key: merge(_map_of(defaults, key), _map_of(node, key)) for key in fields.SECTIONS}
        ids = {kind: self._component_id(kind, merged[kind], node) for kind in fields.COMPONENTS}
        for kind, identity in ids.items():
            base = self.config.component(kind, identity)
            merged[kind] = merge(base, merged[kind]) if merged[kind] is not None else None
        check_components(merged, ids, self.against.catalog, self.findings, preloaded=self.against.preloaded)
        checks.check_model(merged["model"], node, self.findings)
        execution = merge(self.config.section("execution"), merged["execution"]) or Node({}, node.place)
        checks.check_execution(execution, self.findings)
        runtime = merged["runtime"] or Node({}, node.place)
        checks.check_run_runtime(runtime, self.findings)
        output = merged["output"] or Node({}, node.place)
        request = ComposedRequest(
            name=name,
            position=index,
            benchmark=ids["benchmark"],
            harness=ids["harness"],
            environment=ids["environment"],
            model=_text(merged["model"], "id"),
            sections={},
            k=_attempts(execution),
            run_name=self._path_text(output, "run_name"),
            run_id=self._path_text(output, "run_id").strip(),
            reuse=_reuse(runtime) or bool(self._path_text(runtime, "reuse_run_id").strip()),
            reuse_run_id=self._path_text(runtime, "reuse_run_id").strip(),
            max_retries=_retries(execution),
        )
        self._check_folders(request, runtime, output, results_dir)
        self._warn_of_reuse(request, runtime)
        return request, node.keys.get("name", node.place)

    def _name(self, node: Node) -> str:
        child = node.get("name")
        place = node.keys.get("name", node.place)
        if child is not None and (child.is_map or child.is_list):
            self.findings.add(place, "a request's name must be a text")
            return ""
        name = str((child.value if child is not None else "") or "").strip()
        if not name:
            self.findings.add(
                place, "a request needs a name", "it becomes the name of a folder: letters, digits, - and _"
            )
        elif child is not None and surprises(child):
            self.findings.warn(place, f"AgentCompass reads the unquoted name `{child.typed}` as `{name}`", "quote it")
        return name

    def _component_id(self, kind: str, section: Node | None, request: Node) -> str:
        child = section.get("id") if section is not None else None
        identity = str((child.value if child is not None else "") or "").strip()
        if not identity:
            place = section.place if section is not None else request.place
            self.findings.add(
                place,
                f"the request has no {kind}: `{kind}.id` is missing, in the request and in the defaults",
                "write `environment: {id: host_process}`" if kind == "environment" else "",
            )
        return identity

    def _path_text(self, section: Node, key: str) -> str:
        """A text that becomes a part of a path. What YAML takes for something else is a fault: AgentCompass would
        look for another folder."""
        node = section.get(key)
        if node is None or node.value is None or node.value == "":
            return ""
        if surprises(node):
            self.findings.add(
                checks.place_of(section, key),
                f"AgentCompass reads the unquoted `{node.typed}` as {node.value!r}, and would use the folder `{node.value}`",
                f'quote it: {key}: "{node.typed}"',
            )
        return str(node.value)

    def _check_folders(self, request: ComposedRequest, runtime: Node, output: Node, results_dir: Path) -> None:
        if not self.against.paths or not request.name:
            return
        if request.reuse_run_id:
            source = run_folder(results_dir, request.run_name, request.name, request.reuse_run_id)
            if not source.exists():
                self.findings.add(
                    checks.place_of(runtime, "reuse_run_id"),
                    f"there is no earlier run `{request.reuse_run_id}` of this request: {source} does not exist",
                )
        if request.run_id:
            target = run_folder(results_dir, request.run_name, request.name, request.run_id)
            if target.exists():
                self.findings.add(
                    checks.place_of(output, "run_id"),
                    f"the run id `{request.run_id}` is taken: {target} exists",
                    "choose another one, or leave it out",
                )

    def _warn_of_reuse(self, request: ComposedRequest, runtime: Node) -> None:
        if request.reuse and not request.max_retries:
            self.findings.warn(
                checks.place_of(runtime, "reuse_run_id" if request.reuse_run_id else "reuse"),
                "with max_retries 0, failed tasks are taken over as they are and nothing is run again; a wrong answer never is",
                "to run failures again: tui-eval rerun RUN --failed",
            )

    def _check_names(self, pairs: list[tuple[ComposedRequest | None, Place]]) -> None:
        names: set[str] = set()
        folders: dict[tuple[str, ...], str] = {}
        for request, place in pairs:
            if request is None or not request.name:
                continue
            if request.name in names:
                self.findings.add(place, f"there are two requests named `{request.name}`", "give one another name")
                continue
            names.add(request.name)
            space = namespace(request.run_name, request.name)
            if space[-1] in ("", ".", ".."):
                self.findings.add(place, f"`{request.name}` cannot be the name of a folder", "use letters and digits")
            elif space in folders:
                self.findings.add(
                    place,
                    f"`{request.name}` and `{folders[space]}` would have the same folder, `{'/'.join(space)}`: what is not "
                    "A-Z a-z 0-9 . _ = - becomes one `_` there",
                    "use names that differ in ASCII letters or digits",
                )
            folders.setdefault(space, request.name)


def _named(root: Node) -> Any:
    requests = root.get("requests")
    items = requests.value if requests is not None and requests.is_list else []
    names = [_text(item, "name") if item.is_map else "" for item in items]

    def by_name(path: KeyPath) -> KeyPath:
        if (
            len(path) > 1
            and path[0] == "requests"
            and isinstance(path[1], int)
            and path[1] < len(names)
            and names[path[1]]
        ):
            return ("requests", names[path[1]], *path[2:])
        return path

    return by_name


def _map_of(holder: Node | None, key: str) -> Node | None:
    node = holder.get(key) if holder is not None else None
    return node if node is not None and node.is_map else None


def _text(section: Node | None, key: str) -> str:
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


def _seconds(runtime: Node, key: str, default: float) -> float:
    node = runtime.get(key)
    number = checks.number_of(node.value) if node is not None else None
    return default if number is None else number
