"""`try`: what is shown is what is sent, nothing is sent unasked, exactly once when asked, and nothing is kept."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import Call
from tests.support.hostile import COMMANDS, MARKUP
from tests.support.player import Player, play

TOKEN = "t0ken-Very/Secret+value"


@pytest.fixture(autouse=True)
def own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TEST_TOKEN", TOKEN)
    monkeypatch.setenv("TUI_EVAL_HISTORY", str(tmp_path / "history.db"))


@contextmanager
def server(paths: dict[str, object]) -> Iterator[Player]:
    """A loopback agent in a thread of its own: the command line has its own loop."""
    started: list[Player] = []
    ready, done = threading.Event(), threading.Event()

    async def serve() -> None:
        async with play({"paths": paths}) as playing:
            started.append(playing)
            ready.set()
            await asyncio.to_thread(done.wait)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        assert ready.wait(5)
        yield started[0]
    finally:
        done.set()
        thread.join()


def reply(body: str, status: str = "200 OK", kind: str = "application/json") -> list[dict[str, object]]:
    return [
        {"text": f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {len(body.encode())}\r\n\r\n{body}"}
    ]


def solution(folder: Path, url: str, **more: object) -> Path:
    (folder / "solutions").mkdir(exist_ok=True)
    path = folder / "solutions" / "agent.yaml"
    data = {
        "type": "http",
        "url": url,
        "headers": {"authorization": "Bearer ${TEST_TOKEN}"},
        "body": {"q": "{{ question }}"},
        "output_extractor": "output",
        **more,
    }
    path.write_text(yaml.safe_dump(data))
    return path


def plan(folder: Path, url: str) -> Path:
    path = folder / "plan.yaml"
    request = {
        "dataset": {
            "cases": [{"id": "a", "question": "1", "answer": "x"}, {"id": "b", "question": "2", "answer": "y"}]
        },
        "solution": {"use": "solutions/agent.yaml"},
        "evaluators": [{"id": "exact", "variable_mapping": {"expected_output": "dataset.answer"}}],
        "execution": {"max_retries": 5, "retry_pattern_list": ["."]},
    }
    solution(folder, url)
    path.write_text(
        yaml.safe_dump(
            {"version": 1, "name": "p", "requests": [{"name": "one", **request}, {"name": "two", **request}]}
        )
    )
    return path


def on_stdin(monkeypatch: pytest.MonkeyPatch, data: object) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(data if isinstance(data, str) else json.dumps(data)))


def test_nothing_is_sent_unasked_and_secrets_are_hidden(call: Call, tmp_path: Path) -> None:
    with server({"/ask": reply("{}")}) as agent:
        done = call("try", solution(tmp_path, agent.url("/ask")), "--input", '{"question": "why?"}', "--json")
        assert done.status == 0, done.err
        assert agent.requests == []
    report = done.json
    assert report["sends"]["body"] == {"q": "why?"}
    assert report["sends"]["headers"]["authorization"] == "Bearer ${TEST_TOKEN}"
    assert report["sent"] is False
    assert report["calls"] == f"host {agent.base_url.removeprefix('http://')}"
    assert TOKEN not in done.out + done.err


def test_sending_makes_one_call_that_carries_what_was_shown(call: Call, tmp_path: Path) -> None:
    with server({"/ask": reply(json.dumps({"output": f"you said {TOKEN}"}))}) as agent:
        done = call("try", plan(tmp_path, agent.url("/ask")), "--case", "b", "--send", "--evaluate", "--json")
        asked = agent.requests
    assert len(asked) == 1
    assert json.loads(asked[0].body) == {"q": "2"}
    assert asked[0].headers["authorization"] == f"Bearer {TOKEN}"
    report = done.json
    assert report["answer"]["output"] == "you said ${TEST_TOKEN}"
    assert report["answer"]["status_code"] == 200
    assert report["outcome"] == "failed"
    assert done.status == 1
    assert TOKEN not in done.out + done.err


def test_a_failure_is_shown_with_what_came_back_and_is_not_tried_again(call: Call, tmp_path: Path) -> None:
    with server({"/ask": reply("overloaded [/b]", "503 Service Unavailable", "text/plain")}) as agent:
        done = call("try", plan(tmp_path, agent.url("/ask")), "--request", "two", "--send", "--json")
        assert agent.count("/ask") == 1
    report = done.json
    assert report["error"]["kind"] in ("http_status", "rate_limited")
    assert report["answer"]["raw"] == "overloaded [/b]"
    assert done.status == 1


def test_nothing_is_written_to_the_history(call: Call, tmp_path: Path) -> None:
    with server({"/ask": reply('{"output": 1}')}) as agent:
        call("try", plan(tmp_path, agent.url("/ask")), "--send")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["plan.yaml", "solutions"]


def test_events_come_with_their_times(call: Call, tmp_path: Path) -> None:
    head = {"text": "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"}
    steps = [head, {"text": 'data: {"t": "a"}\n\n'}, {"sleep": 0.1}, {"text": 'data: {"t": "b"}\n\n'}]
    with server({"/ask": steps}) as agent:
        path = solution(tmp_path, agent.url("/ask"), response="sse", chunk_extractor="t", output_extractor=None)
        report = call("try", path, "--input", '{"question": "q"}', "--send", "--json").json
    assert report["answer"]["output"] == "ab"
    (first, _, _), (second, _, data) = report["answer"]["events"]
    assert second - first >= 0.05
    assert json.loads(data) == {"t": "b"}


def test_a_solution_on_standard_input_is_tried_with_its_case(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"type": "command", "argv": ["printf", "%s|", "{{ question }}", "$HOME"]}
    on_stdin(monkeypatch, {"solution": given, "input": {"question": "a b; $(date)"}})
    report = call("try", "-", "--send", "--json").json
    assert report["answer"]["output"] == "a b; $(date)|$HOME|"
    assert report["calls"].startswith("command printf")
    on_stdin(monkeypatch, {"type": "command", "argv": ["echo", "hi"]})
    assert call("try", "-", "--send", "--json").json["answer"]["output"] == "hi"


def test_the_shell_command_of_a_request_does_the_same(call: Call, tmp_path: Path) -> None:
    with server({"/ask": reply('{"output": 1}')}) as agent:
        path = solution(tmp_path, agent.url("/ask"))
        done = call("try", path, "--input", json.dumps({"question": "it's $(date) ${HOME}"}), "--curl")
        assert TOKEN not in done.out
        subprocess.run(["sh", "-c", done.out], check=True, capture_output=True, timeout=10, env={**os.environ})
        (asked,) = agent.requests
    assert asked.headers["authorization"] == f"Bearer {TOKEN}"
    assert json.loads(asked.body) == {"q": "it's $(date) ${HOME}"}


@pytest.mark.parametrize(
    ("data", "path"),
    [
        ({"type": "htp"}, "type"),
        ({"type": "http", "url": "x"}, "url"),
        ({"type": "http", "url": "http://a", "tls": {"x": 1}}, "tls.x"),
        ({"type": "http", "url": "http://a", "headers": {"a": "${NOT_SET_ANYWHERE}"}}, "headers.a"),
    ],
)
def test_faults_name_the_field(call: Call, monkeypatch: pytest.MonkeyPatch, data: dict[str, object], path: str) -> None:
    on_stdin(monkeypatch, data)
    done = call("try", "-", "--json")
    assert done.status == 2
    assert [fault["path"] for fault in done.json["faults"]] == [path]


def test_faults_of_a_saved_file_name_file_and_line(call: Call, tmp_path: Path) -> None:
    path = solution(tmp_path, "http://a/")
    path.write_text("type: http\nurl: http://a/\nmethd: GET\n")
    done = call("try", path)
    assert done.status == 2
    assert "agent.yaml:3" in done.err
    assert "methd" in done.err


@pytest.mark.parametrize(
    "text", ["", "[1]", "{", '{"input": {}}', '{"solution": 1}', '{"solution": {}, "x": 1}', "NaN"]
)
def test_standard_input_that_is_nothing_to_try_is_refused(
    call: Call, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    on_stdin(monkeypatch, text)
    assert call("try", "-").status == 2


@pytest.mark.parametrize(
    "arguments", [[], ["-", "--evaluator", "-"], ["nowhere.yaml"], ["--evaluator", "nowhere.yaml", "--output", "x"]]
)
def test_what_cannot_be_tried_is_refused(call: Call, arguments: list[str]) -> None:
    done = call("try", *arguments)
    assert done.status == 2
    assert done.err


def test_a_case_that_is_none_is_refused(call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    on_stdin(monkeypatch, {"solution": {"type": "command", "argv": ["true"]}, "input": {"id": "\x1b[2J"}})
    assert call("try", "-", "--json").status == 2
    done = call("try", plan(tmp_path, "http://127.0.0.1:1/"), "--case", "c")
    assert done.status == 2
    assert "`c`" in done.err


def test_options_that_contradict_each_other_are_refused(call: Call, tmp_path: Path) -> None:
    path = plan(tmp_path, "http://127.0.0.1:1/")
    assert call("try", path, "--case", "a", "--input", "{}").status == 2
    saved = tmp_path / "solutions" / "agent.yaml"
    assert "needs a plan" in call("try", saved, "--case", "a").err
    assert call("try", path, "--request", "tow").err.count("`two`") == 1
    assert call("try", saved, "--input", "[1]").status == 2


def test_a_missing_column_is_told_before_anything_is_sent(call: Call, tmp_path: Path) -> None:
    done = call("try", solution(tmp_path, "http://127.0.0.1:1/"), "--input", '{"other": 1}', "--send")
    assert done.status == 1
    assert "question" in done.out


def test_an_evaluator_judges_a_typed_output(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "evaluators").mkdir()
    path = tmp_path / "evaluators" / "has.yaml"
    path.write_text("id: contains\nignore_case: true\nvariable_mapping: {expected_output: dataset.answer}\n")
    done = call("try", "--evaluator", path, "--output", "It is PARIS", "--expected", "paris", "--json")
    assert (done.status, done.json["outcome"]) == (0, "passed")
    (tmp_path / "out.txt").write_text("Rome")
    done = call("try", "--evaluator", path, "--output", f"@{tmp_path / 'out.txt'}", "--expected", "paris")
    assert done.status == 1
    assert "failed" in done.out
    on_stdin(monkeypatch, {"evaluator": {"id": "exact"}, "output": {"a": 1}, "expected": {"a": 1.0}})
    assert call("try", "--evaluator", "-", "--json").json["scores"][0]["passed"] is True
    on_stdin(monkeypatch, {"evaluator": {"id": "json", "schema": {"type": "null"}}, "output": None})
    assert call("try", "--evaluator", "-", "--json").json["outcome"] == "passed"


@pytest.mark.parametrize("text", [*MARKUP, *(text for text in COMMANDS if "\ud800" not in text and "\0" not in text)])
def test_hostile_texts_reach_no_terminal(call: Call, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    given = {"solution": {"type": "command", "argv": ["printf", "%s", "{{ q }}"]}, "input": {"q": text}}
    for extra in ([], ["--json"], ["--curl"]):
        on_stdin(monkeypatch, given)
        done = call("try", "-", "--send", *extra)
        assert not any(sign in done.out + done.err for sign in ("\x1b", "\x07", "\x9b", "\u202e", "\u200b"))
    on_stdin(monkeypatch, given)
    answer = call("try", "-", "--send", "--json").json["answer"]
    assert answer["raw"] == text


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_call_and_what_it_started(tmp_path: Path, number: int, status: int) -> None:
    mark = tmp_path / "child.pid"
    given = {"type": "command", "shell": True, "command": f"echo $$ > {mark}.new; mv {mark}.new {mark}; exec sleep 30"}
    command = [sys.executable, "-m", "tui_eval", "try", "-", "--send"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(json.dumps(given).encode())
    process.stdin.close()
    end = time.monotonic() + 10
    while not mark.exists() and time.monotonic() < end:
        time.sleep(0.02)
    process.send_signal(number)
    assert process.wait(10) == status
    for stream in (process.stdout, process.stderr):
        assert stream is not None
        stream.close()
    child = int(mark.read_text())
    end = time.monotonic() + 5
    while Path(f"/proc/{child}").exists() and time.monotonic() < end:
        time.sleep(0.02)
    assert not Path(f"/proc/{child}").exists()


def test_judging_what_was_not_asked_is_refused(call: Call, tmp_path: Path) -> None:
    done = call("try", plan(tmp_path, "http://127.0.0.1:1/ask"), "--evaluate")
    assert (done.status, done.out) == (2, "")
    assert "it needs --send" in done.err
