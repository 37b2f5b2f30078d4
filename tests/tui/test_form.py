"""Forms made from models: what is typed is what a plan file would have; what is loaded comes back as it was."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel
from textual.app import App, ComposeResult

from tests.support.hostile import COMMANDS, MARKUP
from tests.support.screen_text import until
from tui_eval.spec import kinds
from tui_eval.spec.evaluator_options import ExactOptions, JudgeOptions, SimilarityOptions
from tui_eval.spec.model import Dataset, Execution
from tui_eval.spec.solution_options import CommandOptions, HttpOptions
from tui_eval.tui import theming
from tui_eval.tui.projections.form_fields import UNSET, FieldKind, FormField, fields_of, read_text, write_text
from tui_eval.tui.widgets.form import Form


class FormApp(App[None]):
    """A form alone on the screen."""

    def __init__(self, model: type[BaseModel], data: dict[str, Any] | None = None, skip: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.form = Form(model, data=data, skip=skip)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return theming.variable_defaults()

    def compose(self) -> ComposeResult:
        yield self.form

    def screen_text(self) -> str:
        lines = [strip.text for strip in self.screen._compositor.render_strips()]
        return "\n".join(lines)


def field_named(model: type[BaseModel], name: str) -> FormField:
    return next(field for field in fields_of(model) if field.name == name)


def test_every_key_of_every_kind_has_a_field() -> None:
    for known in (kinds.SOLUTIONS, kinds.EVALUATORS):
        for kind in known.values():
            model = kind.options_model()
            keys = {info.alias or name for name, info in model.model_fields.items()}
            assert {field.path[0] for field in fields_of(model)} == keys


@pytest.mark.parametrize(
    ("model", "name", "kind"),
    [
        (HttpOptions, "url", FieldKind.TEXT),
        (HttpOptions, "body", FieldKind.DATA),
        (HttpOptions, "headers", FieldKind.MAPPING),
        (HttpOptions, "text", FieldKind.PROSE),
        (HttpOptions, "response", FieldKind.CHOICE),
        (HttpOptions, "tls.verify", FieldKind.CHOICE),
        (HttpOptions, "end_marker", FieldKind.DATA),
        (HttpOptions, "max_response_bytes", FieldKind.NUMBER),
        (CommandOptions, "argv", FieldKind.LINES),
        (Dataset, "sample.limit", FieldKind.NUMBER),
        (Execution, "retry_pattern_list", FieldKind.LINES),
        (JudgeOptions, "range", FieldKind.DATA),
        (JudgeOptions, "rubric", FieldKind.PROSE),
        (ExactOptions, "not", FieldKind.CHOICE),
    ],
)
def test_a_field_is_filled_in_by_what_suits_its_type(model: type[BaseModel], name: str, kind: FieldKind) -> None:
    assert field_named(model, name).kind is kind


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(-(2.0**49), 2.0**49, width=32)
    | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=80, deadline=None)
@given(JSON)
def test_data_reads_back_as_it_was_written(value: Any) -> None:
    field = field_named(HttpOptions, "body")
    if isinstance(value, str) and not value.strip():
        return  # kept by the form itself while nobody changes it
    again = read_text(field, write_text(field, value))
    assert again == value
    assert type(again) is type(value)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=8), max_size=4))
def test_a_list_of_texts_reads_back_as_it_was_written(value: list[str]) -> None:
    field = field_named(CommandOptions, "argv")
    assert read_text(field, write_text(field, value)) == value


def test_texts_that_look_like_numbers_stay_texts_in_headers() -> None:
    field = field_named(HttpOptions, "headers")
    assert read_text(field, "X-Version: 1.10\nX-On: yes\nX-Empty:") == {
        "X-Version": "1.10",
        "X-On": "yes",
        "X-Empty": "",
    }


def test_a_template_alone_is_a_text() -> None:
    assert read_text(field_named(HttpOptions, "body"), "{{ question }}") == "{{ question }}"


def test_nothing_typed_is_nothing_set() -> None:
    for field in fields_of(HttpOptions):
        if field.kind is not FieldKind.CHOICE:
            assert read_text(field, "") is UNSET


@pytest.mark.parametrize("text", ["a: [1", "a: 1\na: 2", "{", "- x\ny: 1"])
def test_broken_data_is_told_with_its_line(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_text(field_named(HttpOptions, "body"), text)


async def test_only_what_was_set_is_in_the_value() -> None:
    app = FormApp(HttpOptions, skip=("type",))
    async with app.run_test(size=(80, 24)) as pilot:
        app.form.focus_first()
        await pilot.press(*"http://a/b", "enter", "tab")
        assert app.form.value() == {"url": "http://a/b"}
        await pilot.press(*"X: 1", "enter", *"Y: b")
        assert app.form.value() == {"url": "http://a/b", "headers": {"X": "1", "Y": "b"}}


async def test_a_fault_stands_below_its_field_and_goes_when_it_is_mended() -> None:
    app = FormApp(SimilarityOptions, skip=("id",))
    async with app.run_test(size=(80, 24)) as pilot:
        row = app.form._rows["threshold"]
        row.editor.focus()
        await pilot.press(*"2x")
        await until(pilot, lambda: "must be a number" in app.screen_text())
        assert "threshold" in app.form.faults
        await pilot.press("backspace", "backspace", *"0.5")
        await until(pilot, lambda: "must be a number" not in app.screen_text())
        assert "threshold" not in app.form.faults


async def test_missing_fields_are_told_when_the_values_are_wanted() -> None:
    app = FormApp(HttpOptions, skip=("type",))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause(0.5)
        assert "missing" not in app.screen_text()
        assert await app.form.checked() is None
        await pilot.pause()
        assert "missing" in app.screen_text()
        assert app.form._rows["url"].editor.has_focus


async def test_what_is_loaded_comes_back_unchanged() -> None:
    data = {
        "url": "http://a/\x1b[2J",
        "method": "GET",
        "headers": {"A": "1", "b c": "[/x]"},
        "body": {"deep": [1, 1.0, None, {"x": ""}], "t": "a\nb"},
        "text": "  two\n lines ",
        "tls": {"verify": False},
        "allow_null": True,
        "unknown": {"kept": [1]},
        "end_marker": {"event": "done"},
        "max_response_bytes": 4096,
    }
    app = FormApp(HttpOptions, data=data, skip=("type",))
    async with app.run_test(size=(80, 24)) as pilot:
        assert await app.form.checked() is None
        await pilot.pause()
        assert app.form.value() == data
        assert set(app.form.faults) == {""}  # the unknown key, and two bodies


async def test_null_can_be_given_where_it_means_something() -> None:
    app = FormApp(SimilarityOptions, data={"expected": "x"}, skip=("id",))
    async with app.run_test(size=(80, 24)) as pilot:
        app.form._rows["threshold"].editor.focus()
        await pilot.press(*"null")
        assert await app.form.checked() == {"expected": "x", "threshold": None}


async def test_a_choice_is_made_by_keys() -> None:
    app = FormApp(HttpOptions, data={"url": "http://a"}, skip=("type",))
    async with app.run_test(size=(80, 24)) as pilot:
        app.form._rows["response"].editor.focus()
        await pilot.press("space", "space")
        assert app.form.value()["response"] == "json"
        await pilot.press("left", "left")
        assert "response" not in app.form.value()
        await pilot.press("enter")
        await pilot.pause()
        await pilot.press("G", "enter")
        await pilot.pause()
        assert app.form.value()["response"] == "sse"


async def test_arrows_go_through_all_fields_and_areas() -> None:
    app = FormApp(SimilarityOptions, skip=("id", "name"))
    async with app.run_test(size=(60, 18)) as pilot:
        next(iter(app.form._rows.values())).editor.focus()
        for row in app.form._rows.values():
            assert row.editor.has_focus, row.field.name
            await pilot.press("down")
        for row in reversed(list(app.form._rows.values())):
            assert row.editor.has_focus, row.field.name
            await pilot.press("up")


async def test_pasted_lines_stay_lines_in_an_area() -> None:
    from textual import events

    app = FormApp(CommandOptions, skip=("type",))
    async with app.run_test(size=(80, 24)) as pilot:
        editor = app.form._rows["argv"].editor
        editor.focus()
        await pilot.pause()
        app.post_message(events.Paste("python\n-c\nprint(1)"))
        await pilot.pause(0.1)
        assert app.form.value() == {"argv": ["python", "-c", "print(1)"]}


@pytest.mark.parametrize("size", [(60, 18), (120, 40)])
async def test_hostile_texts_are_shown_and_obey_nothing(size: tuple[int, int]) -> None:
    texts = [*MARKUP, *(text for text in COMMANDS if "\ud800" not in text)]
    data = {"url": "".join(texts), "headers": {text: text for text in texts}, "text": "\n".join(texts), "[/b]": 1}
    app = FormApp(HttpOptions, data=data, skip=("type",))
    async with app.run_test(size=size) as pilot:
        await pilot.pause(0.5)
        shown = app.screen_text()
        assert not any(sign in shown for sign in ("\x1b", "\x07", "\x9b", "\u202e", "\x00"))
        assert app.form.value() == data
