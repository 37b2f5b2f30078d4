"""Rows that are whole conversations, and the blocking functions of AgentLoop's experiment SDK."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.platforms.agentloop.conftest import KEYS
from tests.platforms.agentloop.fake import FakePlatform
from tui_eval.errors import UsageError
from tui_eval.platforms.agentloop import experiment_sdk as sdk

Reply = tuple[int, dict[str, str], Any]


@dataclass
class Talker:
    """An agent that answers each turn as ``says(body, number of the call)``; ``asked`` has bodies and headers."""

    url: str = ""
    says: Callable[[dict[str, Any], int], Reply] = lambda body, number: (200, {}, {"reply": f"{body['message']}!"})
    asked: list[tuple[dict[str, Any], dict[str, str]]] = field(default_factory=list)


@pytest.fixture
def talker() -> Iterator[Talker]:
    agent = Talker()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            agent.asked.append((body, {name.lower(): value for name, value in self.headers.items()}))
            status, headers, answer = agent.says(body, len(agent.asked))
            raw = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            for name, value in {"content-type": "application/json", **headers}.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(raw)))
            with suppress(OSError):  # whoever asked has waited long enough
                self.end_headers()
                self.wfile.write(raw)

        def log_message(self, *arguments: Any) -> None:
            """Nothing on standard error."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    agent.url = f"http://127.0.0.1:{server.server_address[1]}/chat"
    yield agent
    server.shutdown()
    server.server_close()
    thread.join()


def talked(solution: Any, **columns: Any) -> Any:
    return asyncio.run(solution(sdk.Task("row-1", {"id": "row-1", **columns}), None))


def test_each_turn_is_sent_in_the_session_of_its_row(talker: Talker) -> None:
    solution = sdk.multi_turn_http_solution_with(talker.url, headers={"X-Thread-Id": "mine"})
    answer = talked(solution, turns=["hi", {"role": "user", "content": "and you"}, {"message": "bye"}])
    assert [body["message"] for body, _ in talker.asked] == ["hi", "and you", "bye"]
    (session,) = {body["session_id"] for body, _ in talker.asked}
    assert session.startswith("sess-")
    assert {headers["x-session-id"] for _, headers in talker.asked} == {session}
    assert {headers["x-thread-id"] for _, headers in talker.asked} == {"mine"}
    assert len({headers["traceparent"][3:35] for _, headers in talker.asked}) == 1
    assert answer.output["final_reply"] == "bye!"
    assert answer.output["turns"] == [{"reply": "hi!"}, {"reply": "and you!"}, {"reply": "bye!"}]
    assert (answer.output["session_id"], answer.output["turns_total"]) == (session, 3)
    talked(solution, turns=["hi"])
    assert talker.asked[-1][0]["session_id"] != session


def test_an_agent_that_names_its_own_session_is_followed(talker: Talker) -> None:
    talker.says = lambda body, number: (
        *(200, {"traceId": "t" if number > 1 else ""}),
        {"output": "ok", "conversation": {"id": "conv-7"}, "usage": {"input_tokens": 2, "output_tokens": 1}},
    )
    answer = talked(sdk.multi_turn_http_solution_with(talker.url, session_id="ours"), turns=["a", "b"])
    assert [body["session_id"] for body, _ in talker.asked] == ["ours", "conv-7"]
    assert (answer.output["session_id"], answer.output["requested_session_id"]) == ("conv-7", "ours")
    assert answer.output["usage_total"] == {"input_tokens": 4, "output_tokens": 2, "total_tokens": 0}


def test_a_turn_that_fails_fails_the_row_and_keeps_what_was_said(talker: Talker) -> None:
    talker.says = lambda body, number: (200, {}, {"text": "fine"}) if number == 1 else (503, {"retry-after": "1"}, {})
    answer = talked(sdk.multi_turn_http_solution_with(talker.url), turns=["a", "b", "c"])
    assert not answer.success
    assert answer.meta["error_message"].startswith("turn 2: HTTP 503")
    assert answer.output["turns"] == [{"text": "fine"}]
    assert len(talker.asked) == 2


