"""Keeping credentials out: of what is stored and shown, in every usual way of writing them."""

from __future__ import annotations

import base64
import html
import json
import re
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tui_eval.spec.credentials import (
    HIDDEN,
    hidden_places,
    hide_credentials,
    hide_plan,
    is_secret_name,
    restore_hidden,
    typed_credentials,
)
from tui_eval.spec.secrets import Secrets

VALUES = st.text(st.characters(codec="utf-8", exclude_characters="$*"), min_size=6, max_size=40)


def env_of(path: Path) -> dict[str, str]:
    return dict(line.split("=", 1) for line in path.read_text("utf-8").splitlines() if "=" in line)


def written_forms(value: str) -> list[str]:
    raw = value.encode()
    return [
        value,
        quote(value),
        quote(value, safe=""),
        quote_plus(value),
        quote(quote(value, safe=""), safe=""),
        re.sub("%..", lambda match: match[0].lower(), quote(value, safe="")),
        "".join(f"%{byte:02x}" for byte in raw),
        "".join(f"%{byte:02X}" for byte in raw),
        quote("".join(f"%{byte:02x}" for byte in raw), safe=""),
        "".join(f"%{byte:02x}" if place % 3 else chr(byte) for place, byte in enumerate(raw)),
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        json.dumps(json.dumps(value))[1:-1],
        json.dumps(value)[1:-1].replace("/", "\\/"),
        html.escape(value),
        raw.hex(),
        raw.hex().upper(),
        *(base64.b64encode(b"u" * offset + raw).decode() for offset in range(4)),
        *(base64.urlsafe_b64encode(b"u" * offset + raw + b"tail").decode() for offset in range(4)),
        quote(base64.b64encode(b"user:" + raw).decode(), safe=""),
    ]


@pytest.mark.parametrize("name", ["TUI_EVAL_TEST_TOKEN", "TUI_EVAL_TEST_KEY"])
def test_no_written_form_of_a_known_value_is_left(cases: Path, name: str) -> None:
    environment = env_of(cases / "47-secrets" / "env")
    secrets = Secrets(environment)
    core = base64.b64encode(environment[name].encode()).decode()[1:-4]
    for form in written_forms(environment[name]):
        redacted = secrets.redact(f"before {form} after")
        assert form not in redacted
        assert core not in redacted
        assert f"${{{name}}}" in redacted
        assert redacted.startswith("before ")
        assert redacted.endswith(" after")


def test_what_a_server_echoes_is_replaced_in_the_stored_output(cases: Path) -> None:
    secrets = Secrets(env_of(cases / "47-secrets" / "env"))
    reply = json.loads((cases / "47-secrets" / "reply.json").read_text("utf-8"))
    assert secrets.redact_value(reply) == {
        "text": "you sent Bearer ${TUI_EVAL_TEST_TOKEN}",
        "debug": {"key": "${TUI_EVAL_TEST_KEY}"},
    }


@given(VALUES, st.text(st.characters(codec="utf-8"), max_size=20))
def test_any_value_is_found_however_it_is_written(value: str, around: str) -> None:
    secrets = Secrets({"NAME": value})
    for form in (
        value,
        quote(value, safe=""),
        quote_plus(value),
        "".join(f"%{byte:02x}" for byte in value.encode()),
        json.dumps(value)[1:-1],
        html.escape(value),
        value.encode().hex(),
        base64.b64encode(value.encode()).decode(),
    ):
        assert "${NAME}" in secrets.redact(around + form + around)
        assert value not in secrets.redact(around + value + around).replace("${NAME}", "")


@given(VALUES, st.binary(max_size=5), st.binary(max_size=5))
def test_base64_around_a_value_does_not_hide_it(value: str, before: bytes, after: bytes) -> None:
    encoded = base64.b64encode(before + value.encode() + after).decode()
    assert "${NAME}" in Secrets({"NAME": value}).redact(encoded)


@given(st.text(max_size=30), VALUES)
def test_text_without_the_value_comes_back_as_it_is(text: str, value: str) -> None:
    assume(value not in text)
    secrets = Secrets({"NAME": "q" * 20 + value})
    assert secrets.redact(text) is text
    assert Secrets().redact(text) is text
    assert Secrets().redact_value(nested := {"a": [text]}) is nested


