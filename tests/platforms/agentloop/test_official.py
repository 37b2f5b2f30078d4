"""Our signatures and log groups against the official packages. Asked for with ``pytest -m official``: they bring some
fifty packages (``alibabacloud-tea-openapi``, ``aliyun-log-python-sdk``) and take minutes to install."""

from __future__ import annotations

import hashlib
from importlib import import_module

import pytest

from tui_eval.platforms.agentloop.loggroup import Log, log_group
from tui_eval.platforms.agentloop.signing import acs3_authorization, sls_authorization

pytestmark = pytest.mark.official
KEY, SECRET = "test-ak", "test-secret"


@pytest.mark.parametrize("query", [{}, {"planName": "a b&c", "maxResults": "20"}, {"nextToken": "x+/=~ü"}])
def test_the_openapi_signature_is_that_of_the_official_client(query: dict[str, str]) -> None:
    request = import_module("darabonba.request").DaraRequest()
    digest = hashlib.sha256(b"").hexdigest()
    request.method, request.pathname, request.query = "GET", "/api/v1/experiments/my%20space/plans", query
    request.headers = {
        "host": "agentloop.cn-hangzhou.aliyuncs.com",
        "x-acs-action": "ListExperimentPlans",
        "x-acs-date": "2026-11-29T00:00:00Z",
        "x-acs-content-sha256": digest,
        "accept": "application/json",
    }
    utils = import_module("alibabacloud_tea_openapi.utils").Utils
    theirs = utils.get_authorization(request, "ACS3-HMAC-SHA256", digest, KEY, SECRET)
    assert acs3_authorization("GET", request.pathname, query, request.headers, b"", KEY, SECRET) == theirs


@pytest.mark.parametrize("query", [{}, {"key": "a b/c", "type": "log", "query": 'a: "b" and (c or d)'}])
def test_the_log_service_signature_is_that_of_the_official_client(query: dict[str, str]) -> None:
    auth = import_module("aliyun.log.auth")
    provider = import_module("aliyun.log.credentials").StaticCredentialsProvider(KEY, SECRET)
    headers = {
        "host": "prj.cn-hangzhou.log.aliyuncs.com",
        "Content-Type": "application/x-protobuf",
        "x-log-apiversion": "0.6.0",
        "x-log-bodyrawsize": "5",
        "x-log-compresstype": "deflate",
    }
    auth.AuthV4(provider, "cn-hangzhou").sign_request("POST", "/logstores/x/shards/lb", query, headers, b"hello")
    theirs = headers.pop("Authorization")
    ours = sls_authorization("POST", "/logstores/x/shards/lb", query, headers, "cn-hangzhou", KEY, SECRET)
    assert ours == theirs


def test_a_log_group_is_read_by_the_official_decoder() -> None:
    group = import_module("aliyun.log.log_logs_pb2").LogGroup()
    logs = [Log(1795952350, (("a", "ü" * 200), ("b", ""))), Log(1795952351, (("c", "d"),))]
    group.ParseFromString(log_group([log.encoded() for log in logs], topic="t", source="s"))
    found = [(log.Time, [(content.Key, content.Value) for content in log.Contents]) for log in group.Logs]
    assert found == [(log.at, list(log.fields)) for log in logs]
    assert (group.Topic, group.Source) == ("t", "s")
