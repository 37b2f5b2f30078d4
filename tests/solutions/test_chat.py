"""An OpenAI-compatible endpoint, with and without streaming."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.solutions.http_calls import SETUP, context, rendered
from tests.support.player import Asked, answer, play, stream
from tui_eval.domain import Answer, Usage
from tui_eval.errors import Resend, SolutionError, SpecError
from tui_eval.solutions.base import SolutionSetup
from tui_eval.solutions.chat import ChatSolution, chat_options_for
from tui_eval.spec.evaluator_options import JudgeOptions
from tui_eval.spec.solution_options import ChatOptions

PATH = "/v1/chat/completions"


async def call(steps: Any, path: str = PATH, base: str = "/v1", **options: Any) -> tuple[Answer, Asked]:
    async with play({"paths": {path: steps}}) as server:
        fields = {"model": "m", "prompt": "hi", **options, "base_url": server.url(base)}
        if "messages" in fields:
            del fields["prompt"]
        solution = ChatSolution(ChatOptions.model_validate(fields), SETUP)
        try:
            return await solution.call(rendered(fields), context()), server.requests[0]
        finally:
            await solution.aclose()


async def said(steps: Any, **options: Any) -> Answer:
    return (await call(steps, **options))[0]


async def refused(steps: Any, **options: Any) -> SolutionError:
    with pytest.raises(SolutionError) as caught:
        await call(steps, **options)
    return caught.value


def completion(message: Any, finish: str = "stop", **more: Any) -> Any:
    return answer(json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": finish}], **more}))


def deltas(*choices: Any, end: str = "data: [DONE]\n\n", **more: Any) -> Any:
    lines = "".join(f"data: {json.dumps({'choices': [choice]})}\n\n" for choice in choices)
    if more:
        lines += f"data: {json.dumps({'choices': [], **more})}\n\n"
    return stream(lines + end)


HELLO = completion({"role": "assistant", "content": "Hello"}, usage={"prompt_tokens": 9, "completion_tokens": 2})


async def test_a_message_is_sent_and_its_reply_read() -> None:
    found, asked = await call(HELLO, system="be kind", api_key="k", params={"temperature": 0}, headers={"x-a": "1"})
    assert (found.output, found.usage, found.finish_reason) == ("Hello", Usage(9, 2), "stop")
    assert json.loads(asked.body) == {
        "model": "m",
        "messages": [{"role": "system", "content": "be kind"}, {"role": "user", "content": "hi"}],
        "temperature": 0,
    }
    assert asked.headers["authorization"] == "Bearer k"
    assert asked.headers["x-a"] == "1"
    assert "traceparent" in asked.headers


async def test_whole_messages_are_sent_as_they_are_and_an_own_header_wins() -> None:
    messages = [{"role": "user", "content": [{"type": "text", "text": "x"}]}]
    _, asked = await call(HELLO, messages=messages, api_key="k", headers={"Authorization": "Own"})
    assert json.loads(asked.body)["messages"] == messages
    assert asked.headers["authorization"] == "Own"


async def test_a_version_in_the_query_of_the_base_address_stays_there() -> None:
    _, asked = await call(HELLO, path="/x/chat/completions", base="/x/?api-version=1")
    assert asked.target == "/x/chat/completions?api-version=1"


@pytest.mark.parametrize("base", ["/v1#x", "/v1/chat/completions", "/v1/chat/completions/?", "/v1//"])
async def test_an_address_that_is_more_than_the_base_leads_to_the_same_place(base: str) -> None:
    _, asked = await call(HELLO, base=base)
    assert asked.target.rstrip("?") == PATH


@pytest.mark.parametrize("messages", [[], "hi", [1], [{"content": "x"}]])
async def test_messages_that_are_none_are_refused_unsent(messages: Any) -> None:
    error = await refused(HELLO, messages=messages)
    assert (error.kind, "messages" in str(error)) == ("argument", True)


def test_params_that_are_options_of_their_own_are_refused() -> None:
    options = ChatOptions(base_url="http://h", model="m", prompt="p", params={"stream": True, "messages": []})
    with pytest.raises(SpecError) as caught:
        ChatSolution(options, SETUP)
    assert len(caught.value.faults) == 2


@pytest.mark.parametrize(
    ("message", "output", "note", "detail"),
    [
        ({"content": [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]}, "ab", "", {}),
        ({"content": ""}, "", "", {}),
        ({"content": None, "tool_calls": [{"id": "1"}]}, "", "no text: 1 tool call", {"tool_calls": [{"id": "1"}]}),
        ({"content": "x", "tool_calls": [{"id": "1"}]}, "x", "", {"tool_calls": [{"id": "1"}]}),
        ({"content": None, "refusal": "I will not"}, "I will not", "the model refused", {"refusal": "I will not"}),
        ({"content": "x", "reasoning_content": "hm"}, "x", "", {"reasoning": "hm"}),
        ({"content": "x", "reasoning": "hm"}, "x", "", {"reasoning": "hm"}),
    ],
)
async def test_each_kind_of_message_has_its_output(message: Any, output: str, note: str, detail: Any) -> None:
    found = await said(completion(message))
    assert (found.output, found.notes, found.detail) == (output, [note] if note else [], detail)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            {"choices": [{"message": {"content": None}, "finish_reason": "length"}]},
            "`message` has no text; its keys are: content (finish reason: length)",
        ),
        ({"choices": []}, "response has no `choices` with a message; its keys are: choices"),
        ({"choices": [{"text": "x"}]}, "`choices[0]` has no `message`; its keys are: text"),
        ({"choices": ["x"]}, "`choices[0]` has no `message`; it is a text"),
        ([], "response has no `choices` with a message; it is a list"),
        ("x", "it is a text"),
    ],
)
async def test_what_is_no_completion_says_why(body: Any, words: str) -> None:
    error = await refused(answer(json.dumps(body)))
    assert error.kind == "bad_answer"
    assert words in str(error)


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "try later", "code": 429}},
        {"error": "try later", "choices": []},
        {"choices": [{"error": {"message": "try later"}, "message": {"content": ""}}]},
    ],
)
async def test_an_error_with_status_200_is_the_agents_error(body: Any) -> None:
    error = await refused(answer(json.dumps(body)))
    assert (error.kind, str(error)) == ("agent_error", "the agent says: try later")


async def test_html_an_empty_body_and_a_redirect_are_no_completions() -> None:
    assert "expected JSON, got text/html" in str(await refused(answer("<p>", "text/html")))
    assert "empty body" in str(await refused(answer("")))
    assert "never sent on" in str(await refused(answer("", status="302 x", headers="location: /new\r\n")))
    error = await refused(answer('{"error": {"message": "no key"}}', status="401 x"))
    assert (error.kind, str(error)) == ("http_status", "HTTP 401 Unauthorized: no key")


@pytest.mark.parametrize("finish", ["length", "content_filter"])
async def test_an_answer_that_was_cut_by_the_model_is_noted(finish: str) -> None:
    found = await said(completion({"content": "Hel"}, finish))
    assert (found.finish_reason, found.notes) == (finish, [f"finish reason: {finish}"])


async def test_a_recorded_stream_is_put_together_with_its_counts() -> None:
    async with play("27-sse-chunk-shapes") as server:
        steps = server.paths["/chat"]
    found, asked = await call(steps, stream=True)
    assert (found.output, found.usage, found.finish_reason, found.notes) == ("Hello", Usage(9, 2, 11), "stop", [])
    sent = json.loads(asked.body)
    assert (sent["stream"], sent["stream_options"]) == (True, {"include_usage": True})


async def test_stream_options_of_the_user_win() -> None:
    _, asked = await call(deltas({"delta": {"content": "x"}}), stream=True, params={"stream_options": {}})
    assert json.loads(asked.body)["stream_options"] == {}


async def test_tool_calls_and_reasoning_come_in_pieces() -> None:
    def tool(index: int, **function: str) -> Any:
        return {"delta": {"tool_calls": [{"index": index, "id": f"c{index}", "function": function}]}}

    found = await said(
        deltas(
            {"delta": {"role": "assistant", "content": None, "reasoning_content": "let me "}},
            {"delta": {"reasoning_content": "think"}},
            tool(0, name="f", arguments='{"a"'),
            tool(0, arguments=": 1}"),
            tool(1, name="g", arguments="{}"),
            {"delta": {}, "finish_reason": "tool_calls"},
        ),
        stream=True,
    )
    assert found.output == ""
    assert found.notes == ["no text: 2 tool calls"]
    assert found.detail["reasoning"] == "let me think"
    assert [call["function"]["arguments"] for call in found.detail["tool_calls"]] == ['{"a": 1}', "{}"]


@pytest.mark.parametrize(("first", "joined"), [({}, "x"), ({"a": 1}, '{"a": 1}x'), (5, "5x"), (None, "x")])
async def test_arguments_of_a_tool_call_that_begin_as_something_else_than_text_break_nothing(
    first: Any, joined: str
) -> None:
    def tool(arguments: Any) -> Any:
        return {
            "delta": {"content": "A", "tool_calls": [{"index": 0, "function": {"name": "f", "arguments": arguments}}]}
        }

    found = await said(deltas(tool(first), tool("x"), {"delta": {}, "finish_reason": "stop"}), stream=True)
    assert found.output == "AA"
    assert found.detail["tool_calls"][0]["function"]["arguments"] == joined


async def test_only_the_first_choice_counts_in_a_stream() -> None:
    found = await said(
        deltas({"index": 1, "delta": {"content": "B"}}, {"index": 0, "delta": {"content": "A"}}), stream=True
    )
    assert found.output == "A"


@pytest.mark.parametrize("end", ["", ": bye\n\n"])
async def test_a_stream_without_an_end_is_incomplete(end: str) -> None:
    error = await refused(deltas({"delta": {"content": "Hel"}}, end=end), stream=True)
    assert (error.kind, error.resend) == ("incomplete", Resend.MAYBE_RECEIVED)
    assert error.partial is not None
    assert error.partial.output == "Hel"


async def test_a_finish_reason_is_an_end_without_done() -> None:
    assert (await said(deltas({"delta": {"content": "x"}, "finish_reason": "stop"}, end=""), stream=True)).output == "x"


async def test_an_error_in_a_stream_keeps_what_came_before() -> None:
    text = 'data: {"choices": [{"delta": {"content": "Hel"}}]}\n\ndata: {"error": {"message": "overloaded"}}\n\n'
    error = await refused(stream(text), stream=True)
    assert (error.kind, "overloaded" in str(error)) == ("agent_error", True)
    assert error.partial is not None
    assert error.partial.output == "Hel"


async def test_a_stream_that_said_nothing_shows_its_first_event() -> None:
    error = await refused(deltas({"delta": {"role": "assistant"}, "finish_reason": "stop"}), stream=True)
    assert error.kind == "bad_answer"
    assert "assistant" in str(error)
    assert (await refused(stream("data: [DONE]\n\n"), stream=True)).kind == "incomplete"


async def test_foreign_events_are_counted() -> None:
    text = 'data: hello\n\ndata: {"choices": [{"delta": {"content": "x"}}]}\n\ndata: [DONE]\n\n'
    found = await said(stream(text), stream=True)
    assert found.notes == ["1 of 2 events had no `choices` and no `usage`"]


async def test_a_server_may_answer_in_the_other_form() -> None:
    assert (await said(HELLO, stream=True)).output == "Hello"
    assert (await said(deltas({"delta": {"content": "x"}}))).output == "x"


async def test_an_emoji_cut_in_two_deltas_is_whole_again() -> None:
    pieces = ['{"choices": [{"delta": {"content": "\\ud83c"}}]}', '{"choices": [{"delta": {"content": "\\udf88"}}]}']
    found = await said(stream("".join(f"data: {piece}\n\n" for piece in pieces) + "data: [DONE]\n\n"), stream=True)
    assert found.output == "🎈"


@pytest.mark.parametrize("choices", [None, 5, [None], [{"delta": 5}], [{"delta": {"tool_calls": [1, {"index": "x"}]}}]])
async def test_odd_chunks_are_no_text_and_break_nothing(choices: Any) -> None:
    text = f"data: {json.dumps({'choices': choices})}\n\n"
    good = 'data: {"choices": [{"delta": {"content": "x"}}]}\n\ndata: [DONE]\n\n'
    assert (await said(stream(text + good), stream=True)).output == "x"


async def test_a_judge_asks_with_its_own_messages_and_resolved_secrets() -> None:
    setup = SolutionSetup(SETUP.folder, {}, resolve=lambda text: text.replace("${KEY}", "value"))
    async with play({"paths": {PATH: HELLO}}) as server:
        judge = JudgeOptions(
            base_url=server.url("/v1"), model="m", api_key="${KEY}", rubric="r", headers={"x-k": "${KEY}"}
        )
        solution = ChatSolution(chat_options_for(judge), setup)
        request = solution.request_for([{"role": "user", "content": "judge {{ this }} ${KEY}"}])
        found = await solution.call(request, context())
        await solution.aclose()
        asked = server.requests[0]
    assert found.output == "Hello"
    assert asked.headers["authorization"] == "Bearer value"
    assert asked.headers["x-k"] == "value"
    assert json.loads(asked.body)["messages"][0]["content"] == "judge {{ this }} ${KEY}"
    assert "value" not in json.dumps(solution.preview(request))


async def test_a_key_that_cannot_be_a_header_is_refused_unseen() -> None:
    error = await refused(HELLO, api_key="secret\n")
    assert error.kind == "argument"
    assert "authorization" in str(error)
    assert "secret" not in str(error)


def test_the_host_is_that_of_the_base_address() -> None:
    options = ChatOptions(base_url="http://h", model="m", prompt="p")
    assert ChatSolution(options, SETUP).host(rendered({"base_url": "https://API.example.com/v1"})) == "api.example.com"
