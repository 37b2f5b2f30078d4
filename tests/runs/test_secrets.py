"""Values of ${NAME} are nowhere afterwards: not in the history, not in exports, logs or messages."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest

from tests.support.player import answer, play, stream
from tests.support.product import Product
from tui_eval.net.sse import SseParser
from tui_eval.store.encoding import unpack

TOKEN = "tok-7Qz+/=made_up"
KEY = "kk-0000-made-up"
PLAN = """
version: 1
name: secret
requests:
  - name: one
    dataset: {{cases: [{{id: a, q: x}}]}}
    solution:
      type: http
      url: {url}/v1?api_key=${{TUI_EVAL_TEST_KEY}}
      headers: {{Authorization: "Bearer ${{TUI_EVAL_TEST_TOKEN}}", key: "${{TUI_EVAL_TEST_KEY}}", X-Plain: visible}}
      body: {{q: "{{{{ q }}}}", max_tokens: 5}}
      output_extractor: text
    evaluators: [{{id: contains, expected: "tok-7Qz"}}]
  - name: two
    dataset: {{cases: [{{id: a, q: x}}]}}
    solution: {{type: command, argv: [sh, -c, "echo $AGENT_PASSWORD; echo $AGENT_PASSWORD >&2; exit 3"], env: {{AGENT_PASSWORD: "${{TUI_EVAL_TEST_KEY}}"}}}}
    evaluators: [{{id: contains, expected: x}}]
"""


def forms(value: str) -> list[bytes]:
    raw = value.encode()
    shifted = [base64.b64encode(b"x" * pad + raw)[4:-4] for pad in range(3)]
    texts = [value, quote(value, safe=""), quote_plus(value), json.dumps(value)[1:-1]]
    return [*(text.encode() for text in texts), base64.b64encode(raw), *shifted]


def assert_nowhere(folder: Path, *texts: str) -> None:
    for path in folder.rglob("*"):
        if path.is_file() and path.name != "plan.yaml":
            content = path.read_bytes()
            for value in (TOKEN, KEY):
                for form in forms(value):
                    assert form not in content, f"{form!r} is in {path}"
    for text in texts:
        for value in (TOKEN, KEY):
            assert value not in text


@pytest.mark.parametrize("refused", [False, True])
async def test_no_secret_is_found_anywhere_after_a_run(product: Product, refused: bool, cases: Path) -> None:
    reply = (cases / "47-secrets" / "reply.json").read_text()
    environment = {"TUI_EVAL_TEST_TOKEN": TOKEN, "TUI_EVAL_TEST_KEY": KEY}
    async with play({"paths": {"/v1": answer(reply)}}) as server:
        url = "http://127.0.0.1:9" if refused else server.base_url
        plan = product.write_plan(PLAN.format(url=url))
        arguments = ("run", str(plan), "--results-dir", str(product.folder / "results"))
        ended = await asyncio.to_thread(lambda: product.run(*arguments, environment=environment))
        seen = [asked.headers.get("authorization") for asked in server.requests]
    if not refused:
        assert seen == [f"Bearer {TOKEN}"], "the agent itself must get the real value"
        assert product.outcomes(product.query("SELECT run_id FROM runs")[0][0])["one", "a", 0] == "passed", (
            "evaluators see the real output"
        )
    texts = [ended.stdout, ended.stderr]
    for form in ("json", "jsonl", "csv", "md"):
        target = product.folder / f"export.{form}"
        exported = product.run("export", "last", "--format", form, "--output", str(target))
        assert exported.returncode == 0, exported.stderr
    for case in ("one", "two"):
        texts.append(product.run("show", "last", "--request", case, "--case", "a").stdout)
    texts.append(product.run("preview", str(plan), environment=environment).stdout)
    assert "visible" in "".join(texts)
    assert "${TUI_EVAL_TEST_TOKEN}" in "".join(texts)
    assert_nowhere(product.folder, *texts)


async def test_a_rerun_takes_the_rotated_value(product: Product, cases: Path) -> None:
    async with play({"paths": {"/v1": answer('{"text": "no"}')}}) as server:
        plan = product.write_plan(PLAN.format(url=server.base_url))
        old = {"TUI_EVAL_TEST_TOKEN": TOKEN, "TUI_EVAL_TEST_KEY": KEY}
        await asyncio.to_thread(lambda: product.run("run", str(plan), environment=old))
        new = old | {"TUI_EVAL_TEST_TOKEN": "rotated-value"}
        await asyncio.to_thread(lambda: product.run("rerun", "last", "--failed", environment=new))
        assert [asked.headers["authorization"] for asked in server.requests] == [
            f"Bearer {TOKEN}",
            "Bearer rotated-value",
        ]


async def test_a_credential_typed_into_the_plan_is_not_stored_and_a_rerun_reads_the_file_again(
    product: Product,
) -> None:
    async with play({"paths": {"/v1": answer('{"text": "no"}')}}) as server:
        text = PLAN.format(url=server.base_url).replace("${TUI_EVAL_TEST_TOKEN}", "typed-in-credential")
        plan = product.write_plan(text)
        environment = {"TUI_EVAL_TEST_KEY": KEY}
        ended = await asyncio.to_thread(lambda: product.run("run", str(plan), environment=environment))
        assert "typed-in-credential" not in ended.stderr
        assert b"typed-in-credential" not in product.history.read_bytes()
        again = await asyncio.to_thread(lambda: product.run("rerun", "last", "--failed", environment=environment))
        assert server.requests[-1].headers["authorization"] == "Bearer typed-in-credential", again.stderr
        plan.unlink()
        gone = await asyncio.to_thread(lambda: product.run("rerun", "last", "--failed", environment=environment))
        assert gone.returncode == 2
        assert "never stored" in gone.stderr


LEAKS = """
version: 1
name: leaks
defaults:
  dataset: {{cases: [{{id: a, q: x}}]}}
  evaluators: [{{id: contains, expected: "tok-7Qz"}}]