def test_a_short_value_is_not_searched_for_and_is_named() -> None:
    secrets = Secrets({"SHORT": "abcde", "LONG": "abcdef", "EMPTY": ""})
    assert secrets.too_short == ("SHORT",)
    assert secrets.redact("abcde abcdef") == "abcde ${LONG}"


@pytest.mark.parametrize("text", ["it was {0}…", "it was {0}… and more", "…{1} it was", "a … b {0}…, …{1}"])
def test_a_piece_of_a_value_beside_a_cut_is_replaced(text: str) -> None:
    value = "sk-0123456789-abcdefghij"
    redacted = Secrets({"KEY": value}).redact(text.format(value[:13], value[-14:]))
    assert redacted == text.format("${KEY}", "${KEY}")


def test_a_short_beginning_of_a_value_is_an_ordinary_word() -> None:
    secrets = Secrets({"URL": "https://agents.example.com", "PASSWORD": "password123"})
    for text in ("see https://… for", "your password…", "from https://agents.example and password"):
        assert secrets.redact(text) is text


def test_the_longest_value_wins_where_one_is_part_of_another() -> None:
    secrets = Secrets({"A": "abcdef", "B": "abcdef-ghijkl"})
    assert secrets.redact("x abcdef-ghijkl abcdef x") == "x ${B} ${A} x"


def test_keys_bytes_and_numbers_are_searched_too() -> None:
    secrets = Secrets({"PIN": "12345678"}, ["typed-credential"])
    assert secrets.redact_value({"typed-credential": [12345678, 1, True, None]}) == {HIDDEN: ["${PIN}", 1, True, None]}
    assert secrets.redact_bytes(b"\xff 12345678 \xfe") == b"\xff ${PIN} \xfe"
    raw = b"\xff nothing"
    assert secrets.redact_bytes(raw) is raw


def test_deeply_nested_values_are_no_trouble() -> None:
    value: Any = "secret-value"
    for _ in range(50_000):
        value = [value]
    redacted = Secrets({"S": "secret-value"}).redact_value(value)
    for _ in range(50_000):
        redacted = redacted[0]
    assert redacted == "${S}"


def test_the_values_are_not_in_the_representation() -> None:
    assert "secret-value" not in repr(Secrets({"S": "secret-value"}))


def test_looking_through_ordinary_output_is_quick() -> None:
    secrets = Secrets({f"KEY_{number}": f"sk-{number}-abcdef+/=xyz" for number in range(10)})
    text = "an ordinary line of an ordinary answer\n" * 25_000
    started = time.process_time()
    assert secrets.redact(text) is text
    assert time.process_time() - started < 0.5, "a megabyte against ten values"


def test_text_full_of_percent_signs_is_quick_and_stays_as_it_is() -> None:
    secrets = Secrets({f"KEY_{number}": f"sk-{number}-abcdef+/=xyz" for number in range(10)})
    text = "50 % of %73 and %61 lines, 100%\n" * 30_000
    started = time.process_time()
    assert secrets.redact(text) is text
    assert time.process_time() - started < 3, "a megabyte against ten values"


def test_a_long_value_is_found_within_a_second() -> None:
    value = "-----BEGIN KEY-----\n" + "\n".join(["abcdefghijklmnopqrstuvwxyz+/0123456789"] * 80) + "\n-----END KEY-----"
    secrets = Secrets({"PEM": value})
    started = time.process_time()
    assert secrets.redact(json.dumps({"x": value})) == '{"x": "${PEM}"}'
    assert time.process_time() - started < 3


CREDENTIALS = """
    Authorization Proxy-Authorization cookie Set-Cookie X-Api-Key api_key apikey APIKEY apiKey api-key OPENAI_API_KEY
    OPENAI_KEY token access_token accessToken X-Auth-Token x-amz-security-token csrf_token secret client_secret
    clientSecret password DB_PASSWORD dbPassword passwd pwd passphrase key bearer jwt private_key secretKey
    x-functions-key Ocp-Apim-Subscription-Key auth PASSWORD_1 credentials refresh_token accesstoken AGENT_PASSWORD
"""
ORDINARY = """
    max_tokens maxTokens token_count keyboard monkey tokenizer tokens author authors X-Plain content-type stop_token
    eos_token next_page_token keys primary_key answer_key idempotency-key key_id secretary password_length cookie_policy
    model temperature url top_p max_completion_tokens hockey turkey
"""


