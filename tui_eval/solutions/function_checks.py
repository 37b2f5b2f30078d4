"""Whether ``module:function`` is there, told without importing or executing anything: the source is only read."""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

from tui_eval.spec.nearest import nearest

_ANY = "*"
_MAKERS = frozenset({"globals", "setattr", "exec", "vars"})
_LOADED_FIRST = frozenset(sys.builtin_module_names) | frozenset(
    {"abc", "codecs", "collections", "contextlib", "copyreg", "encodings", "enum", "functools", "importlib", "io"}
    | {"json", "keyword", "operator", "os", "re", "reprlib", "site", "stat", "types", "typing", "warnings"}
)
"""Modules that every worker has loaded before it comes to the user's; a file of that name is never imported."""


def check_function(function: str, path: str | None, folder: Path) -> list[str]:
    """What is wrong with ``function`` (``module:function``) when it is imported from ``path`` (relative to ``folder``).

    What cannot be known without importing (a compiled module, names made by code) is left to the first call.
    """
    module, _, names = function.partition(":")
    place = folder / (path or ".")
    if not place.is_dir():
        return [f"{function}: the folder to import from does not exist: {place}"]
    parts = module.split(".")
    if not all(part.isidentifier() for part in [*parts, *names.split(".")]):
        return [f"{function}: not a name of the form module:function"]
    if parts[0] in _LOADED_FIRST and _beside(parts[0], place):
        return [
            f"{function}: `{parts[0]}` is also a module of Python itself, which is imported instead; rename the file"
        ]
    spec, missing = _find(parts, place)
    if missing:
        return [f"{function}: there is no module `{missing}` in {place} or among the installed packages"]
    if spec is None or not spec.origin or not spec.origin.endswith(".py"):
        return []
    return _source_faults(function, names.split(".")[0], Path(spec.origin))


def _beside(name: str, place: Path) -> bool:
    return (place / f"{name}.py").exists() or (place / name / "__init__.py").exists()


def _find(parts: list[str], place: Path) -> tuple[ModuleSpec | None, str]:
    """The spec of a module, looked up as an import would but without importing its packages; or the part not found."""
    spec = PathFinder.find_spec(parts[0], [str(place)]) or _installed(parts[0])
    if spec is None:
        return None, parts[0]
    for count in range(2, len(parts) + 1):
        name = ".".join(parts[:count])
        if spec.submodule_search_locations is None:
            return None, name
        spec = PathFinder.find_spec(name, list(spec.submodule_search_locations))
        if spec is None:
            return None, name
    return spec, ""


def _installed(name: str) -> ModuleSpec | None:
    try:
        return importlib.util.find_spec(name)
    except ValueError:  # in sys.modules without a spec
        return None


def _source_faults(function: str, name: str, source: Path) -> list[str]:
    try:
        tree = ast.parse(source.read_bytes(), str(source))
    except OSError as error:
        return [f"{function}: {source} cannot be read: {error.strerror}"]
    except (SyntaxError, ValueError) as error:
        line = f":{error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        return [f"{function}: {source}{line} is not valid Python: {getattr(error, 'msg', None) or error}"]
    names = set(_top_names(tree.body))
    if name in names or _ANY in names:
        return []
    near = nearest(name, sorted(names))
    hint = f" (did you mean `{near}`?)" if near else ""
    return [f"{function}: there is no `{name}` in {source}{hint}"]


def _top_names(body: list[ast.stmt]) -> Iterator[str]:
    """The names that a module's statements bind; ``*`` when some cannot be told."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield _ANY if node.name == "__getattr__" else node.name
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                yield alias.asname or alias.name.split(".")[0]
        else:
            for inner in ast.walk(node):
                if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                    yield inner.id
                elif isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                    yield inner.name
                elif isinstance(inner, ast.Import | ast.ImportFrom):
                    yield from (alias.asname or alias.name.split(".")[0] for alias in inner.names)
                elif isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name) and inner.func.id in _MAKERS:
                    yield _ANY
