"""A plan put together from parts: datasets x solutions x evaluators, settings over it, and its text as YAML.

Plain functions over data; nothing is read, checked or written here. Whether a composed plan can be run says
``loading.load_plan``, like for every other.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import yaml

from tui_eval.domain import JsonValue
from tui_eval.spec.names import safe_name
from tui_eval.spec.scalars import plain_value

EVERY = "*"
"""The ``request`` of a setting that holds for every request."""
_LONGEST_NAME = 120
_FOLDERS = {"command": "cwd", "python": "path"}
"""The option that says where a kind looks for its files, by kind; without it that is the plan's folder."""
_TLS_FILES = ("ca_file", "client_cert", "client_key")


@dataclass(frozen=True, slots=True)
class Part:
    """A dataset, solution or evaluator to choose. ``section`` is what stands for it in the plan, ``use: FILE`` or its
    own keys; ``name`` is what the requests made of it are called."""

    name: str
    section: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Setting:
    """One value over what a plan says. ``request`` is the name of one, :data:`EVERY`, or None for the plan itself;
    ``path`` are the keys below it (``execution``, ``n_repeat``)."""

    request: str | None
    path: tuple[str, ...]
    value: Any

    @property
    def place(self) -> tuple[str | None, tuple[str, ...]]:
        """What the setting is about; a later one for the same place takes the earlier one's."""
        return self.request, self.path

    @property
    def shown_path(self) -> str:
        """``requests.NAME.execution.n_repeat``."""
        head = () if self.request is None else ("requests", self.request)
        return ".".join((*head, *self.path))


def compose_plan(
    name: str, datasets: Sequence[Part], solutions: Sequence[Part], evaluators: Sequence[Part]
) -> dict[str, Any]:
    """A plan with a request for each dataset and solution, called ``dataset-solution``, all judged by the evaluators."""
    plan: dict[str, Any] = {"version": 1, "name": _clean(name) or "composed"}
    if evaluators:
        plan["defaults"] = {"evaluators": [dict(part.section) for part in evaluators]}
    taken: set[str] = set()
    plan["requests"] = [
        {
            "name": _free(f"{dataset.name}-{solution.name}", taken),
            "dataset": deepcopy(dict(dataset.section)),
            "solution": deepcopy(dict(solution.section)),
        }
        for dataset in datasets
        for solution in solutions
    ]
    return plan


def with_settings(plan: Mapping[str, Any], settings: Iterable[Setting]) -> dict[str, Any]:
    """A copy of a composed plan with the settings in it; what holds for every request goes into its ``defaults``,
    unless a request says something of its own there."""
    result = deepcopy(dict(plan))
    for setting in settings:
        if setting.request is None:
            _put(result, setting.path, setting.value)
            continue
        shared = setting.request == EVERY
        if shared:
            _put(result, ("defaults", *setting.path), setting.value)
        for request in result.get("requests", ()):
            if request.get("name") == setting.request or (shared and _has(request, setting.path)):
                _put(request, setting.path, setting.value)
    order = ("version", "name", "description", "tags", "task_concurrency", "runtime", "defaults", "requests")
    return {key: result[key] for key in (*order, *result) if key in result}


def override_text(setting: Setting, request_names: Sequence[str]) -> str:
    """The setting as ``--set`` takes it: ``requests."NAME".execution.n_repeat=3``."""
    steps = [_step(step) for step in setting.path]
    if setting.request is not None:
        # A name with an equals sign would end the path there: such a request is meant by its number.
        name = setting.request
        written = str(request_names.index(name)) if "=" in name and name in request_names else f'"{name}"'
        steps[:0] = ["requests", EVERY if name == EVERY else written]
    return f"{'.'.join(steps)}={json.dumps(setting.value, ensure_ascii=False, allow_nan=False)}"


def changed(settings: Sequence[Setting], setting: Setting) -> tuple[Setting, ...]:
    """``settings`` with another one, which replaces what it is about."""
    return (*(each for each in settings if each.place != setting.place), setting)


def without(settings: Sequence[Setting], place: tuple[str | None, tuple[str, ...]]) -> tuple[Setting, ...]:
    """``settings`` without the one about ``place``."""
    return tuple(each for each in settings if each.place != place)


