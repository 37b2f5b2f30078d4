"""The two signature schemes of AgentLoop: ACS3-HMAC-SHA256 for its OpenAPI, SLS version 4 for its logs.

Pure functions over the request as it is sent (AgentLoop contract, section 7). Times are ``time.gmtime``'s seconds.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Mapping
from urllib.parse import quote


def encoded(text: str) -> str:
    """RFC 3986 percent-encoding: everything but letters, digits, ``-``, ``.``, ``_`` and ``~``."""
    return quote(text, safe="~")


def canonical_query(query: Mapping[str, str]) -> str:
    """The query as both schemes sign it, which is also how it is sent: sorted, each part encoded."""
    return "&".join(f"{encoded(name)}={encoded(query[name])}" for name in sorted(query))


def acs_time(seconds: float) -> str:
    """``x-acs-date``: UTC, as ``2026-11-29T12:08:56Z``."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def sls_time(seconds: float) -> str:
    """``x-log-date`` of version 4: UTC, as ``20261129T120856Z``."""
    return time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(seconds))


def acs3_authorization(
    method: str,
    path: str,
    query: Mapping[str, str],
    headers: Mapping[str, str],
    body: bytes,
    access_key_id: str,
    access_key_secret: str,
) -> str:
    """The ``Authorization`` of an OpenAPI call. ``path`` is encoded already; every header given is signed."""
    lowered = {name.lower(): value.strip() for name, value in headers.items()}
    names = sorted(lowered)
    signed = ";".join(names)
    canonical = "\n".join(
        (
            method,
            path,
            canonical_query(query),
            "".join(f"{name}:{lowered[name]}\n" for name in names),
            signed,
            hashlib.sha256(body).hexdigest(),
        )
    )
    text = f"ACS3-HMAC-SHA256\n{_sha256(canonical)}"
    signature = hmac.new(access_key_secret.encode(), text.encode(), hashlib.sha256).hexdigest()
    return f"ACS3-HMAC-SHA256 Credential={access_key_id},SignedHeaders={signed},Signature={signature}"


def sls_authorization(
    method: str,
    path: str,
    query: Mapping[str, str],
    headers: Mapping[str, str],
    region: str,
    access_key_id: str,
    access_key_secret: str,
) -> str:
    """The ``Authorization`` of a call to the log service. ``headers`` must have ``x-log-date`` and
    ``x-log-content-sha256``; signed are ``content-type``, ``host``, ``x-log-*`` and ``x-acs-*``."""
    lowered = {name.lower(): value.strip() for name, value in headers.items()}
    names = sorted(
        name for name in lowered if name in ("content-type", "host") or name.startswith(("x-log-", "x-acs-"))
    )
    canonical = "\n".join(
        (
            method,
            path,
            canonical_query(query),
            "".join(f"{name}:{lowered[name]}\n" for name in names),
            ";".join(names),
            lowered["x-log-content-sha256"],
        )
    )
    date = lowered["x-log-date"]
    scope = f"{date[:8]}/{region}/sls/aliyun_v4_request"
    text = f"SLS4-HMAC-SHA256\n{date}\n{scope}\n{_sha256(canonical)}"
    key = f"aliyun_v4{access_key_secret}".encode()
    for part in (date[:8], region, "sls", "aliyun_v4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    signature = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
    return f"SLS4-HMAC-SHA256 Credential={access_key_id}/{scope},Signature={signature}"


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
