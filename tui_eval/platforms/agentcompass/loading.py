"""An AgentCompass orchestration file -> an orchestration that can be launched, or every reason why not.

All faults are told at once, each with file, line and column. Whatever AgentCompass 1.0.1 refuses is refused here, and
so is what it would stumble over later: parameters that a component does not have, variables that are not set, run ids
that YAML takes for numbers. Nothing is executed or sent.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tui_eval.errors import Fault, SpecError
from tui_eval.platforms.agentcompass import checks, config, fields
from tui_eval.platforms.agentcompass.credentials import hidden, typed_values
from tui_eval.platforms.agentcompass.orchestration import Checks, ComposedRequest, LoadedOrchestration
from tui_eval.platforms.agentcompass.paths import namespace
from tui_eval.platforms.agentcompass.references import check_references, expanded, names_in
from tui_eval.platforms.agentcompass.requests import Around, compose_request, map_of, text_of
from tui_eval.platforms.agentcompass.scalars import as_compass_reads
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
        runtime = checks.section_of(filled, "runtime", "runtime", findings, fields.RUNTIME)
        runtime = merge(self.config.section("runtime"), runtime) or Node({}, root.place)
        checks.check_runtime(runtime, findings)
        defaults = self._defaults(filled)
        results_dir = self._results_dir(runtime)
        around = Around(defaults, self.config, results_dir, self.against, findings)
        pairs = [compose_request(node, index, around) for index, node in enumerate(self._requests(filled))]
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
            merged = merge(map_of(defaults, key), map_of(node, key))
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

    def _defaults(self, root: Node) -> Node | None:
        node = checks.section_of(root, "defaults", "defaults", self.findings, fields.SECTIONS)
        if node is not None:
            checks.check_sections(node, "defaults", self.findings)
        return node

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


def _named(root: Node) -> Callable[[KeyPath], KeyPath]:
    """What turns ``requests.0.model`` into ``requests.NAME.model``, for requests that have a name."""
    requests = root.get("requests")
    items = requests.value if requests is not None and requests.is_list else []
    names = {place: text_of(item, "name") for place, item in enumerate(items) if item.is_map}

    def by_name(path: KeyPath) -> KeyPath:
        name = names.get(path[1]) if len(path) > 1 and path[0] == "requests" and isinstance(path[1], int) else None
        return ("requests", name, *path[2:]) if name else path

    return by_name


def _seconds(runtime: Node, key: str, default: float) -> float:
    node = runtime.get(key)
    number = checks.number_of(node.value) if node is not None else None
    return default if number is None else number
