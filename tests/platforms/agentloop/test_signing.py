"""Signatures and log groups as AgentLoop's official packages make them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.platforms.agentloop.fake import check, decode_log_group
from tui_eval.platforms.agentloop.loggroup import Log, log_group
from tui_eval.platforms.agentloop.signing import acs3_authorization, acs_time, sls_authorization, sls_time

VECTORS = json.loads((Path(__file__).parent / "signatures.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: f"{vector['scheme']}: {vector['name']}")
def test_signatures_are_those_of_the_official_packages(vector: dict[str, Any]) -> None:
    head = (vector["method"], vector["path"], vector["query"], vector["headers"])
    if vector["scheme"] == "acs3":
        made = acs3_authorization(*head, vector["body"].encode(), "test-ak", "test-secret")
    else:
        made = sls_authorization(*head, vector["region"], "test-ak", "test-secret")
    assert made == vector["authorization"]


@settings(deadline=None)
@given(st.dictionaries(st.text(min_size=1, max_size=8), st.text(max_size=20), max_size=4), st.binary(max_size=40))
def test_an_independent_check_agrees_whatever_is_signed(query: dict[str, str], body: bytes) -> None:
    import hashlib

    query = {
        key.encode("utf-8", "replace").decode(): value.encode("utf-8", "replace").decode()
        for key, value in query.items()
    }
    digest = hashlib.sha256(body).hexdigest()
    headers = {
        "host": "h",
        "x-acs-action": "A",
        "x-acs-date": acs_time(0),
        "x-acs-version": "v",
        "x-acs-content-sha256": digest,
        "x-acs-signature-nonce": "n",
    }
    headers["authorization"] = acs3_authorization("POST", "/p", query, headers, body, "test-ak", "test-secret")
    assert check("POST", "/p", query, headers, body, "") == "ok"
    logs = {"host": "h", "x-log-date": sls_time(0), "x-log-content-sha256": digest}
    logs["authorization"] = sls_authorization("POST", "/p", query, logs, "cn-hangzhou", "test-ak", "test-secret")
    assert check("POST", "/p", query, logs, body, "") == "ok"


def test_a_changed_request_does_not_fit_its_signature() -> None:
    vector = VECTORS[0]
    headers = {**vector["headers"], "authorization": vector["authorization"]}
    assert check(vector["method"], vector["path"], vector["query"], headers, b"", "") == "ok"
    assert check(vector["method"], vector["path"], {}, headers, b"", "") == "acs3 signature differs"


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 2**40), st.dictionaries(st.text(), st.text())), max_size=5), st.text(max_size=5)
)
def test_a_log_group_is_read_back_as_it_was(logs: list[tuple[int, dict[str, str]]], topic: str) -> None:
    def utf8(text: str) -> str:
        return text.encode("utf-8", "backslashreplace").decode()

    made = [Log(at, tuple(fields.items())) for at, fields in logs]
    group = decode_log_group(log_group([log.encoded() for log in made], topic=topic, source="s"))
    assert [log["time"] for log in group["logs"]] == [log.at for log in made]
    wanted = [[[utf8(key), utf8(value)] for key, value in log.fields] for log in made]
    assert [log["contents"] for log in group["logs"]] == wanted
    assert (group["topic"], group["source"]) == (utf8(topic), "s")


def test_times_are_utc() -> None:
    assert acs_time(1795954136.9) == "2026-11-29T12:08:56Z"
    assert sls_time(1795954136.9) == "20261129T120856Z"
