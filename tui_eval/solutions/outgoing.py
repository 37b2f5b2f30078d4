"""From rendered options to the request that is sent; the preview is made by the same code."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import httpx

from tui_eval import __version__
from tui_eval.domain import JsonValue, as_text
from tui_eval.errors import SolutionError
from tui_eval.net.trace import TraceContext
from tui_eval.spec.marks import HEADERS_OF_THE_CONNECTION

USER_AGENT = f"tui-eval/{__version__}"
ACCEPT = "application/json, text/event-stream;q=0.9, */*;q=0.8"
NEW_EACH_TIME = "(new for each attempt)"
FROM_THE_ADDRESS = "(Basic, from the address)"

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_BAD_VALUE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_HOST = re.compile(rb"[A-Za-z0-9._~:-]+")
_REFERENCE = re.compile(r"%24%7B([A-Za-z_][A-Za-z0-9_]*)%7D")
_USERINFO = re.compile(r"[A-Za-z]+://[^/?#]*@")
_DEFAULT_PORTS = {"http": 80, "https": 443}
_CONTENT_TYPES = {
    "body": "application/json",
    "form": "application/x-www-form-urlencoded",
    "text": "text/plain; charset=utf-8",
}
_WITH_LENGTH = frozenset({"POST", "PUT", "PATCH"})  # RFC 9110, section 8.6: these say that they carry nothing
_REPEATED_VALUE = 500  # characters


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One request in plain parts. ``headers`` are in the order of sending, names in lower case. ``body`` is what it
    carries: its name (``body`` for JSON, ``form``, ``text``) and value, None without one."""

    method: str
    url: str
    headers: Mapping[str, Any]
    body: tuple[str, JsonValue] | None = None
    problems: Sequence[str] = field(default=())

    def preview(self) -> dict[str, Any]:
        """What is sent, as JSON. A reference ``${NAME}`` in the address stays readable."""
        url = _REFERENCE.sub(r"${\1}", self.url) if "%24" in self.url else self.url
        shown: dict[str, Any] = {"method": self.method, "url": url, "headers": dict(self.headers)}
        if "@" in url and "authorization" not in self.headers and _USERINFO.match(url):
            shown["headers"]["authorization"] = FROM_THE_ADDRESS
        if self.body is not None:
            name, value = self.body
            shown[name] = value
        return shown


def outgoing(
    method: str,
    fields: Mapping[str, Any],
    trace: TraceContext | None,
    *,
    json_body: bool,
    own_headers: Mapping[str, Any] | None = None,
    problems: Sequence[str] = (),
) -> Outgoing:
    """The request for rendered ``fields`` (``url``, ``headers``, ``params``, and ``body``, ``form`` or ``text``).

    ``json_body`` says that ``body`` was given, so that a null in it is sent. ``own_headers`` are ours; the user's
    replace them. A ``traceparent`` of the user stays; our ``baggage`` is added to theirs. Without a ``trace`` (in a
    preview) a placeholder stands for its values. Never raises; what cannot be sent, ``problems`` among it, is an error of
    :func:`to_httpx`.
    """
    body = _body(fields, json_body)
    headers: dict[str, Any] = {"accept": ACCEPT, "accept-encoding": "gzip, deflate", "user-agent": USER_AGENT}
    if body is not None:
        headers["content-type"] = _CONTENT_TYPES[body[0]]
    headers["traceparent"] = trace.traceparent if trace else NEW_EACH_TIME
    if own_headers:
        headers.update(own_headers)
    for name, value in (fields.get("headers") or {}).items():
        lowered = str(name).lower()
        if lowered not in HEADERS_OF_THE_CONNECTION:
            headers[lowered] = value
    if trace is not None and trace.baggage:
        _add_baggage(headers, trace.baggage)
    url = _with_params(as_text(fields.get("url", "")).strip(), fields.get("params") or {})
    return Outgoing(method.upper(), url, headers, body, problems)


def to_httpx(request: Outgoing) -> httpx.Request:
    """The request as httpx has it. Raises SolutionError (``argument``) for what cannot be sent; values not shown."""
    if request.problems:
        raise SolutionError("argument", request.problems[0])
    content = b"" if request.body is None else _content(*request.body)
    url, host = _address(request.url)
    headers = [(name.encode("ascii", "replace"), _header_bytes(name, value)) for name, value in request.headers.items()]
    if url.userinfo and "authorization" not in request.headers:
        pair = f"{url.username}:{url.password}".encode()
        headers.append((b"authorization", b"Basic " + base64.b64encode(pair)))
    # What httpx adds by itself when it is given the content, at four times the cost.
    if "host" not in request.headers:
        headers.insert(0, (b"Host", host))
    if content or request.method in _WITH_LENGTH:
        headers.append((b"Content-Length", str(len(content)).encode("ascii")))
    return httpx.Request(request.method, url, headers=headers, stream=httpx.ByteStream(content))


@lru_cache(maxsize=128)
def _address(text: str) -> tuple[httpx.URL, bytes]:
    """The parsed address, and its value for the Host header; most requests of a run go to the same one. Raises
    SolutionError, which is not kept."""
    try:
        url = httpx.URL(text)
    except (httpx.InvalidURL, UnicodeError) as error:
        raise SolutionError("argument", f"`url` is not a valid address{_url_reason(text)}") from error
    if not can_be_called(url):
        raise SolutionError(
            "argument", "`url` is not an http:// or https:// address with a host and port; check the template"
        )
    return url, url.netloc


