"""What there is in a folder: plans, datasets, saved solutions and evaluators, files of the neighbours.

Looks at names and at the beginning of files, and executes, imports and loads nothing. Links are not followed, hidden
folders and those of tools are not entered. Bounded, and says so when a bound was met.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tui_eval.spec import kinds
from tui_eval.spec.foreign import is_evalset, is_orchestration

FoundKind = Literal["plan", "orchestration", "evalset", "dataset", "solution", "evaluator"]

DEEPEST = 8
MOST_FILES = 20_000
MOST_FOUND = 2_000
BEGINNING = 64 * 1024
"""Bytes of a file that are looked at."""

_SKIPPED = frozenset(
    ("node_modules", "__pycache__", "venv", "env", "site-packages", "build", "dist", "target", "bower_components")
)
GENERATED = "# Written by tui_eval for one run; not to be edited.\n"
"""The first line of a file that is made from a plan for a run: it is none of the workspace's own."""

_UNSAVED = re.compile(r"\.unsaved-[\w-]+\.jsonl$")
"""Results that wait beside the history, which may lie in the workspace."""

_DATASETS = frozenset((".jsonl", ".ndjson", ".csv", ".tsv", ".parquet"))
_DOCUMENTS = frozenset((".yaml", ".yml", ".json"))
_YAML_KEY = re.compile(
    r"""^([ \t-]*)(?:"([^"\n]+)"|'([^'\n]+)'|([A-Za-z_][\w.-]*))[ \t]*:(?:[ \t]+(.*))?$""", re.MULTILINE
)
_JSON_TOKEN = re.compile(r'"((?:[^"\\]|\\.)*)"|[{}\[\]:,]|[^\s"{}\[\]:,]+')


@dataclass(frozen=True, slots=True)
class Found:
    """One file. ``name`` is its own name for itself, else the file's; ``size`` in bytes."""

    kind: FoundKind
    path: Path
    name: str
    size: int


@dataclass(slots=True)
class Workspace:
    """What :func:`scan` found, in the order of the paths. ``cut`` says which bounds were met, ``unreadable`` names
    folders and files that could not be looked at."""

    folder: Path
    found: list[Found] = field(default_factory=list)
    cut: list[str] = field(default_factory=list)
    unreadable: list[Path] = field(default_factory=list)

    def of_kind(self, kind: FoundKind) -> list[Found]:
        return [found for found in self.found if found.kind == kind]


def scan(folder: Path) -> Workspace:
    """Look through ``folder``. A folder that is not there is an empty workspace."""
    workspace = Workspace(folder)
    for seen, entry in enumerate(_files(folder, workspace, 0)):
        if seen >= MOST_FILES or len(workspace.found) >= MOST_FOUND:
            what = f"{MOST_FILES:,} files" if seen >= MOST_FILES else f"{MOST_FOUND:,} finds"
            workspace.cut.append(f"stopped after {what}: open a smaller folder")
            break
        try:
            found = _look_at(entry)
        except OSError:
            workspace.unreadable.append(Path(entry.path))
            continue
        if found is not None:
            workspace.found.append(found)
    workspace.found.sort(key=lambda one: one.path)
    return workspace


def _files(folder: Path, workspace: Workspace, depth: int) -> Iterator[os.DirEntry[str]]:
    """Regular files, those of a folder before those of its folders."""
    try:
        with os.scandir(folder) as entries:
            ordered = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        workspace.unreadable.append(folder)
        return
    folders: list[os.DirEntry[str]] = []
    for entry in ordered:
        if entry.is_symlink():
            continue
        if entry.is_dir(follow_symlinks=False):
            folders.append(entry)
        elif not entry.name.startswith("."):
            yield entry
    for entry in folders:
        if (
            entry.name.startswith(".")
            or entry.name in _SKIPPED
            or os.path.exists(os.path.join(entry.path, "pyvenv.cfg"))
        ):
            continue
        if depth + 1 >= DEEPEST:
            note = f"folders more than {DEEPEST} deep were not looked into"
            if note not in workspace.cut:
                workspace.cut.append(note)
            continue
        yield from _files(Path(entry.path), workspace, depth + 1)


