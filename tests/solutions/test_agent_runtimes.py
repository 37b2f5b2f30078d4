"""An agent that speaks the AI SDK's UI message stream, on streams recorded from agent-runtimes and on broken ones."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.solutions.http_calls import SETUP, context, rendered
from tests.support.player import Asked, answer, play, stream
from tui_eval.domain import Answer, Usage
from tui_eval.errors import Resend, SolutionError
from tui_eval.net.sse import ServerSentEvent
from tui_eval.solutions.agent_runtimes import AgentRuntimes, chat_address
from tui_eval.solutions.base import SolutionSetup
from tui_eval.solutions.ui_messages import MessageTaker
from tui_eval.spec.solution_options import AgentRuntimesOptions

STREAMS = Path(__file__).parent.parent / "platforms" / "datalayer" / "streams"
PATH = "/api/v1/vercel-ai/helper"


def recorded(name: str) -> Any:
    return stream((STREAMS / f"{name}.sse").read_bytes())


def parts(*parts: Mapping[str, Any] | str) -> Any:
    """A stream of these parts; texts stand as they are."""
    return stream("".join(part if isinstance(part, str) else f"data: {json.dumps(part)}\n\n" for part in parts))


def text(*deltas: str) -> list[dict[str, Any]]:
    spoken: list[dict[str, Any]] = [{"type": "text-start", "id": "t"}]
    spoken += [{"type": "text-delta", "id": "t", "delta": delta} for delta in deltas]
    return [{"type": "start-step"}, *spoken, {"type": "text-end", "id": "t"}, {"type": "finish-step"}]


FINISH = {"type": "finish", "finishReason": "stop"}
DONE = "data: [DONE]\n\n"


async def call(steps: Any, limits: Mapping[str, Any] | None = None, **options: Any) -> tuple[Answer, Asked]:
    async with play({"paths": {PATH: steps}}) as server:
        fields = {"base_url": server.base_url, "agent": "helper", "prompt": "hi", **options}
        if "messages" in fields:
            del fields["prompt"]
        solution = AgentRuntimes(AgentRuntimesOptions.model_validate(fields), SETUP)
        try:
            return await solution.call(rendered(fields), context(**(limits or {}))), server.requests[0]
        finally:
            await solution.aclose()


async def said(steps: Any, **options: Any) -> Answer:
    return (await call(steps, **options))[0]


async def refused(steps: Any, **options: Any) -> SolutionError:
    with pytest.raises(SolutionError) as caught:
        await call(steps, **options)
    return caught.value


async def test_the_answer_is_the_text_and_usage_comes_from_the_metadata() -> None:
    found = await said(recorded("plain_unicode"))
    assert (found.output, found.usage, found.finish_reason) == ("HELLO CAFÉ", Usage(154, 2, 156), "stop")
    assert found.notes == []


async def test_reasoning_is_kept_apart_from_the_answer() -> None:
    found = await said(recorded("reasoning"))
    assert found.output == "REASON ABOUT THIS"
    assert found.detail["reasoning"] == "(secret chain of thought) "


async def test_tool_calls_are_kept_with_their_input_and_output() -> None:
    found = await said(recorded("tool_call"))
    assert found.output == "TOOL:RUNTIME_ECHO GO"
    assert found.detail["tool_calls"] == [
        {"id": "call_1", "name": "runtime_echo", "input": {"text": "ping"}, "output": "ping"}
    ]


async def test_many_tools_in_one_step_and_a_finish_without_reason() -> None:
    found = await said(recorded("testmodel_multistep_tools"))
    assert json.loads(found.output)["runtime_echo"] == "a"
    names = [call["name"] for call in found.detail["tool_calls"]]
    assert names == ["runtime_echo", "list_skills", "load_skill", "read_skill_resource", "run_skill_script"]
    assert found.usage == Usage(185, 132, 317)


async def test_a_tool_of_an_agent_with_approvals_off_is_no_pause() -> None:
    assert (await said(recorded("approvals_disabled_serverwide"))).output == "TOOL:RUNTIME_SENSITIVE_ECHO GO"


@pytest.mark.parametrize("name", ["approval_pending_sdk6", "approval_pending_runner_body"])
async def test_a_pause_for_approval_is_an_error_of_its_own_kind(name: str) -> None:
    error = await refused(recorded(name))
    assert error.kind == "approval"
    assert "`runtime_sensitive_echo`" in error.message
    assert error.resend is Resend.NEVER
    assert error.partial is not None
    assert error.partial.detail["tool_calls"][0]["input"] == {"text": "ping"}


async def test_an_error_inside_a_stream_of_status_200_is_the_agents_failure() -> None:
    error = await refused(recorded("model_error_http200"))
    assert error.kind == "agent_error"
    assert "mock provider exploded" in error.message


async def test_what_was_said_before_an_error_is_kept_for_reading_only() -> None:
    error = await refused(
        parts({"type": "reasoning-delta", "delta": "hm"}, *text("half"), {"type": "error", "errorText": "gone"})
    )
    assert error.partial is not None
    assert (error.partial.output, error.partial.detail["reasoning"]) == ("half", "hm")


async def test_a_finish_reason_error_is_a_failure_though_there_is_text() -> None:
    error = await refused(parts(*text("looks fine"), {"type": "finish", "finishReason": "error"}, DONE))
    assert error.kind == "agent_error"


async def test_an_answer_that_was_broken_off_is_a_failure() -> None:
    assert (await refused(parts(*text("so"), {"type": "abort"}, DONE))).kind == "agent_error"


@pytest.mark.parametrize("end", [[], [DONE]], ids=["closed", "done"])
async def test_a_stream_without_finish_is_incomplete(end: list[str]) -> None:
    error = await refused(parts({"type": "start"}, *text("whole?"), *end))
    assert (error.kind, error.resend) == ("incomplete", Resend.MAYBE_RECEIVED)
    assert "`finish`" in error.message


async def test_a_stream_without_events_is_incomplete() -> None:
    assert (await refused(parts(": hello\n\n"))).kind == "incomplete"


async def test_another_kind_of_stream_is_named_as_such() -> None:
    error = await refused(parts({"choices": [{"delta": {"content": "hi"}}]}, DONE))
    assert error.kind == "bad_answer"
    assert "no UI message stream" in error.message


async def test_only_text_of_the_last_step_counts_unless_all_are_asked_for() -> None:
    steps = parts(*text("Let me look. "), *text("It is 7."), FINISH, DONE)
    assert (await said(steps)).output == "It is 7."
    assert (await said(steps, answer="all_steps")).output == "Let me look. It is 7."


async def test_a_last_step_without_text_is_noted() -> None:
    found = await said(parts(*text("It is 7."), {"type": "start-step"}, {"type": "finish-step"}, FINISH))
    assert found.output == "It is 7."
    assert found.notes == ["the last step had no text: the output is that of an earlier step"]


async def test_an_empty_text_is_an_answer_and_none_at_all_is_not() -> None:
    assert (await said(parts(*text(), FINISH))).output == ""
    assert "without any text" in (await refused(parts({"type": "start"}, FINISH))).message


async def test_a_finish_reason_of_its_own_is_noted() -> None:
    found = await said(parts(*text("cut"), {"type": "finish", "finishReason": "length"}))
    assert found.notes == ["finish reason: length"]


async def test_a_failed_tool_is_no_failed_answer() -> None:
    tool = {"toolCallId": "1", "toolName": "look"}
    found = await said(
        parts(
            {"type": "tool-input-available", **tool, "input": {}},
            {"type": "tool-output-error", "toolCallId": "1", "errorText": "no such file"},
            *text("I could not."),
            FINISH,
        )
    )
    assert found.output == "I could not."
    assert found.detail["tool_calls"][0]["error"] == "no such file"


async def test_an_approval_that_was_given_in_the_stream_is_no_pause() -> None:
    found = await said(
        parts(
            {"type": "tool-input-available", "toolCallId": "1", "toolName": "t", "input": {}},
            {"type": "tool-approval-request", "toolCallId": "1", "approvalId": "a"},
            {"type": "tool-output-available", "toolCallId": "1", "output": "ok"},
            *text("done"),
            FINISH,
        )
    )
    assert found.output == "done"


async def test_usage_of_a_nextjs_route_is_read_from_its_finish() -> None:
    metadata = {"totalUsage": {"inputTokens": 5, "outputTokens": 2, "totalTokens": 7}}
    found = await said(parts(*text("x"), {**FINISH, "messageMetadata": metadata}))
    assert found.usage == Usage(5, 2, 7)


async def test_halves_of_a_character_in_two_deltas_are_one_again() -> None:
    lines = (
        'data: {"type":"text-delta","id":"t","delta":"\\ud83d"}\n\ndata: {"type":"text-delta","delta":"\\ude00"}\n\n'
    )
    assert (await said(parts(lines, FINISH))).output == "\U0001f600"


async def test_nothing_after_finish_counts_and_nobody_waits_for_it() -> None:
    began = time.monotonic()
    steps = [*parts(*text("ok"), FINISH, *text("not this")), {"sleep": 5}]
    assert (await said(steps)).output == "ok"
    assert time.monotonic() - began < 2


async def test_a_drip_ends_at_the_total_limit() -> None:
    drip = {"repeat": 100, "steps": [{"sleep": 0.05}, *_pieces({"type": "text-delta", "id": "t", "delta": "."})]}
    began = time.monotonic()
    error = await refused([*parts({"type": "start"}), drip], limits={"total": 0.4})
    assert time.monotonic() - began < 1
    assert error.kind == "timed_out"
    assert error.partial is not None
    assert set(error.partial.output) == {"."}


async def test_silence_ends_at_the_idle_limit_comments_or_not() -> None:
    drip = {"repeat": 100, "steps": [{"sleep": 0.05}, {"text": ": still here\n\n"}]}
    error = await refused([*parts({"type": "start"}), drip], limits={"total": 5, "idle": 0.3})
    assert error.kind == "timed_out"
    assert "idle 0.3 s" in error.message


def _pieces(part: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"text": f"data: {json.dumps(part)}\n\n"}]


async def test_a_json_error_with_status_200_is_the_agents_failure() -> None:
    error = await refused(answer('{"detail": "agent is not available"}'))
    assert (error.kind, error.message) == ("agent_error", "the agent says: agent is not available")


async def test_a_body_that_is_no_stream_is_quoted() -> None:
    assert "got text/html: <p>hi</p>" in (await refused(answer("<p>hi</p>", "text/html"))).message
    assert "empty body" in (await refused(answer(""))).message


async def test_an_unknown_agent_is_told_with_the_servers_words() -> None:
    error = await refused(answer('{"detail": "Agent helper not found"}', status="404 Not Found"))
    assert error.kind == "http_status"
    assert "Agent helper not found" in error.message


async def test_the_prompt_is_one_user_message_and_nothing_else_leaks() -> None:
    _, asked = await call(recorded("plain_unicode"), prompt="hello café", body={"model": "m"})
    body = json.loads(asked.body)
    assert [part["text"] for message in body["messages"] for part in message["parts"]] == ["hello café"]
    assert (body["trigger"], body["sdkVersion"], body["model"]) == ("submit-message", 6, "m")
    assert "authorization" not in asked.headers
    assert asked.headers["accept"] == "text/event-stream"


async def test_messages_of_the_plan_are_sent_as_they_are() -> None:
    messages = [{"id": "1", "role": "user", "parts": [{"type": "text", "text": "a"}]}]
    _, asked = await call(recorded("plain_unicode"), messages=messages, sdk_version=None)
    assert json.loads(asked.body)["messages"] == messages
    assert "sdkVersion" not in json.loads(asked.body)
    assert "parts" in (await refused(recorded("plain_unicode"), messages=[{"role": "user"}])).message


async def test_an_agentspec_needs_a_run_that_makes_its_agent() -> None:
    solution = AgentRuntimes(AgentRuntimesOptions(agentspec="analyst", prompt="hi"), SETUP)
    with pytest.raises(SolutionError, match="`datalayer` section"):
        await solution.call(rendered({"prompt": "hi"}), context())
    assert "analyst" in solution.preview(rendered({"prompt": "hi"}))["url"]


async def test_an_agent_of_a_spec_is_asked_where_its_host_says() -> None:
    async with play({"paths": {"/made": recorded("plain_unicode")}}) as server:

        class Host:
            async def chat_address(self, agentspec: str) -> str:
                assert agentspec == "analyst"
                return server.url("/made")

        setup = SolutionSetup(folder=Path("/"), environment={}, services={"agent_host": Host()})
        solution = AgentRuntimes(AgentRuntimesOptions(agentspec="analyst", prompt="hi"), setup)
        found = await solution.call(rendered({"prompt": "hi"}), context())
        await solution.aclose()
    assert found.output == "HELLO CAFÉ"


def test_the_preview_is_what_is_sent_without_what_is_new_each_time() -> None:
    fields = {"base_url": "http://h:1/x/", "agent": "a b", "prompt": "hi"}
    shown = AgentRuntimes(AgentRuntimesOptions.model_validate(fields), SETUP).preview(rendered(fields))
    assert shown["url"] == "http://h:1/x/api/v1/vercel-ai/a%20b"
    assert shown["body"]["messages"][0]["parts"] == [{"type": "text", "text": "hi"}]
    assert shown["body"]["id"] == "(new for each attempt)"


def test_an_agents_name_is_one_segment_of_the_address() -> None:
    assert chat_address("http://h", "../x?y") == "http://h/api/v1/vercel-ai/..%2Fx%3Fy"


@pytest.mark.parametrize(
    "options",
    [
        {"prompt": "x"},
        {"url": "http://h", "agentspec": "a", "prompt": "x"},
        {"base_url": "http://h", "prompt": "x"},
        {"url": "http://h", "agent": "a", "prompt": "x"},
        {"url": "http://h"},
        {"url": "http://h", "prompt": "x", "messages": []},
    ],
)
def test_options_that_contradict_each_other_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"give|together"):
        AgentRuntimesOptions.model_validate(options)


PART = st.fixed_dictionaries(
    {"type": st.sampled_from(["text-delta", "tool-input-start", "finish", "start-step", "data-x", "reasoning-delta"])},
    optional={
        "delta": st.none() | st.text() | st.integers(),
        "toolCallId": st.none() | st.text(),
        "toolName": st.none() | st.text(),
        "messageMetadata": st.none() | st.dictionaries(st.text(), st.integers()) | st.just({"pydantic_ai": 3}),
        "finishReason": st.none() | st.text() | st.integers(),
    },
)


@given(st.lists(PART | st.text().map(lambda said: {"type": said}) | st.integers() | st.none()))
def test_no_stream_of_json_breaks_the_reading(events: list[Any]) -> None:
    taker = MessageTaker({}, all_steps=True)
    expected = ""
    for part in events:
        event = ServerSentEvent(json.dumps(part))
        if isinstance(part, dict) and part.get("type") in ("error", "abort"):
            continue
        if taker.ends(event):
            break
        taker.take(event)
        if isinstance(part, dict) and part.get("type") == "text-delta" and isinstance(part.get("delta"), str):
            expected += part["delta"]
    assert (taker.output() or "") == expected
