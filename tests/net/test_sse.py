"""Server-sent events as the WHATWG text has them, however the bytes are cut."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.player import CASES
from tui_eval.net.sse import EventTooLong, ServerSentEvent, SseParser


def events_of(*chunks: bytes) -> list[ServerSentEvent]:
    parser = SseParser()
    events = [event for chunk in chunks for event in parser.feed(chunk)]
    return events + parser.close()


def data_of(*chunks: bytes) -> list[str]:
    return [event.data for event in events_of(*chunks)]


@pytest.mark.parametrize("name", ["bom", "comments", "cr", "crlf", "multiline", "no-space"])
def test_all_legal_dialects_say_the_same(name: str) -> None:
    text = (CASES / "24-sse-dialects" / f"{name}.sse").read_bytes()
    assert [data.replace("\n", "").replace(" ", "") for data in data_of(text)] == ['{"t":"a"}', '{"t":"b"}']


def test_one_space_is_removed_and_no_other() -> None:
    text = (CASES / "24-sse-dialects" / "raw-spaces.sse").read_bytes()
    assert data_of(text) == [" lead", "two\nlines", "", "end "]


@pytest.mark.parametrize("mark", ["\u2028", "\u2029", "\u0085", "\v", "\f", "\x1c"])
def test_only_cr_and_lf_end_a_line(mark: str) -> None:
    assert data_of(f"data: a{mark}b\n\n".encode()) == [f"a{mark}b"]


def test_an_event_is_there_as_soon_as_its_last_cr_is() -> None:
    parser = SseParser()
    assert [event.data for event in parser.feed(b"data: a\r\r")] == ["a"]
    assert parser.feed(b"\n") == []
    assert [event.data for event in parser.feed(b"data: b\r\n\r\n")] == ["b"]


def test_names_ids_and_retry_times_are_read() -> None:
    events = events_of(b"event: end\nid: 7\nretry: 100\ndata: x\n\ndata: y\n\nid: a\0b\nretry: 1s\ndata\n\n")
    assert events == [
        ServerSentEvent("x", "end", "7", 100),
        ServerSentEvent("y", "message", "7", 100),
        ServerSentEvent("", "message", "7", 100),
    ]


def test_an_event_without_data_is_none_and_leaves_no_name_behind() -> None:
    assert events_of(b"event: ping\n\ndata: x\n\n") == [ServerSentEvent("x")]


def test_comments_are_counted_and_are_not_data() -> None:
    parser = SseParser()
    assert parser.feed(b": one\n\n:two\n\n: thr") == []
    assert (parser.comments, parser.pending_data) == (2, 0)
    parser.feed(b"ee\ndata: abc")
    assert parser.pending_data == len(b"data: abc")


@pytest.mark.parametrize("tail", ["", "\n", "\r", "\r\n", "\nid: 1", "\n: bye"])
def test_a_last_event_without_a_blank_line_is_given_with_a_flag(tail: str) -> None:
    (event,) = events_of(f"data: whole{tail}".encode())
    assert (event.data, event.complete, event.cut_character) == ("whole", False, False)


def test_a_last_event_that_ends_inside_a_character_says_so() -> None:
    (event,) = events_of("data: é".encode()[:-1])
    assert event.cut_character
    (event,) = events_of(b"data: \xff wrong but not cut")
    assert not event.cut_character


def test_bytes_that_are_not_utf8_become_replacement_characters() -> None:
    assert data_of(b"data: \xff\xfe\n\n") == ["\ufffd\ufffd"]


@pytest.mark.parametrize("line", [b"data: " + b"x" * 200, b"data: " + b"x" * 60 + b"\ndata: " + b"x" * 60])
def test_an_endless_event_is_refused(line: bytes) -> None:
    with pytest.raises(EventTooLong):
        SseParser(max_event_bytes=100).feed(line)


def test_many_short_events_are_not_one_long_one() -> None:
    parser = SseParser(max_event_bytes=100)
    assert len(parser.feed(b"data: x\n\n" * 1000)) == 1000


_LINES = st.lists(
    st.sampled_from(
        ["data: a", "data:b", "data", "data:  ", ": c", "event: e", "id: 1", "", "", "retry: 5", "é\u2028", "data: é🎈"]
    ),
    max_size=12,
)


@st.composite
def _streams(draw: st.DrawFn) -> bytes:
    ends = st.sampled_from(["\n", "\r", "\r\n"])
    text = "".join(line + draw(ends) for line in draw(_LINES)) + draw(
        st.sampled_from(["", "data: z", "x", "data: z\n"])
    )
    return (draw(st.sampled_from(["", "\ufeff"])) + text).encode()


@given(st.one_of(_streams(), st.binary(max_size=60)), st.data())
def test_how_a_stream_is_cut_into_pieces_does_not_matter(stream: bytes, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    pieces = [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    whole = events_of(stream)
    assert events_of(*pieces) == whole
    assert events_of(*(stream[at : at + 1] for at in range(len(stream)))) == whole


def test_the_recorded_stream_with_a_line_separator_is_read_whole() -> None:
    stream = Path(CASES / "23-sse-u2028" / "stream.sse").read_bytes()
    assert data_of(stream) == ['{"t": "first\u2028second"}', '{"t": " third"}', "[DONE]"]
