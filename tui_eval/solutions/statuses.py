"""What an HTTP status of 400 or above means for an attempt: the error's kind, its words, and whether to try again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from http import HTTPStatus

from tui_eval.domain import JsonValue
from tui_eval.errors import Resend, SolutionError
from tui_eval.net.retry_after import wait_asked_for
from tui_eval.solutions.wording import snippet, status_message

_USED_UP = re.compile(r"quota|billing|insufficient[_ ]?(funds|credit|balance)", re.IGNORECASE)
REDIRECTS = frozenset({301, 302, 303, 307, 308})
_NOT_NOW = frozenset({408, 425, 429, 503, 529})
_NOT_SENT_ON = frozenset({501, 505, 506, 508, 510, 511})


def status_error(status: int, headers: Mapping[str, str], document: JsonValue, text: str) -> SolutionError:
    """The error for ``status``. ``document`` is the body as JSON (None if it is none), ``text`` the body as text.

    408, 425, 429, 503 and 529 say "not now" and may be tried again; a used-up quota (named by the error's code or
    type, or status 402) may not, nor may any other 4xx. After 500, 502, 504 the agent may have acted.
    """
    said = status_message(document) or snippet(text)
    name = f"HTTP {status}{_phrase(status)}"
    if status == 402 or (status < 500 and _quota_used_up(document)):
        return SolutionError("quota", _with(f"quota used up ({name})", said))
    if status not in _NOT_NOW:
        maybe = status >= 500 and status not in _NOT_SENT_ON
        return SolutionError("http_status", _with(name, said), Resend.MAYBE_RECEIVED if maybe else Resend.NEVER)
    wait = wait_asked_for(headers)
    if status == 429:
        name = f"rate limited ({name})"
    kind = "rate_limited" if status == 429 else "http_status"
    return SolutionError(kind, _with(name, said), Resend.REJECTED, retry_after=wait)


def redirect_error(status: int, method: str, target: str | None) -> SolutionError:
    """A redirect that is not followed. ``target`` is where it points, without query and credentials."""
    name = f"HTTP {status}{_phrase(status)}"
    if status not in REDIRECTS:
        return SolutionError("http_status", f"{name}: no answer (only 2xx is one)")
    if target is None:
        return SolutionError("http_status", f"{name}: a redirect that names no usable address")
    why = (
        "set `url` to the new address" if method in ("GET", "HEAD") else f"a {method} is never sent on; set `url` to it"
    )
    return SolutionError("http_status", f"{name}: the agent points to {target} ({why})")


def _phrase(status: int) -> str:
    try:
        return f" {HTTPStatus(status).phrase}"
    except ValueError:
        return ""


def _with(name: str, said: str) -> str:
    return f"{name}: {said}" if said else name


def _quota_used_up(document: JsonValue) -> bool:
    """True when the error's code or type (not its prose, which often only mentions a quota) says so."""
    if not isinstance(document, Mapping):
        return False
    error = document.get("error")
    places = (error, document) if isinstance(error, Mapping) else (document,)
    return any(
        isinstance(place.get(name), str) and _USED_UP.search(place[name]) is not None
        for place in places
        for name in ("code", "type")
    )
