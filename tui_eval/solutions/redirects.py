"""Where a redirect leads, and with which headers. Only GET and HEAD follow one, and only when the plan allows it."""

from __future__ import annotations

import httpx

from tui_eval.solutions.exchange import Reply, partial
from tui_eval.solutions.outgoing import can_be_called
from tui_eval.solutions.statuses import REDIRECTS, redirect_error

MAX_REDIRECTS = 10

# What another host may see of our headers. Credentials come under too many names to list those that it must not.
_HARMLESS = frozenset({"accept", "accept-encoding", "accept-language", "user-agent", "traceparent", "tracestate"})


def leads_on(status: int, method: str, follow: bool) -> bool:
    """True for a redirect that is followed when it names an address: its head says everything, its body nothing."""
    return status in REDIRECTS and follow and method.upper() in ("GET", "HEAD")


def next_request(request: httpx.Request, reply: Reply, follow: bool) -> httpx.Request:
    """The request to where ``reply`` (a 3xx) points. Body and headers go along within one origin, a Host of the user's
    own among them; to another only harmless headers.

    Raises SolutionError (``http_status``) when it is not followed, points nowhere, or is one too many.
    """
    status = reply.status or 0
    target = _target(request, reply) if status in REDIRECTS else None
    shown = None if target is None else _without_secrets(target)
    if target is None or not leads_on(status, request.method, follow):
        error = redirect_error(status, request.method, shown)
        error.partial = partial(reply)
        raise error
    visited = reply.detail.setdefault("redirects", [])
    visited.append(shown)
    if len(visited) > MAX_REDIRECTS:
        error = redirect_error(status, request.method, shown)
        error.message = f"more than {MAX_REDIRECTS} redirects, the last one to {shown}"
        error.partial = partial(reply)
        raise error
    same = _origin(target) == _origin(request.url)
    headers = [
        (name, value)
        for name, value in request.headers.raw
        if name.lower() != b"content-length" and (same or name.decode("latin-1").lower() in _HARMLESS)
    ]
    content = request.read() if same else b""
    return httpx.Request(request.method, target, headers=headers, content=content or None)


def _target(request: httpx.Request, reply: Reply) -> httpx.URL | None:
    location = reply.by_name.get("location", "").strip()
    if not location:
        return None
    try:
        target = request.url.join(location).copy_with(fragment=None)
    except (httpx.InvalidURL, ValueError):
        return None
    return target if can_be_called(target) else None


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


def _without_secrets(url: httpx.URL) -> str:
    shown = str(url.copy_with(query=None, fragment=None, username=None, password=None))
    return f"{shown}?…" if url.query else shown