@pytest.mark.parametrize("name", CREDENTIALS.split())
def test_names_of_credentials_are_recognised(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize("name", ORDINARY.split())
def test_ordinary_names_are_not_taken_for_credentials(name: str) -> None:
    assert not is_secret_name(name)


SECTION = {
    "type": "http",
    "url": "http://user:pass1234@h/x?api_key=abcdef&page=2",
    "headers": {"Authorization": "Bearer tok-123456", "X-Plain": "visible", "Key": "${K}", "Cookie": "{{ c }}"},
    "body": {
        "key": "ordinary",
        "max_tokens": 5,
        "password": "hunter22",
        "list": [{"api_key": "abc-123"}],
        "none": None,
    },
    "argv": ["run", "--api-key", "abc-456", "--token=abc-789", "--password", "--verbose"],
    "env": {"AGENT_PASSWORD": "p", "KEY": 12345678, "HOME": "/home"},
    "expected": {"token": "data, not a credential"},
}


def test_credentials_typed_into_a_plan_are_hidden_wherever_they_stand() -> None:
    assert hide_credentials(SECTION) == {
        "type": "http",
        "url": f"http://user:{HIDDEN}@h/x?api_key={HIDDEN}&page=2",
        "headers": {"Authorization": HIDDEN, "X-Plain": "visible", "Key": "${K}", "Cookie": "{{ c }}"},
        "body": {"key": "ordinary", "max_tokens": 5, "password": HIDDEN, "list": [{"api_key": HIDDEN}], "none": None},
        "argv": ["run", "--api-key", HIDDEN, f"--token={HIDDEN}", "--password", "--verbose"],
        "env": {"AGENT_PASSWORD": HIDDEN, "KEY": HIDDEN, "HOME": "/home"},
        "expected": {"token": "data, not a credential"},
    }


def test_paths_of_certificates_and_keys_are_no_credentials() -> None:
    tls = {"ca_file": "ca.pem", "client_cert": "me.pem", "client_key": "keys/me.pem"}
    plan: dict[str, Any] = {"requests": [{"name": "a", "solution": {"type": "http", "url": "https://x/", "tls": tls}}]}
    assert hide_plan(plan)["requests"][0]["solution"]["tls"] == tls


def test_typed_credentials_are_known_with_and_without_their_scheme() -> None:
    basic = base64.b64encode(b"me:pass1234").decode()
    found = {
        typed.path: typed.values
        for typed in typed_credentials({"headers": {"a": "x", "Authorization": f"Basic {basic}"}})
    }
    assert found == {("headers", "Authorization"): (f"Basic {basic}", basic, "me:pass1234", "pass1234")}
    values = {value for typed in typed_credentials(SECTION) for value in typed.values}
    assert {"pass1234", "abcdef", "tok-123456", "hunter22", "abc-123", "abc-456", "abc-789", "12345678"} <= values


def plan(**solution: Any) -> dict[str, Any]:
    return {
        "version": 1,
        "requests": [{"name": "a", "solution": solution, "evaluators": [{"id": "judge", "api_key": "k-123456"}]}],
    }


def test_hidden_places_are_filled_from_the_plan_as_it_is_now() -> None:
    original = plan(**SECTION)
    stored = hide_plan(original)
    assert len(hidden_places(stored)) == 9
    assert restore_hidden(stored, original) == original
    assert hidden_places(restore_hidden(stored, original)) == []


def test_a_hidden_place_is_filled_only_by_what_looks_the_same() -> None:
    stored = hide_plan(plan(url="http://u:pass1234@old/", headers={"token": "abcdef"}, argv=["--token", "abcdef"]))
    changed = plan(url="http://u:pass1234@new/", headers={"token": "rotated"}, argv=["--token"])
    restored = restore_hidden(stored, changed)
    assert restored["requests"][0]["solution"]["headers"] == {"token": "rotated"}
    assert hidden_places(restored) == ["requests.a.solution.url", "requests.a.solution.argv.1"]
    assert len(hidden_places(restore_hidden(stored, {"requests": []}))) == 4
