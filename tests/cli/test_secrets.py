"""A secret of the environment is in no file, no output and no message, whatever the agent does with it."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from tests.cli.conftest import Call
from tui_eval.demo.live import embedded_agent

SECRET = "s3cr3t/Very+Secret=value&more"
FORMATS = ("json", "jsonl", "csv", "md")


@pytest.fixture(scope="module")
def agent() -> Iterator[str]:
    with embedded_agent() as address:
        yield address


def forms(secret: str) -> list[bytes]:
    """The secret as it is, URL-encoded, JSON-escaped and in base64."""
    encoded = [base64.b64encode(b" " * shift + secret.encode())[4:-4] for shift in range(3)]
    return [secret.encode(), quote(secret, safe="").encode(), quote_plus(secret).encode(), *encoded]


def assert_clean(data: bytes, where: str) -> None:
    for form in forms(SECRET):
        assert form not in data, f"{where} holds the secret as {form!r}"


def write_plan(folder: Path, url: str) -> Path:
    request: dict[str, Any] = {
        "name": "agent",
        "dataset": {"cases": [{"id": "a", "question": "hello"}]},
        "solution": {
            "type": "http",
            "url": url,
            "params": {"key": "${TEST_SECRET}"},
            "headers": {"authorization": "Bearer ${TEST_SECRET}", "x-plain": "visible"},
            "body": {"input": "echo ${TEST_SECRET} {{ question }}", "max_tokens": 7},
            "output_extractor": "output",
        },
        "evaluators": [{"id": "contains", "expected": "Very+Secret"}],
    }
    path = folder / "plan.json"
    path.write_text(json.dumps({"version": 1, "name": "secrets", "requests": [request]}))
    return path


@pytest.mark.parametrize("reachable", [True, False])
def test_a_secret_is_nowhere_after_a_run(
    call: Call, agent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reachable: bool
) -> None:
    monkeypatch.setenv("TEST_SECRET", SECRET)
    monkeypatch.setenv("TUI_EVAL_HISTORY", str(tmp_path / "history.db"))
    plan = write_plan(tmp_path, f"{agent}/json" if reachable else "http://127.0.0.1:9/json")
    told = [
        call("validate", plan),
        call("preview", plan),
        call("preview", plan, "--json"),
        call("run", plan, "--results-dir", tmp_path / "results", "--progress", "plain"),
        call("show"),
        call("show", "--json"),
        call("show", "--case", "a"),
        call("show", "--case", "a", "--json"),
        call("runs", "--json"),
        call("watch"),
        call("doctor"),
        *(call("export", "--format", name) for name in FORMATS),
        *(call("export", "--format", name, "--output", tmp_path / f"out.{name}") for name in FORMATS),
    ]
    # The evaluator saw the real output: the run passes, although what is kept has the reference.
    assert told[3].status == (0 if reachable else 1), told[3].err
    for number, done in enumerate(told):
        assert_clean((done.out + done.err).encode(), f"output {number}")
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > len(FORMATS) + 2
    for path in files:
        assert_clean(path.read_bytes(), str(path))
    detail = told[6].out
    assert "${TEST_SECRET}" in detail
    assert "visible" in detail
    assert "max_tokens: 7" in detail
