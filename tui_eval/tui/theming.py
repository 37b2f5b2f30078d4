"""Themes: YAML files of ours and of the user, read strictly, turned into the toolkit's themes.

A file has ``title``, ``kind`` (``dark``, ``light`` or ``ansi``), ``colours`` and ``states``; its name without the
ending is the theme's name. The colours of states never stand alone: a glyph and a word always go with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from textual.color import Color, ColorParseError
from textual.theme import Theme

from tui_eval.domain import Outcome

DEFAULT = "dusk"
ANSI = "terminal"
"""The theme that uses the terminal's own 16 colours; also the one for NO_COLOR."""

KINDS = ("dark", "light", "ansi")
COLOURS = (
    "primary",
    "secondary",
    "accent",
    "foreground",
    "muted",
    "background",
    "surface",
    "panel",
    "border",
    "cursor",
    "success",
    "warning",
    "error",
)
STATES = tuple(outcome.value for outcome in Outcome)

_DEFAULTS = {
    "muted": "ansi_default",
    "muted-style": "none",
    "row-cursor-background": "ansi_blue",
    "row-cursor-style": "none",
    "edge": "ansi_default",
    **{f"state-{state}": "ansi_default" for state in STATES},
}


@dataclass(frozen=True, slots=True)
class ThemeFile:
    """A theme as its file has it."""

    name: str
    title: str
    kind: str
    colours: Mapping[str, str]
    states: Mapping[str, str]


def shipped_folder() -> Path:
    """Where our own themes lie: in the installed package, or at the root of a checkout."""
    package = Path(__file__).parent.parent
    installed = package / "themes"
    return installed if installed.is_dir() else package.parent / "themes"


def user_folder() -> Path:
    """Where a user puts theme files of their own."""
    from tui_eval.tui.settings import folder

    return folder() / "themes"


def folders() -> list[Path]:
    """Where themes are looked for; a later folder wins."""
    return [shipped_folder(), user_folder()]


def find(name: str, places: Iterable[Path]) -> ThemeFile | None:
    """One theme by its name, None when there is none or its file is broken (:func:`load` says how)."""
    for folder in reversed(list(places)):
        for path in (folder / f"{name}.yaml", folder / f"{name}.yml"):
            if path.name.partition(".")[0] == name and path.is_file():
                try:
                    return read(path)
                except ValueError:
                    continue
    return None


def load(places: Iterable[Path]) -> tuple[dict[str, ThemeFile], list[str]]:
    """Every theme of the folders by name (a later folder wins), and what is wrong with files, a sentence a file."""
    found: dict[str, ThemeFile] = {}
    problems: list[str] = []
    for folder in places:
        try:
            paths = sorted(path for path in folder.iterdir() if path.suffix in (".yaml", ".yml"))
        except FileNotFoundError:
            continue
        except OSError as error:
            problems.append(f"{folder}: themes cannot be read: {error.strerror or error}")
            continue
        for path in paths:
            try:
                found[path.stem] = read(path)
            except ValueError as error:
                problems.append(f"{path}: this theme was left out: {error}")
    return found, problems


def read(path: Path) -> ThemeFile:
    """One theme file. Raises ValueError with everything wrong in it."""
    data = _yaml(path)
    faults = [f"unknown key {key!r}" for key in data if key not in ("title", "kind", "colours", "states")]
    kind = data.get("kind")
    if kind not in KINDS:
        faults.append(f"kind is one of {', '.join(KINDS)}, not {kind!r}")
    title = data.get("title", path.stem)
    if not isinstance(title, str):
        faults.append("title is a text")
    for section, names in (("colours", COLOURS), ("states", STATES)):
        faults += _section_faults(section, data.get(section), names)
    if faults:
        raise ValueError("; ".join(faults))
    return ThemeFile(path.stem, str(title), str(kind), data["colours"], data["states"])


def _yaml(path: Path) -> dict[str, Any]:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        data = yaml.load(path.read_bytes(), Loader=loader)
    except OSError as error:
        raise ValueError(f"it cannot be read: {error.strerror or error}") from error
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(f"it is no YAML: {error}".replace("\n", " ")) from error
    if not isinstance(data, dict):
        raise ValueError("it is not a mapping")
    return data


def _section_faults(section: str, value: Any, names: Iterable[str]) -> list[str]:
    if not isinstance(value, dict):
        return [f"{section} is missing or no mapping"]
    faults = [f"{section} has an unknown key {key!r}" for key in value if key not in names]
    for name in names:
        colour = value.get(name)
        if colour is None:
            faults.append(f"{section}.{name} is missing")
        elif not isinstance(colour, str) or not _is_colour(colour):
            faults.append(f"{section}.{name} is no colour: {colour!r} (write it as '#d5dae2', in quotes)")
    return faults


def _is_colour(text: str) -> bool:
    try:
        Color.parse(text)
    except ColorParseError:
        return False
    return True


def theme(file: ThemeFile) -> Theme:
    """The toolkit's theme for a theme file."""
    colours = dict(file.colours)
    ansi = file.kind == "ansi"
    cursor, muted, border = (colours.pop(name) for name in ("cursor", "muted", "border"))
    variables = {
        "muted": muted,
        "muted-style": "dim" if ansi else "none",
        "edge": border,
        "border": colours["primary"],
        "border-blurred": border,
        "row-cursor-background": cursor,
        "row-cursor-style": "reverse" if ansi else "bold",
        "scrollbar": border,
        "scrollbar-hover": muted,
        "scrollbar-active": colours["primary"],
        "scrollbar-background": colours["background"],
        "scrollbar-background-hover": colours["background"],
        "scrollbar-background-active": colours["background"],
        "scrollbar-corner-color": colours["background"],
        "block-cursor-background": cursor,
        "block-cursor-foreground": colours["foreground"],
        "block-cursor-text-style": "reverse" if ansi else "bold",
        **{f"state-{state}": colour for state, colour in file.states.items()},
    }
    if ansi:
        variables |= {"ansi-background": "ansi_default", "ansi-foreground": "ansi_default"}
    made = Theme(
        name=file.name, primary=colours.pop("primary"), dark=file.kind != "light", ansi=ansi, variables=variables
    )
    return replace(made, **cast(Any, colours))


def variable_defaults() -> dict[str, str]:
    """Our own variables for themes that are not ours (the toolkit's)."""
    return dict(_DEFAULTS)
