"""A value to keep out is not in what is kept of a stream, however the agent cut it into events."""

from __future__ import annotations

import base64
import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_eval.net.sse import SseParser
from tui_eval.net.stream_secrets import keep_out, without_split_values
from tui_eval.spec.secrets import Secrets

TOKEN = "tok-7Qz+/=made_up"
SECRETS = Secrets({"TOKEN": TOKEN})


def answer_of(raw: str) -> dict[str, Any]:
    """What is kept of a stream, as the writer gets it."""
    parser = SseParser()
    events = parser.feed(raw.encode()) + parser.close()
    return {"raw": raw, "events": [[0.5, event.event, event.data] for event in events]}


def stream(*documents: Any, end: str = "\n") -> str:
    return "".join(f"data: {one if isinstance(one, str) else json.dumps(one)}{end}{end}" for one in documents)


def kept_of(raw: str) -> dict[str, Any]:
    kept = keep_out(SECRETS)({"request": {}, "answer": answer_of(raw)})["answer"]
    assert answer_of(kept["raw"])["events"] == kept["events"], "the text and the events say the same"
    return dict(kept)


def data_of(kept: dict[str, Any]) -> list[Any]:
    return [json.loads(data) for _, _, data in kept["events"]]


def test_a_value_in_the_pieces_of_a_chat_stream_is_replaced_where_it_begins() -> None:
    def chunk(text: str) -> dict[str, Any]:
        return {"id": "c1", "choices": [{"index": 0, "delta": {"content": text}}]}

    raw = stream(chunk("Your key: tok-"), chunk("7Qz+/="), chunk("made_up, keep it"), chunk("!"), "[DONE]")
    kept = kept_of(raw)
    texts = [json.loads(data)["choices"][0]["delta"]["content"] for _, _, data in kept["events"][:-1]]
    assert texts == ["Your key: ${TOKEN}", "", ", keep it", "!"]
    assert kept["raw"].endswith(stream(chunk("!"), "[DONE]")), "what has no part of it stays as it came"


def test_texts_that_are_streamed_side_by_side_are_joined_each_for_itself() -> None:
    raw = stream(
        {"type": "text-delta", "id": "1", "delta": "tok-7Qz"},
        {"type": "text-delta", "id": "2", "delta": "something else"},
        {"type": "text-delta", "id": "1", "delta": "+/=made_up"},
    )
    assert [event["delta"] for event in data_of(kept_of(raw))] == ["${TOKEN}", "something else", ""]


def test_a_value_in_the_arguments_of_a_tool_is_found_in_its_escaped_form() -> None:
    raw = stream({"arguments": '{"key": "tok-7Qz+\\'}, {"arguments": '/=made_up"}'})
    assert [event["arguments"] for event in data_of(kept_of(raw))] == ['{"key": "${TOKEN}', '"}']


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_text_that_is_no_json_is_joined_too(end: str) -> None:
    raw = "\ufeff: hello" + end + "event: word" + end + stream("Key tok-", "7Qz+/=made_up.", "bye", end=end)
    kept = kept_of(raw)
    assert [data for _, _, data in kept["events"]] == ["Key ${TOKEN}", ".", "bye"]
    assert kept["raw"] == raw.replace("tok-", "${TOKEN}").replace("7Qz+/=made_up", "")


def test_an_encoded_value_in_several_events_is_found_too() -> None:
    encoded = "".join(f"%{byte:02x}" for byte in b"tok-7Qz+/=made_up")
    for form in (encoded, base64.b64encode(b"tok-7Qz+/=made_up").decode()):
        kept = kept_of(stream(f"Key {form[:9]}", form[9:20], f"{form[20:]}.", "bye"))
        assert [data for _, _, data in kept["events"]] == ["Key ${TOKEN}", "", ".", "bye"]


def test_data_in_several_lines_stays_one_event() -> None:
    raw = 'data: {"t":\ndata: "tok-7Qz"}\nid: 1\n\ndata:{"t":\ndata:"+/=made_up"}\n\n'
    assert [event["t"] for event in data_of(kept_of(raw))] == ["${TOKEN}", ""]


def test_a_stream_without_a_value_is_left_as_it_is() -> None:
    answer = answer_of(stream({"t": "tok-"}, {"t": "something"}, "{broken", "[DONE]"))
    assert without_split_values(answer, SECRETS) is answer


def test_what_is_kept_aside_when_the_history_cannot_be_written_is_looked_through_as_well() -> None:
    task = {"attempts": [{"payload": {"request": {}, "answer": answer_of(stream({"t": "tok-7Q"}, {"t": TOKEN[6:]}))}}]}
    kept = keep_out(SECRETS)(task)["attempts"][0]["payload"]["answer"]
    assert [event["t"] for event in data_of(kept)] == ["${TOKEN}", ""]


@given(
    st.lists(st.sampled_from([TOKEN, "a", "é", " ", "\n", '"', "tok-", "${X}"]), min_size=1, max_size=6),
    st.lists(st.integers(1, 9), min_size=1, max_size=40),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.booleans(),
)
def test_the_pieces_joined_are_the_text_without_the_value(
    words: list[str], sizes: list[int], end: str, ascii_only: bool
) -> None:
    rest = text = "".join(words)
    pieces: list[str] = []
    while rest:
        size = sizes[len(pieces) % len(sizes)]
        pieces.append(rest[:size])
        rest = rest[size:]
    raw = stream(*(json.dumps({"t": piece}, ensure_ascii=ascii_only) for piece in pieces), end=end)
    assert "".join(event["t"] for event in data_of(kept_of(raw))) == SECRETS.redact(text)


def test_a_long_stream_costs_little() -> None:
    raw = stream(*({"choices": [{"delta": {"content": f"word {number} "}}]} for number in range(2_000)))
    answer = answer_of(raw)
    started = time.process_time()
    without_split_values(answer, SECRETS)
    assert time.process_time() - started < 1
