"""Themes: those that ship are whole and can be read; a broken one is one sentence."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest
from textual.color import Color

from tui_eval.tui import theming

SHIPPED, PROBLEMS = theming.load([theming.shipped_folder()])
WITH_COLOURS = [theme for theme in SHIPPED.values() if theme.kind != "ansi"]


def test_there_is_a_dark_a_light_a_strong_a_colour_blind_and_a_16_colour_theme() -> None:
    assert PROBLEMS == []
    assert {"dusk", "paper", "contrast", "colour-blind", "terminal"} <= set(SHIPPED)
    assert theming.DEFAULT in SHIPPED
    assert SHIPPED[theming.ANSI].kind == "ansi"


def contrast(first: str, second: str) -> float:
    """The contrast of two colours by WCAG 2.2 (1 to 21)."""
    light, dark = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(text: str) -> float:
    parts = [part / 255 for part in Color.parse(text).rgb]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("theme", WITH_COLOURS, ids=lambda theme: theme.name)
def test_every_text_can_be_read_on_every_background_it_stands_on(theme: theming.ThemeFile) -> None:
    texts = [theme.colours[name] for name in ("foreground", "muted", "primary", "accent", "warning", "error")]
    for text in (*texts, *theme.states.values()):
        for ground in ("background", "surface", "cursor"):
            assert contrast(text, theme.colours[ground]) >= 4.5, (text, ground)


@pytest.mark.parametrize("theme", WITH_COLOURS, ids=lambda theme: theme.name)
def test_the_outcomes_have_colours_of_their_own(theme: theming.ThemeFile) -> None:
    names = ("passed", "failed", "error", "unscored", "running")
    for one, other in combinations(names, 2):
        assert theme.states[one] != theme.states[other]


GOOD = (theming.shipped_folder() / "dusk.yaml").read_text()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not a mapping"),
        ("[", "no YAML"),
        (GOOD.replace("kind: dark", "kind: dusky"), "kind"),
        (GOOD.replace('"#82a8dc"', "12"), "colours.primary"),
        (GOOD.replace('"#82a8dc"', '"blueish"'), "colours.primary"),
        (GOOD.replace("  running:", "  walking:"), "states.running is missing"),
        (GOOD + "extra: 1\n", "extra"),
        ("!!python/object/apply:os.system [true]", "no YAML"),
        ("&a [*a]", "not a mapping"),
    ],
)
def test_a_broken_theme_is_one_sentence_and_the_others_are_there(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "mine.yaml").write_text(text)
    found, problems = theming.load([theming.shipped_folder(), tmp_path])
    assert set(found) == set(SHIPPED)
    assert len(problems) == 1
    assert said in problems[0]
    assert "mine.yaml" in problems[0]


def test_a_theme_of_the_user_takes_the_place_of_ours(tmp_path: Path) -> None:
    (tmp_path / "dusk.yaml").write_text(GOOD.replace("Dusk (dark)", "Mine"))
    found, _ = theming.load([theming.shipped_folder(), tmp_path, tmp_path / "not there"])
    assert found["dusk"].title == "Mine"
