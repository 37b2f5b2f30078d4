"""Reading YAML and JSON: nothing typed changes its meaning, every fault has its place, nothing hostile gets through."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tui_eval.errors import Fault, SpecError
from tui_eval.spec.source import LARGEST_FILE, parse_document, read_document


def fault(text: str, file: str = "f.yaml") -> Fault:
    with pytest.raises(SpecError) as caught:
        parse_document(text, file)
    return caught.value.faults[0]


def refused(error: SpecError) -> None:
    assert error.faults
    assert all(found.message for found in error.faults)


def test_scalars_that_other_readers_change_are_text_as_typed(cases: Path) -> None:
    (row,) = read_document(cases / "13-yaml-gotchas" / "plan.yaml").data["cases"]
    assert row == {
        "id": "1e3",
        "country": "NO",
        "answer": "no",
        "when": "2031-04-05",
        "code": "012",
        "time": "1:30",
        "ver": "1.10",
        "amount": "1_000",
        "nothing": None,
    }


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ("10", 10),
        ("-3", -3),
        ("0", 0),
        ("0.5", 0.5),
        ("1.0", 1.0),
        ("0.00001", 0.00001),
        ("12345678901234567890", 12345678901234567890),
        ("true", True),
        ("True", True),
        ("FALSE", False),
        ("null", None),
        ("~", None),
        ("''", ""),
        ('"10"', "10"),
        ("-0", "-0"),
        ("+1", "+1"),
        ("0x1F", "0x1F"),
        ("0o17", "0o17"),
        ("0b1", "0b1"),
        (".5", ".5"),
        ("5.", "5."),
        ("1.50", "1.50"),
        (".inf", ".inf"),
        (".NaN", ".NaN"),
        ("1e-5", "1e-5"),
        ("off", "off"),
        ("y", "y"),
        ("10:20:30", "10:20:30"),
        ("2031-04-05T10:00:00Z", "2031-04-05T10:00:00Z"),
        ("0.1000000000000000055", "0.1000000000000000055"),
        ("!!str 10", "10"),
    ],
)
def test_a_number_is_a_number_only_when_it_is_typed_as_it_is_written(typed: str, value: object) -> None:
    read = parse_document(f"a: {typed}\n", "f.yaml").data["a"]
    assert read == value
    assert type(read) is type(value)


@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=12))
def test_a_plain_scalar_is_never_anything_but_what_was_typed(text: str) -> None:
    try:
        document = parse_document(f"a: {text}\n", "f.yaml")
    except SpecError:
        return
    typed = document.typed(("a",))
    if typed is not None and isinstance(document.data["a"], float | int) and not isinstance(document.data["a"], bool):
        assert float(typed) == document.data["a"]
        assert json.dumps(document.data["a"]) == typed or "e" in json.dumps(document.data["a"])


def test_a_duplicate_key_names_both_lines(cases: Path) -> None:
    with pytest.raises(SpecError, match="line 2 and on line 4"):
        read_document(cases / "13-yaml-gotchas" / "duplicate-key.yaml")
    assert "line 1 and on line 3" in fault('{"a": 1,\n"b": {"a": 2},\n"a": 3}', "f.json").message


def test_every_duplicate_key_is_found_at_once() -> None:
    with pytest.raises(SpecError) as caught:
        parse_document("a: 1\na: 2\nb: {c: 1, c: 2}\nb: 3\n", "f.yaml")
    assert [(found.line, found.path) for found in caught.value.faults] == [(2, "a"), (3, "b.c"), (4, "b")]


@pytest.mark.parametrize(
    "text",
    ["solution:\n\turl: x\n", "a: b\n\tc: d\n", "a:\n  - x\n\t- y\n", "a:\n  b: 1\n \tc: 2\n", "a: x\n\n\tb: y\n"],
)
def test_a_tab_used_for_indentation_is_called_that(text: str) -> None:
    line = next(number for number, line in enumerate(text.split("\n"), 1) if "\t" in line)
    found = fault(text)
    assert found.message == f"tab used for indentation at line {line}"
    assert found.line == line


def test_a_tab_inside_a_text_or_between_tokens_is_fine() -> None:
    assert parse_document("a: |\n  x\n  \ty\nb:\t1\n", "f.yaml").data == {"a": "x\n\ty\n", "b": 1}
    assert parse_document('{\n\t"a":\t[1,\t2]\n}', "f.json").data == {"a": [1, 2]}


@pytest.mark.parametrize(
    "text",
    [
        "a: {{ question }}\n",
        "a:   {{question}}\n",
        "a: {{ question }} and more\n",
        "- {{ question }}\n",
        "a: [{{ question }}]\n",
        "a: {b: {{ question }}}\n",
        "{{ question }}: 1\n",
        "a: {{ question | default('x') }}\n",
        "a: {% if x %}b{% endif %}\n",
    ],
)
def test_a_template_without_quotes_gets_the_advice_to_quote_it(text: str) -> None:
    found = fault(text)
    assert "quote templates: '{" in found.hint
    assert found.line == 1


def test_aliases_that_multiply_are_refused_at_once(cases: Path) -> None:
    started = time.process_time()
    with pytest.raises(SpecError, match="aliases add more than"):
        read_document(cases / "13-yaml-gotchas" / "bomb.yaml")
    assert time.process_time() - started < 1


def test_long_texts_cannot_be_multiplied_by_aliases() -> None:
    text = f"a: &a {'x' * 100_000}\nb: [{', '.join(['*a'] * 200)}]\n"
    assert "aliases add more than" in fault(text).message


def test_merge_keys_bombs_are_refused_too() -> None:
    lines = ["a0: &a0 {" + ", ".join(f"k{i}: 1" for i in range(50)) + "}"]
    lines += [f"a{i}: &a{i} {{x: [{', '.join([f'*a{i - 1}'] * 20)}], <<: *a{i - 1}}}" for i in range(1, 8)]
    assert "aliases add more than" in fault("\n".join(lines)).message


def test_ordinary_aliases_and_merge_keys_work() -> None:
    text = "base: &b {x: 1, y: [1]}\na: {<<: *b, x: 2}\nb: *b\nc: {<<: [*b, {z: 3}]}\n"
    data = parse_document(text, "f.yaml").data
    assert data["a"] == {"x": 2, "y": [1]}
    assert data["c"] == {"x": 1, "y": [1], "z": 3}
    data["b"]["y"].append(2)
    assert data["base"]["y"] == [1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: &x [*x]\n", "contain itself"),
        ("a: *nowhere\n", "no anchor"),
        ("<<: 1\n", "needs a map"),
        ("1: x\n", "must be text"),
        ("true: x\n", "must be text"),
        ("~: x\n", "must be text"),
        ("1.5: x\n", "must be text"),
        ("? [a, b]\n: x\n", "must be text"),
        ("a: !!python/object/apply:os.system [id]\n", "tag"),
        ("a: !mine x\n", "tag"),
        ("a: !!binary aGk=\n", "tag"),
        ("a: !!timestamp 2031-04-05\n", "tag"),
        ("!!set {a, b}\n", "tag"),
        ("a: 1\n---\nb: 2\n", "second document"),
        ("", "empty"),
        (" \n\n", "empty"),
        ("# nothing\n", "no content"),
        ("---\n...\n", "no content"),
        ("a: b: c\n", "not valid YAML"),
        ("a: 'x\n", "not valid YAML"),
        ("a: @x\n", "not valid YAML"),
        ("a: \x00\n", "U+0000"),
        ("a: \x1b[31m\n", "U+001B"),
        ("a: '\ud800'\n", "U+D800"),
        ('a: "\\ud800"\n', "not valid YAML"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_place(text: str, message: str) -> None:
    found = fault(text)
    assert message in found.message
    assert found.line >= 1 or found.message.startswith("the file")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1,}', "comma"),
        ('{"a": NaN}', "NaN"),
        ('{"a": -Infinity}', "Infinity"),
        ('{"a": 1e999}', "too large"),
        ('{"a": ' + "9" * 5000 + "}", "digits"),
        ("{'a': 1}", "double quotes"),
        ("{a: 1}", "double quotes"),
        ('{"a": 1} {"b": 2}', "after the end"),
        ('{"a": 1} // x', "after the end"),
        ('{"a": // x\n1}', "no comments"),
        ('{"a": {{ x }}}', "double quotes"),
        ('{"a" 1}', "`:`"),
        ("[1 2]", "`,` or `]`"),
        ("[1, 2", "`,` or `]`"),
        ('{"a": "x', "never closed"),
        ('{"a": "x\ny"}', "control character"),
        ('"\\ud800"', "surrogate"),
        ('{"a": tru}', "tru"),
        ('{"a": 012}', "012"),
        ("[" * 5000, "levels"),
    ],
)
def test_json_that_is_none_is_refused_with_its_place(text: str, message: str) -> None:
    found = fault(text, "plan.json")
    assert message.lower() in (found.message + found.hint).lower()
    assert found.line >= 1


def test_json_keeps_what_json_can_say() -> None:
    text = '{"a": "\\ud83d\\ude00\\/", "b": [1e3, -0.5, 10, true, null], "c": {"": {}}}'
    assert parse_document(text, "f.json").data == json.loads(text)


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(2**70), 2**70)
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(st.characters(codec="utf-8")),
        lambda inner: (
            st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=4)
        ),
        max_leaves=12,
    )
)
def test_any_json_value_is_read_back(value: object) -> None:
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False, indent="\t")):
        assert parse_document(text, "f.json").data == value


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "{", "a:\n"])
def test_deep_nesting_is_a_fault_not_a_crash(opening: str) -> None:
    text = opening * 20_000 if opening != "a:\n" else "".join(" " * depth + "a:\n" for depth in range(2000))
    assert fault(text).message


def test_nesting_by_aliases_counts_too() -> None:
    lines = ["a0: &a0 [1]"] + [f"a{i}: &a{i} [*a{i - 1}]" for i in range(1, 200)]
    assert "levels" in fault("\n".join(lines)).message


def test_unicode_line_separators_are_ordinary_characters() -> None:
    document = parse_document("a: 'x \u2028 y'\nb: z\u2029z\nc: \x85\n? d\n: 1\n", "f.yaml")
    assert document.data == {"a": "x \u2028 y", "b": "z\u2029z", "c": "\x85", "d": 1}
    assert document.place(("b",)) == (2, 1)


def test_places_count_lines_as_editors_do() -> None:
    document = parse_document("é: 1\r\nb:\r  - x\n  - {q: '😀', r: 2}\n", "f.yaml")
    assert document.place(("b", 1, "r")) == (4, 14)
    assert document.place(("b", 0)) == (3, 5)
    assert document.place(("b", 1, "nothing", "there")) == (4, 5)
    assert document.place(()) == (1, 1)
    assert document.typed(("b", 1, "r")) == "2"
    assert document.typed(("b", 1, "q")) is None
    assert document.typed(("b", 7)) is None


def test_a_byte_order_mark_is_no_part_of_the_first_key(tmp_path: Path) -> None:
    for name, content in (("p.yaml", "name: x\n"), ("p.json", '{"name": "x"}')):
        path = tmp_path / name
        path.write_bytes(b"\xef\xbb\xbf" + content.encode())
        document = read_document(path)
        assert document.data == {"name": "x"}
        assert document.place(("name",))[0] == 1


def test_what_is_not_utf8_is_named_by_byte_and_line(tmp_path: Path) -> None:
    path = tmp_path / "latin.yaml"
    path.write_bytes("a: 1\nb: caf\xe9\n".encode("latin-1"))
    with pytest.raises(SpecError, match=r":2:7: byte 0xe9 at offset 11 is not UTF-8"):
        read_document(path)
    path.write_bytes("a: 1\n".encode("utf-16"))
    with pytest.raises(SpecError, match="UTF-16"):
        read_document(path)


def test_only_regular_files_of_a_bearable_size_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    with open(tmp_path / "large.yaml", "wb") as stream:
        stream.truncate(LARGEST_FILE + 1)
    for name, message in [
        ("pipe.yaml", "not a regular file"),
        (".", "folder"),
        ("gone.yaml", "No such file"),
        ("large.yaml", "larger than 16 MiB"),
        ("nul\0.yaml", "cannot be read"),
    ]:
        with pytest.raises(SpecError, match=message):
            read_document(tmp_path / name)


@given(st.one_of(st.text(), st.text("{}[]&*!|>%@`'\":,-?#<~ \n\tab1.0e_x/$\\")))
@example("{? }")
@example("&a *a")
@example("%YAML 9.9\n--- x")
@example("- - - &a ? |\n")
def test_any_text_is_read_or_refused(text: str) -> None:
    for name in ("f.yaml", "f.json"):
        try:
            document = parse_document(text, name)
        except SpecError as error:
            refused(error)
        else:
            json.dumps(document.data, allow_nan=False).encode()


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, raw: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_bytes(raw)
    try:
        read_document(path)
    except SpecError as error:
        refused(error)