def rebased(section: Mapping[str, Any], kind: str, folder: str) -> dict[str, Any]:
    """A solution or evaluator section of a plan in ``folder`` (relative, ``.`` for here) for a plan that lies here:
    the same files are meant."""
    moved = deepcopy(dict(section))
    if folder in ("", "."):
        return moved
    option = _FOLDERS.get(kind)
    if option is not None:
        moved[option] = _below(folder, moved.get(option) or ".")
    if isinstance(tls := moved.get("tls"), dict):
        moved["tls"] = {
            key: _below(folder, value) if key in _TLS_FILES and value else value for key, value in tls.items()
        }
    return moved


def rebased_dataset(section: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """The same for a dataset section."""
    moved = deepcopy(dict(section))
    if folder not in ("", ".") and "path" in moved:
        moved["path"] = _below(folder, moved["path"])
    return moved


def dataset_path(relative: str) -> str:
    """A file's path as ``dataset.path`` has it: a ``${`` in its name is a text there, no reference."""
    return relative.replace("${", "$${")


def plan_text(plan: Mapping[str, Any], heading: str = "") -> str:
    """A plan as YAML that is read back to the same data by this program, and by others that read YAML 1.1 or 1.2.

    ``heading`` becomes a comment at the top. ``${NAME}`` stands as it is.
    """
    comment = "".join(f"# {line}\n" for line in heading.splitlines() if line.isprintable())
    return comment + data_text(dict(plan))


def data_text(data: JsonValue) -> str:
    """A map or a list as such YAML."""
    return str(
        yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10**6, default_flow_style=False)
    )


def file_name(name: str) -> str:
    """A file name for a plan that is called ``name``: ``nightly-checks.yaml``."""
    return f"{safe_name(name)}.yaml"


# -- parts --


def _clean(name: str) -> str:
    return "".join(character if character.isprintable() else "_" for character in name).strip()[:_LONGEST_NAME]


def _free(name: str, taken: set[str]) -> str:
    """A name that differs from those taken also as a file name where upper and lower case are the same."""
    wanted = _clean(name) or "request"
    found, number = wanted, 2
    while safe_name(found).lower() in taken:
        found, number = f"{wanted}-{number}", number + 1
    taken.add(safe_name(found).lower())
    return found


def _put(data: dict[str, Any], path: Sequence[str], value: Any) -> None:
    for step in path[:-1]:
        inner = data.get(step)
        data[step] = inner if isinstance(inner, dict) else {}
        data = data[step]
    data[path[-1]] = deepcopy(value)


def _has(data: Any, path: Sequence[str]) -> bool:
    for step in path:
        if not isinstance(data, dict) or step not in data:
            return False
        data = data[step]
    return True


def _step(step: str) -> str:
    return f'"{step}"' if "." in step else step


def _below(folder: str, value: Any) -> Any:
    """A relative path inside ``folder``; what is absolute, made by a template or from the home stays."""
    if not isinstance(value, str) or value.startswith(("/", "~", "{{", "{%", "${")):
        return value
    return str(PurePosixPath(folder) / value)


class _Dumper(yaml.SafeDumper):
    """Writes plain what is a text to every reader, texts of several lines as blocks, every other text quoted."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> Any:
        return super().increase_indent(flow, False)


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None
    if "\n" in text and text.isascii() and not text.startswith((" ", "\n")):
        style = "|"
    elif plain_value(text) != text or not text.isprintable() or "{{" in text or text[:1] in "-?:%@`.+0123456789=":
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _represent_number(dumper: yaml.SafeDumper, number: float) -> yaml.ScalarNode:
    # A number in exponent form would be read back as a text.
    from tui_eval.spec.scalars import usual_text

    text = usual_text(number)
    # So would 1 followed by many zeros and `.0`: from 1e16 on the usual text has no decimal point.
    return dumper.represent_scalar(f"tag:yaml.org,2002:{'float' if '.' in text else 'int'}", text)


_Dumper.add_representer(str, _represent_text)
_Dumper.add_representer(float, _represent_number)
