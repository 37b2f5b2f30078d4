"""The registry of keys: one meaning a key, none that gets lost on the way, ids that users can rely on."""

from __future__ import annotations

from collections import Counter

import pytest

from tui_eval.tui import keys

NAMES = [group.name for group in keys.groups()]


def pressed(key: keys.Key) -> list[str]:
    return [each.strip() for each in key.keys.split(",")]


@pytest.mark.parametrize("name", NAMES)
def test_no_key_has_two_meanings_on_one_screen(name: str) -> None:
    group = keys.group(name)
    together = [group, *(keys.group(other) for other in group.together)]
    own = [key for one in together for key in one.keys if key.id not in group.instead]
    meanings = Counter(each for key in own for each in pressed(key))
    twice = [key for key, count in meanings.items() if count > 1]
    assert twice == [], f"choose another key, or name the id it takes the place of in INSTEAD of keys/{name}.py"


@pytest.mark.parametrize("name", NAMES)
def test_no_key_is_only_one_that_terminals_keep_for_themselves(name: str) -> None:
    for key in keys.group(name).keys:
        assert set(pressed(key)) - keys.UNSAFE, f"{key.id} cannot be pressed everywhere"
        assert not any(each.startswith(("alt+", "super+")) for each in pressed(key))


def test_ids_are_unique_and_begin_with_their_group() -> None:
    found = [(key.id, group.name) for group in keys.groups() for key in group.keys]
    assert len({name for name, _ in found}) == len(found)
    for name, group in found:
        assert name.partition(".")[0] in (group, "app")


def test_every_key_says_what_it_does() -> None:
    for group in keys.groups():
        for key in group.keys:
            assert key.label
            assert key.help[0].isupper()
            assert key.id in keys.keys_table()


def test_keys_are_shown_as_people_read_them() -> None:
    assert keys.shown_all("slash") == "/"
    assert keys.shown_all("j,down") == "j ↓"
    assert keys.shown_all("question_mark,f1") == "? F1"