def can_be_called(url: httpx.URL) -> bool:
    """False without http, https, a host or a port from 1 to 65535 (of port 0, httpx would make the scheme's own)."""
    try:
        url.host  # noqa: B018 - asked for later; it does not exist for `xn--` with nothing behind it
    except UnicodeError:
        return False
    port_fits = url.port is None or 0 < url.port <= 65535
    return url.scheme in _DEFAULT_PORTS and bool(_HOST.fullmatch(url.raw_host)) and port_fits


@lru_cache(maxsize=128)
def host_of(url: str) -> str | None:
    """``host[:port]`` in lower case, the port left out when it is the scheme's own; None without one."""
    try:
        parts = urlsplit(url.strip())
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if not host or parts.scheme.lower() not in _DEFAULT_PORTS:
        return None
    host = f"[{host}]" if ":" in host else host.rstrip(".")
    return host if port is None or port == _DEFAULT_PORTS[parts.scheme.lower()] else f"{host}:{port}"


def pairs_of(fields: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Names and values of a query or form: a list repeats its name, null leaves it out, a truth value is ``true`` or
    ``false``, an object is its JSON."""
    pairs = []
    for name, value in fields.items():
        for item in value if isinstance(value, list) else [value]:
            if item is not None:
                pairs.append((str(name), as_text(item)))
    return pairs


# One encoder for the process: json.dumps with options of its own makes a new one for every call.
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_encode_ascii = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


def to_json_bytes(value: JsonValue) -> bytes:
    """``value`` as JSON in UTF-8, characters as they are. Raises ValueError for what JSON does not have."""
    try:
        return _encode(value).encode("utf-8")
    except UnicodeEncodeError:  # half a surrogate pair: only an escape can carry it
        return _encode_ascii(value).encode("ascii")


def _body(fields: Mapping[str, Any], json_body: bool) -> tuple[str, JsonValue] | None:
    if json_body:
        return "body", fields.get("body")
    if fields.get("form") is not None:
        return "form", dict(fields["form"])
    if (text := fields.get("text")) is not None:
        return "text", text if isinstance(text, bytes) else as_text(text)
    return None


def _content(name: str, value: JsonValue) -> bytes:
    """The bytes of a body. Raises SolutionError for what JSON, or UTF-8, does not have."""
    try:
        if name == "form":
            return urlencode(pairs_of(value)).encode("ascii")
        if name == "text":
            return value if isinstance(value, bytes) else str(value).encode("utf-8")
        return to_json_bytes(value)
    except UnicodeEncodeError as error:
        message = f"`{name}` cannot be sent: half of a surrogate pair is no character of UTF-8"
        raise SolutionError("argument", message) from error
    except (ValueError, TypeError, RecursionError) as error:
        raise SolutionError("argument", f"`body` cannot be sent as JSON: {error}") from error


def _add_baggage(headers: dict[str, Any], baggage: Mapping[str, str]) -> None:
    """W3C Baggage: members separated by commas, values percent-encoded."""
    ours = ",".join(
        f"{quote(str(name), safe='')}={quote(str(value), safe='-._~:/@+')}" for name, value in baggage.items()
    )
    theirs = headers.get("baggage")
    headers["baggage"] = f"{theirs},{ours}" if theirs else ours


def _with_params(url: str, params: Mapping[str, Any]) -> str:
    url = url.partition("#")[0]
    if "/." in url:
        url = _without_dots(url)
    query = urlencode(pairs_of(params), quote_via=quote, errors="replace") if params else ""
    if not query:
        return url
    if "?" not in url:
        return f"{url}?{query}"
    return url + query if url.endswith(("?", "&")) else f"{url}&{query}"


def _without_dots(url: str) -> str:
    """The steps ``.`` and ``..`` of the path carried out, as httpx does before it sends (RFC 3986, section 5.2.4): data
    in a path may hold them, and a preview shows where they lead."""
    address, mark, query = url.partition("?")
    scheme, separator, rest = address.partition("://")
    if not separator:  # `${BASE}/../x`: where it leads is not known here
        return url
    host, slash, path = rest.partition("/")
    kept: list[str] = []
    for step in path.split("/"):
        if step == "..":
            del kept[-1:]
        elif step != ".":
            kept.append(step)
    return f"{scheme}://{host}{slash}{'/'.join(kept)}{mark}{query}"


def _header_bytes(name: str, value: Any) -> bytes:
    if type(value) is str and len(value) <= _REPEATED_VALUE and name != "traceparent":
        return _known_header(name, value)
    return _header_value(name, value)


@lru_cache(maxsize=256)
def _known_header(name: str, value: str) -> bytes:
    """Most headers of a run are the same in every request of it."""
    return _header_value(name, value)


def _header_value(name: str, value: Any) -> bytes:
    if not _HEADER_NAME.fullmatch(name):
        raise SolutionError("argument", f"`{name[:60]}` is not a possible name of a header")
    if value is None or isinstance(value, list | dict):
        raise SolutionError("argument", f"header `{name}` must be a text, not {as_text(type(value).__name__)}")
    text = as_text(value).strip(" \t")
    if _BAD_VALUE.search(text):
        where = " at its end (a variable read from a file?)" if not _BAD_VALUE.search(text.rstrip("\r\n")) else ""
        raise SolutionError("argument", f"header `{name}` has a line break or control character in its value{where}")
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        reason = "has a character in its value that a header cannot carry (only Latin-1 can be sent)"
        raise SolutionError("argument", f"header `{name}` {reason}") from None


def _url_reason(url: str) -> str:
    if len(url) > 65536:
        return ": it is too long"
    if re.search(r"[\x00-\x20\x7f]", url):
        return ": it has a control character or space; use `| urlencode` on data in it"
    return "; check the host and the port"