requests:
  - name: stream
    solution: {{type: http, url: "{url}/stream", headers: {{key: "${{TUI_EVAL_TEST_TOKEN}}"}}, body: {{q: x}}, chunk_extractor: t}}
  - name: basic
    solution: {{type: http, url: "{url}/basic", headers: {{key: "${{TUI_EVAL_TEST_TOKEN}}"}}, body: {{q: x}}}}
  - name: long
    solution: {{type: http, url: "{url}/long", headers: {{key: "${{TUI_EVAL_TEST_TOKEN}}"}}, body: {{q: x}}}}
  - name: traceback
    solution: {{type: python, function: "leaking:call", env: {{TOKEN: "${{TUI_EVAL_TEST_TOKEN}}"}}}}
  - name: pieces
    solution: {{type: command, argv: [sh, -c, "printf %s tok-7Qz; sleep 0.2; printf %s +/=made_up"], env: {{TOKEN: "${{TUI_EVAL_TEST_TOKEN}}"}}}}
"""
LEAKING = """
import os


def call(case):
    token = os.environ["TOKEN"]
    try:
        {}[token.encode()]
    except KeyError:
        raise ValueError(f"no account for {[token]!r} and {token.encode().hex()}")
"""


def kept_texts(product: Product) -> list[str]:
    """Everything that is kept of the attempts, and the data of the kept streams joined."""
    payloads = [unpack(codec, data) for codec, data in product.query("SELECT codec, data FROM payloads")]
    texts = [json.dumps(payload, ensure_ascii=False) for payload in payloads]
    for payload in payloads:
        assert isinstance(payload, dict)
        raw = (payload.get("answer") or {}).get("raw", "")
        data = [event.data for event in SseParser().feed(str(raw).encode())]
        texts.append("".join(json.loads(text).get("t", "") for text in data if text.startswith("{")))
    return texts


async def test_a_value_that_comes_back_in_pieces_encoded_or_cut_is_not_kept(product: Product) -> None:
    pieces = [TOKEN[:3], TOKEN[3:9], TOKEN[9:], " is it"]
    events = "".join(f"data: {json.dumps({'t': piece})}\n\n" for piece in pieces)
    basic = base64.b64encode(f"me:{TOKEN}".encode()).decode()
    echoed = json.dumps({"authorization": f"Basic {basic}", "query": quote(TOKEN, safe=""), "form": quote_plus(TOKEN)})
    long = "." * 186 + TOKEN + " and more" * 20
    paths = {
        "/stream": stream(events),
        "/basic": answer(echoed, headers=f"x-echo: Basic {basic}\r\n"),
        "/long": answer(long, "text/plain", "500 Broken"),
    }
    (product.folder / "leaking.py").write_text(LEAKING)
    async with play({"paths": paths}) as server:
        plan = product.write_plan(LEAKS.format(url=server.base_url))
        arguments = ("run", str(plan), "--results-dir", str(product.folder / "results"))
        environment = {"TUI_EVAL_TEST_TOKEN": TOKEN}
        ended = await asyncio.to_thread(lambda: product.run(*arguments, environment=environment))
    outcomes = product.outcomes(product.query("SELECT run_id FROM runs")[0][0])
    assert [outcomes[name, "a", 0] for name in ("stream", "pieces")] == ["passed"] * 2, "evaluators see the real output"
    kept = kept_texts(product)
    assert "${TUI_EVAL_TEST_TOKEN} is it" in kept
    told = [*kept, ended.stdout, ended.stderr, product.run("show", "last", "--log").stdout]
    for name in ("stream", "basic", "long", "traceback", "pieces"):
        told.append(product.run("show", "last", "--request", name, "--case", "a").stdout)
    for text in told:
        for form in (*forms(TOKEN), TOKEN[:12].encode(), TOKEN.encode().hex().encode()):
            assert form not in text.encode(), text
    assert_nowhere(product.folder)