def _look_at(entry: os.DirEntry[str]) -> Found | None:
    path = Path(entry.path)
    suffix = path.suffix.lower()
    if (suffix not in _DATASETS and suffix not in _DOCUMENTS) or _UNSAVED.search(entry.name):
        return None
    status = entry.stat(follow_symlinks=False)
    if not stat.S_ISREG(status.st_mode):
        return None
    kind, name = ("dataset", "") if suffix in _DATASETS else classify(_beginning(path), path.name)
    if kind is None:
        return None
    return Found(kind, path, name or path.stem, status.st_size)


def kind_of(path: Path) -> FoundKind | None:
    """What one file looks like, None when it looks like nothing we know or cannot be read."""
    suffix = path.suffix.lower()
    if suffix in _DATASETS:
        return "dataset"
    try:
        return classify(_beginning(path), path.name)[0] if suffix in _DOCUMENTS and path.is_file() else None
    except OSError:
        return None


def _beginning(path: Path) -> str:
    with open(path, "rb") as stream:
        return stream.read(BEGINNING).decode("utf-8-sig", "replace")


def classify(text: str, file_name: str) -> tuple[FoundKind | None, str]:
    """What the beginning of a YAML or JSON file looks like, and the name it gives itself (empty when it gives none)."""
    if text.startswith(GENERATED):
        return None, ""
    is_list, top, inner = _json_keys(text) if text.lstrip()[:1] in ("{", "[") else _yaml_keys(text)
    name = top.get("name", "")
    if file_name.lower().endswith((".evalset.json", ".evalset.yaml", ".evalset.yml")):
        return "evalset", name
    if is_list:
        return ("dataset", "") if inner else (None, "")
    if is_orchestration(top, inner):
        return "orchestration", name
    if "requests" in top and ("version" in top or {"solution", "dataset"} & inner):
        return "plan", name
    if is_evalset(top):
        return "evalset", name
    if top.get("type") in kinds.SOLUTIONS and not top.keys() & {"properties", "$schema"}:
        return "solution", name
    if top.get("id") in kinds.EVALUATORS:
        return "evaluator", name
    return ("dataset", name) if "cases" in top else (None, "")


def _yaml_keys(text: str) -> tuple[bool, dict[str, str], set[str]]:
    """Whether it is a list, the keys at the margin with their scalars, and the other keys. By looks, without parsing:
    the text may be cut in the middle."""
    top: dict[str, str] = {}
    inner: set[str] = set()
    is_list = False
    for match in _YAML_KEY.finditer(text):
        indent, key = match[1], match[2] or match[3] or match[4]
        if indent:
            inner.add(key)
            is_list = is_list or (not top and indent.startswith("-"))
        else:
            top[key] = _scalar(match[5] or "")
        inner.update(re.findall(r"[{,]\s*([A-Za-z_]\w*)\s*:", match[5] or ""))
    return is_list, top, inner


def _scalar(text: str) -> str:
    text = text.strip()
    if text[:1] in ("'", '"') and text.rfind(text[0]) > 0:
        return text[1 : text.rfind(text[0])]
    return text.partition(" #")[0].strip()


def _json_keys(text: str) -> tuple[bool, dict[str, str], set[str]]:
    """The same for JSON: the keys of the outermost map, and those further in."""
    top: dict[str, str] = {}
    inner: set[str] = set()
    is_list = text.lstrip()[:1] == "["
    depth, key, last = 0, "", ""
    for match in _JSON_TOKEN.finditer(text):
        token = match[0]
        if token in "{[":
            depth += 1
        elif token in "}]":
            depth -= 1
        elif token == ":":
            if depth == 1 and not is_list:
                key = last
                top.setdefault(key, "")
            else:
                inner.add(last)
        elif token != ",":
            last = match[1] if match[1] is not None else token
            if depth == 1 and key and not top[key]:
                top[key] = last
        else:
            key = "" if depth == 1 else key
    return is_list, top, inner