def test_streams_are_read_as_everywhere(talker: Talker) -> None:
    talker.says = lambda body, number: (
        *(200, {"content-type": "text/event-stream"}),
        b'data: {"o": "a"}\n\ndata: {"o": " b"}\n\n' if number == 1 else b"event: error\ndata: overloaded\n\n",
    )
    solution = sdk.multi_turn_http_solution_with(talker.url, chunk_extractor=lambda event: event["o"])
    assert talked(solution, turns=["x"]).output["final_reply"] == "a b"
    assert "overloaded" in talked(solution, turns=["x"]).meta["error_message"]


@pytest.mark.parametrize(
    ("columns", "options", "messages"),
    [
        ({"turns": '["a", {"content": "b"}]'}, {}, ["a", "b"]),
        ({"turns": [], "messages": ["m"]}, {"turns_fallback_fields": ("messages",)}, ["m"]),
        ({"talk": "a|b"}, {"turn_extractor": lambda raw, task: task.input["talk"].split("|")}, ["a", "b"]),
        ({"other": ["x"]}, {"turns_field": "other"}, ["x"]),
    ],
)
def test_turns_are_found_where_they_are_said_to_be(
    talker: Talker, columns: dict[str, Any], options: dict[str, Any], messages: list[str]
) -> None:
    assert talked(sdk.multi_turn_http_solution_with(talker.url, **options), **columns).success
    assert [body["message"] for body, _ in talker.asked] == messages


def test_a_row_without_turns_is_skipped_or_failed_as_is_said(talker: Talker) -> None:
    skipped = talked(sdk.multi_turn_http_solution_with(talker.url), turns="none")
    assert (skipped.success, skipped.output["skipped"]) == (True, True)
    failed = talked(sdk.multi_turn_http_solution_with(talker.url, on_missing_turns="fail"))
    assert (failed.success, failed.meta["error_type"]) == (False, "missing_turns")
    assert talker.asked == []
    for wrong in ({"on_missing_turns": "maybe"}, {"timeout": 0}):
        with pytest.raises(ValueError, match="must be"):
            sdk.multi_turn_http_solution_with(talker.url, **wrong)


def test_the_limit_is_one_for_each_turn(talker: Talker) -> None:
    waits = threading.Event()

    def says(body: dict[str, Any], number: int) -> Reply:
        if number == 2:
            waits.wait(20)
        return 200, {}, {"reply": "x"}

    talker.says = says
    answer = talked(sdk.multi_turn_http_solution_with(talker.url, timeout=0.5), turns=["a", "b"])
    waits.set()
    assert answer.meta["error_type"] == "timed_out"
    assert answer.meta["error_message"].startswith("turn 2: timed out")


def test_a_function_of_the_users_own_sends_the_turns() -> None:
    async def send(message: str, session: str, index: int, task: sdk.Task) -> dict[str, Any]:
        if message == "break":
            raise KeyError("boom")
        return {"reply": message.upper(), "trace_id": f"trace-{index}", "thread_id": "th"}

    answer = talked(sdk.multi_turn_http_solution(send, "s"), turns=["a", "b"])
    assert (answer.output["final_reply"], answer.output["session_id"], answer.meta["traceId"]) == ("B", "th", "trace-0")
    broken = talked(sdk.multi_turn_http_solution(send), turns=["a", "break"])
    assert broken.meta["error_message"] == "turn 2: KeyError: 'boom'"
    wrong = talked(sdk.multi_turn_http_solution(lambda *given: "text"), turns=["a"])  # type: ignore[arg-type]
    assert "must be a mapping" in wrong.meta["error_message"]


PROGRAM = """\
import json, os, sys
message, session = sys.argv[1:3]
if message == "fail": sys.exit("no more")
print(json.dumps({"result": message + os.environ.get("ADDED", "") + sys.stdin.read(), "session_id": session + "x"[:int(sys.argv[3])],
                  "usage": {"input_tokens": 3}}))
"""


