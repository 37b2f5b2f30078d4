"""What a stream of events means, and how long it may take."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.solutions.http_calls import answer_of, error_of, http
from tests.support.player import play, stream
from tui_eval.domain import Answer, Usage
from tui_eval.errors import Resend, SolutionError


async def heard(text: str | bytes, **options: Any) -> Answer:
    async with play({"paths": {"/": stream(text)}}) as server:
        return await answer_of(server.url("/"), **options)


async def refused(text: str | bytes, **options: Any) -> SolutionError:
    async with play({"paths": {"/": stream(text)}}) as server:
        return await error_of(server.url("/"), **options)


def events(*documents: Any) -> str:
    return "".join(f"data: {json.dumps(document)}\n\n" for document in documents)


@pytest.mark.parametrize("path", ["/whole", "/bytes"])
async def test_a_line_separator_inside_an_event_is_text(path: str) -> None:
    async with play("23-sse-u2028") as server:
        found = await answer_of(server.url(path), chunk_extractor="t")
    assert found.output == "first\u2028second third"


@pytest.mark.parametrize("path", ["/no-space", "/crlf", "/cr", "/bom", "/comments", "/multiline", "/done-variants"])
async def test_all_legal_dialects_give_the_same_text(path: str) -> None:
    async with play("24-sse-dialects") as server:
        found = await answer_of(server.url(path), chunk_extractor="t")
    assert (found.output, found.notes) == ("ab", [])


@pytest.mark.parametrize(("path", "output"), [("/raw-spaces", " leadtwo\nlinesend "), ("/digits", "1207")])
async def test_without_an_extractor_data_is_joined_as_it_is(path: str, output: str) -> None:
    async with play("24-sse-dialects") as server:
        assert (await answer_of(server.url(path))).output == output


async def test_bytes_that_are_no_text_are_never_replaced_unsaid() -> None:
    found = await heard(b'data: {"t":"a\xff"}\n\ndata: {"t":"b"}\n\n', chunk_extractor="t")
    assert found.output == "a\ufffdb"
    assert found.notes == ["1 event cannot be read as UTF-8: what is wrong stands as \ufffd"]
    assert (await heard('data: {"t":"a\ufffd"}\n\n', chunk_extractor="t")).notes == []


async def test_a_key_that_is_there_twice_in_an_event_is_noted_once() -> None:
    found = await heard('data: {"t":"a","t":"b"}\n\ndata: {"t":"c","t":"d"}\n\n', chunk_extractor="t")
    assert found.output == "bd"
    assert found.notes == ["an object of the answer has a key more than once (`t`): its last value counts"]


@pytest.mark.parametrize("path", ["/one-newline", "/no-newline"])
async def test_a_last_event_without_a_blank_line_counts(path: str) -> None:
    async with play("25-sse-no-final-blank") as server:
        found = await answer_of(server.url(path), chunk_extractor="t")
        assert found.output == "ab"
        assert found.notes == ["the last event had no blank line after it"]
        error = await error_of(server.url(path), chunk_extractor="t", end_marker="[DONE]")
    assert (error.kind, error.resend) == ("incomplete", Resend.MAYBE_RECEIVED)
    assert "stream ended without an end marker" in str(error)
    assert error.partial is not None
    assert error.partial.output == "ab"


@pytest.mark.parametrize(
    ("path", "kind", "words", "output"),
    [
        ("/cut-json", "incomplete", "stream cut inside an event", "a"),
        ("/chunked-cut", "connection", "connection closed early", "a"),
        ("/nothing", "incomplete", "stream had no event", None),
    ],
)
async def test_a_stream_that_stops_early_keeps_its_text_apart(path: str, kind: str, words: str, output: Any) -> None:
    async with play("25-sse-no-final-blank") as server:
        error = await error_of(server.url(path), chunk_extractor="t")
    assert error.kind == kind
    assert words in str(error)
    assert error.partial is not None
    assert error.partial.output == output


async def test_text_cut_inside_a_character_is_not_passed_off_as_whole() -> None:
    error = await refused(b"data: a\n\ndata: caf\xc3")
    assert "stream cut inside an event" in str(error)


@pytest.mark.parametrize("text", [": only\n\n: comments\n\n", "event: x\n\n", "data: [DONE]\n\n"])
async def test_a_stream_without_an_event_is_an_error(text: str) -> None:
    assert "stream had no event" in str(await refused(text))
    assert "stream had no event" in str(await refused(text, chunk_extractor="t"))


MARKED = events({"t": "a"}, {"t": "b", "finish": "stop"}, {"usage": {"input_tokens": 2}})


@pytest.mark.parametrize(
    ("marker", "text", "output"),
    [
        ("<end>", events({"t": "a"}) + "data: <end>\n\n" + events({"t": "after"}), "a"),
        ({"data": "<end>"}, events({"t": "a"}) + "data:<end>", "a"),
        (" <end> ", events({"t": "a"}) + "data:  <end>\n\n" + events({"t": "after"}), "a"),
        (" ", events({"t": "a"}) + "data: \n\n" + events({"t": "b"}), "ab"),
        ({"event": "end"}, events({"t": "a"}) + 'event: end\ndata: {"t": "summary"}\n\n' + events({"t": "x"}), "a"),
        ({"field": "finish"}, MARKED, "ab"),
        ("[DONE]", events({"t": "a"}) + "data: [DONE]\n\n", "a"),
    ],
)
async def test_a_declared_end_ends_the_stream(marker: Any, text: str, output: str) -> None:
    found = await heard(text, chunk_extractor="t", end_marker=marker)
    assert found.output == output


@pytest.mark.parametrize("marker", ["<end>", {"event": "end"}, {"field": "finish"}])
async def test_without_its_declared_end_a_stream_is_incomplete(marker: Any) -> None:
    error = await refused(events({"t": "a"}) + "data: [DONE]\n\n", chunk_extractor="t", end_marker=marker)
    assert error.kind == "incomplete"
    assert "finish" in str(error) or "end" in str(error)


async def test_counts_after_an_end_field_are_still_read() -> None:
    assert (await heard(MARKED, chunk_extractor="t", end_marker={"field": "finish"})).usage == Usage(2)


async def test_a_connection_that_breaks_after_the_end_does_no_harm() -> None:
    text = events({"t": "a", "finish": True})
    head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 9999\r\n\r\n"
    async with play({"paths": {"/": [{"text": head + text}]}}) as server:
        found = await answer_of(server.url("/"), chunk_extractor="t", end_marker={"field": "finish"})
    assert found.output == "a"
    assert "after the end of the answer" in found.notes[0]


async def test_chunks_without_the_field_add_nothing_and_counts_come_from_the_last() -> None:
    async with play("27-sse-chunk-shapes") as server:
        found = await answer_of(server.url("/chat"), chunk_extractor="choices[0].delta.content")
    assert found.output == "Hello"
    assert found.usage == Usage(9, 2, 11)
    assert found.finish_reason == "stop"


async def test_events_without_the_field_are_counted_and_never_pasted_in() -> None:
    found = await heard('data: [{"t": "x"}]\n\ndata: {"t": "y"}\n\ndata: 5\n\ndata: no json\n\n', chunk_extractor="t")
    assert (found.output, found.notes) == ("y", ["3 of 4 events had no `t`"])


async def test_a_stream_where_nothing_matches_shows_its_first_event() -> None:
    async with play("27-sse-chunk-shapes") as server:
        error = await error_of(server.url("/odd"), chunk_extractor="t")
    assert error.kind == "bad_answer"
    assert str(error).startswith("extractor matched nothing")
    assert '[{"t":"x"},{"t":"y"}]' in str(error)


async def test_null_texts_are_not_an_answer_unless_null_is_allowed() -> None:
    assert "null" in str(await refused(events({"t": None}), chunk_extractor="t"))
    assert (await heard(events({"t": None}), chunk_extractor="t", allow_null=True)).output is None
    assert (await heard(events({"t": ""}), chunk_extractor="t")).output == ""


async def test_numbers_truth_values_and_objects_are_joined_as_json() -> None:
    assert (
        await heard(events({"t": 1}, {"t": 0}, {"t": False}, {"t": {"a": 1}}), chunk_extractor="t")
    ).output == '10false{"a": 1}'


async def test_an_emoji_cut_in_two_events_is_whole_again() -> None:
    assert (await heard('data: {"t": "\\ud83c"}\n\ndata: {"t": "\\udf88"}\n\n', chunk_extractor="t")).output == "🎈"


@pytest.mark.parametrize(
    "text",
    [
        events({"t": "a"}) + 'event: error\ndata: {"message": "busy now"}\n\n',
        events({"t": "a"}) + "event: error\ndata: busy now\n\n",
        events({"t": "a"}, {"error": {"message": "busy now"}}, {"t": "b"}),
        events({"t": "a"}, {"error": "busy now"}),
    ],
)
async def test_an_error_inside_a_stream_is_the_agents_error(text: str) -> None:
    error = await refused(text, chunk_extractor="t")
    assert error.kind == "agent_error"
    assert "busy now" in str(error)
    assert error.partial is not None
    assert error.partial.output == "a"


async def test_error_when_looks_at_each_event() -> None:
    error = await refused(
        events({"t": "a"}, {"state": "failed", "t": "x"}), chunk_extractor="t", error_when="state == 'failed'"
    )
    assert error.kind == "agent_error"


async def test_a_stream_for_which_only_a_json_path_is_set_is_refused() -> None:
    assert "chunk_extractor" in str(await refused(events({"text": "a"}), output_extractor="text"))


async def test_a_stream_with_another_content_type_is_read_when_the_plan_says_so() -> None:
    steps = [{"text": "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n" + events({"t": "a"})}]
    async with play({"paths": {"/": steps}}) as server:
        assert (await answer_of(server.url("/"), chunk_extractor="t", response="sse")).output == "a"


async def test_events_keep_their_names_and_times() -> None:
    steps = [*stream("event: step\ndata: 1\n\n"), {"sleep": 0.05}, {"text": "data: 2\n\n"}]
    async with play({"paths": {"/": steps}}) as server:
        found = await answer_of(server.url("/"))
    first, second = found.events
    assert (first.event, first.data, second.event) == ("step", "1", "message")
    assert second.at - first.at >= 0.04
    assert found.first_byte_seconds is not None
    assert found.first_byte_seconds <= first.at


async def test_many_events_are_all_joined_but_not_all_kept() -> None:
    found = await heard("data: x\n\n" * 5000)
    assert len(found.output) == 5000
    assert len(found.events) == 2000


async def test_a_connection_is_kept_after_a_stream_that_was_read_to_done() -> None:
    body = events({"t": "a"}) + "data: [DONE]\n\n"
    head = f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n{len(body):x}\r\n{body}\r\n"
    steps = [{"text": head}, {"sleep": 0.001}, {"text": "0\r\n\r\n"}]
    async with (
        play({"paths": {"/": steps}, "keep": True}) as server,
        http(server.url("/"), chunk_extractor="t") as call,
    ):
        for _ in range(3):
            assert (await call()).output == "a"
        assert server.connections == 1


async def test_a_server_that_never_closes_after_done_does_not_hold_the_call() -> None:
    steps = [*stream(events({"t": "a"}) + "data: [DONE]\n\n"), {"sleep": 30}]
    async with play({"paths": {"/": steps}}) as server, asyncio.timeout(1):
        assert (await answer_of(server.url("/"), chunk_extractor="t")).output == "a"


# Limits


@pytest.mark.parametrize("path", ["/heartbeat", "/silent"])
async def test_comments_and_silence_end_at_the_idle_limit(path: str) -> None:
    async with play("29-sse-heartbeat-forever") as server, asyncio.timeout(2):
        error = await error_of(server.url(path), {"total": 3, "idle": 0.6}, chunk_extractor="t")
        assert str(error) == "timed out: idle 0.6 s (no event for 0.6 s; total limit 3 s)"
        assert (error.kind, error.resend) == ("timed_out", Resend.MAYBE_RECEIVED)
        assert error.partial is not None
        assert error.partial.output == "a"


@pytest.mark.parametrize(
    "beat", ["event: ping\ndata: {}\n\n", "data:\n\n", "id: 1\n\n", "event: heartbeat\ndata: 1\n\n"]
)
async def test_other_heartbeats_are_no_progress_either(beat: str) -> None:
    steps = [*stream(events({"t": "a"})), {"repeat": 100, "steps": [{"text": beat}, {"sleep": 0.03}]}]
    async with play({"paths": {"/": steps}}) as server:
        error = await error_of(server.url("/"), {"total": 2, "idle": 0.15}, chunk_extractor="t")
    assert str(error).startswith("timed out: idle 0.15 s")


async def test_a_slow_stream_that_lives_is_left_alone() -> None:
    steps = [*stream(""), {"repeat": 6, "steps": [{"text": events({"t": "a"})}, {"sleep": 0.1}]}]
    async with play({"paths": {"/": steps}}) as server:
        assert (await answer_of(server.url("/"), {"total": 10, "idle": 0.3}, chunk_extractor="t")).output == "aaaaaa"


async def test_one_long_event_that_arrives_slowly_is_progress() -> None:
    pieces = [{"text": 'data: {"t": "'}, {"repeat": 6, "steps": [{"text": "x"}, {"sleep": 0.1}]}, {"text": '"}\n\n'}]
    async with play({"paths": {"/": [*stream(""), *pieces]}}) as server:
        assert (await answer_of(server.url("/"), {"total": 10, "idle": 0.3}, chunk_extractor="t")).output == "xxxxxx"


async def test_the_total_limit_is_total() -> None:
    steps = [*stream(""), {"repeat": 100, "steps": [{"text": events({"t": "a"})}, {"sleep": 0.05}]}]
    async with play({"paths": {"/": steps}}) as server, asyncio.timeout(1):
        error = await error_of(server.url("/"), {"total": 0.3, "idle": 0.2}, chunk_extractor="t")
    assert str(error).startswith("timed out: total 0.3 s (")
    assert "events received" in str(error)


async def test_an_endless_stream_stops_at_the_size_limit() -> None:
    steps = [*stream(""), {"repeat": 10_000, "steps": [{"text": "data: " + "x" * 1000 + "\n\n"}]}]
    async with play({"paths": {"/": steps}}) as server:
        error = await error_of(server.url("/"), max_response_bytes=50_000)
    assert "max_response_bytes" in str(error)
