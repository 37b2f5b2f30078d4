"""Which proxy an address goes through, by the variables of the environment."""

from __future__ import annotations

import pytest

from tui_eval.net.proxies import environment_proxy

PROXY = {"http_proxy": "http://p:1", "HTTPS_PROXY": "http://p:2"}


def test_each_scheme_has_its_variable_in_either_case() -> None:
    assert environment_proxy("http", "example.com", 80, PROXY) == "http://p:1"
    assert environment_proxy("https", "example.com", 443, PROXY) == "http://p:2"
    assert environment_proxy("https", "example.com", 443, {"ALL_PROXY": "p:3"}) == "http://p:3"
    assert environment_proxy("http", "example.com", 80, {}) is None


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "127.0.0.1", "127.8.9.1", "::1", "a.localhost"])
def test_loopback_never_goes_through_it(host: str) -> None:
    assert environment_proxy("http", host, 80, PROXY) is None


@pytest.mark.parametrize(
    ("host", "no_proxy", "excepted"),
    [
        ("api.example.com", "example.com", True),
        ("api.example.com", ".example.com", True),
        ("api.example.com", "*.example.com", True),
        ("example.com", "example.com", True),
        ("badexample.com", "example.com", False),
        ("example.com", "*", True),
        ("example.com", "other.com, example.com:80", True),
        ("example.com", "example.com:81", False),
        ("10.1.2.3", "10.0.0.0/8", True),
        ("11.1.2.3", "10.0.0.0/8", False),
        ("10.1.2.3", "10.1.2.3", True),
        ("fe80::1", "[fe80::1]", True),
        ("fe80::1", "fe80::/10", True),
        ("example.com", "", False),
        ("example.com", ",,", False),
        ("example.com", "10.0.0.0/99", False),
    ],
)
def test_no_proxy_names_exceptions(host: str, no_proxy: str, excepted: bool) -> None:
    found = environment_proxy("http", host, 80, {**PROXY, "NO_PROXY": no_proxy})
    assert (found is None) == excepted