def test_a_coding_agent_is_started_for_each_turn() -> None:
    def command(message: str, session: str, index: int, task: sdk.Task) -> Any:
        argv = [sys.executable, "-c", PROGRAM, message, session, "1" if index == 0 else "0"]
        return argv if index == 0 else {"argv": argv, "stdin": "?", "env": {"ADDED": "+"}}

    solution = sdk.multi_turn_cli_solution(
        command, session_id="s", trace_id_resolver=lambda session, index, raw: f"{session}-{index}"
    )
    answer = talked(solution, turns=["a", "b"])
    assert [turn["result"] for turn in answer.output["turns"]] == ["a", "b+?"]
    assert (answer.output["session_id"], answer.meta["traceId"]) == ("sx", "s-0")
    failed = talked(solution, turns=["a", "fail"])
    assert failed.meta["error_message"].startswith("turn 2: exit 1: no more")
    assert talked(sdk.multi_turn_cli_solution(command)).meta["error_type"] == "missing_turns"


# -- whole experiments --


@pytest.fixture
def config(fake: FakePlatform, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> sdk.AgentLoopConfig:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("TUI_EVAL_HISTORY", str(tmp_path / "history.db"))
    monkeypatch.chdir(tmp_path)
    where = {"agentloop_endpoint": fake.url, "sls_endpoint": fake.url}
    return sdk.AgentLoopConfig("demo-space", "plan-demo", "cn-hangzhou", **where)


def test_conversations_are_run_and_reported_with_their_sessions(
    fake: FakePlatform, config: sdk.AgentLoopConfig, talker: Talker
) -> None:
    fake.rows = [{"id": f"talk-{number}", "turns": json.dumps([f"q{number}", "more"])} for number in range(3)]
    talker.says = lambda body, number: (
        (200, {}, {"reply": f"{body['message']}!"}) if body["message"] != "q1" else (400, {}, {})
    )
    record = sdk.run_multi_turn_experiment(config, talker.url, result_dir=None)
    logs = {log["dataset.id"]: log for log in fake.details(record)}
    assert {name: log["status"] for name, log in logs.items()} == {
        "talk-0": "success",
        "talk-1": "failed",
        "talk-2": "success",
    }
    assert json.loads(logs["talk-0"]["experiment_output"])["final_reply"] == "more!"
    assert logs["talk-0"]["session_id"] == json.loads(logs["talk-0"]["experiment_output"])["session_id"]
    names = list(logs["talk-0"])
    assert names[names.index("traceId") + 1] == "session_id"
    assert json.loads(logs["talk-0"]["experiment_input"])["id"] == "talk-0"
    assert logs["talk-1"]["experiment_output"].startswith("ERROR: http_status - turn 1: HTTP 400")
    assert fake.status_of(record) == "completed"


def test_the_run_functions_block_and_give_the_record(fake: FakePlatform, config: sdk.AgentLoopConfig) -> None:
    def solution(task: sdk.Task) -> sdk.SolutionOutput:
        if task.id == "item-0001":
            return sdk.SolutionOutput.failure("Refused", "not today", {"traceId": "t"})
        return sdk.SolutionOutput.success(task.input["input"])

    record = sdk.AgentLoopSdk.run_experiment_parallel(config, solution, result_dir=None)
    assert [log["status"] for log in sorted(fake.details(record), key=lambda log: log["dataset.id"])] == [
        *("success", "failed", "success", "success")
    ]
    assert any(log["experiment_output"] == "ERROR: Refused - not today" for log in fake.details(record))
    for wrong in ({"n_repeat": 0}, {"n_workers": 0}):
        with pytest.raises(ValueError, match="whole number"):
            sdk.run_experiment(config, solution, **wrong)


async def test_inside_an_event_loop_the_async_form_is_asked_for(config: sdk.AgentLoopConfig) -> None:
    with pytest.raises(UsageError, match="await async_run_experiment"):
        sdk.run_experiment(config, lambda task: "x")
