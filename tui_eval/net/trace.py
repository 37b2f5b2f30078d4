"""W3C trace context: what we send along with a call, and the trace id an agent sends back.

Sources: W3C Trace Context, level 1, section 3.2; AgentLoop contract section 2 (``eagleeye-traceId``, then ``traceId``).
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field

TRACE_ID_HEADERS = ("eagleeye-traceId", "traceId")
_TRACE_ID = re.compile(r"[0-9a-fA-F]{32}")


@dataclass(frozen=True, slots=True)
class TraceContext:
    """Identity of one attempt: 32 and 16 lower-case hex digits, sampled. ``baggage`` is sent when it is not empty."""

    trace_id: str
    span_id: str
    baggage: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def new(cls, baggage: Mapping[str, str] | None = None) -> TraceContext:
        return cls(secrets.token_hex(16), secrets.token_hex(8), baggage or {})

    @property
    def traceparent(self) -> str:
        return f"00-{self.trace_id}-{self.span_id}-01"


def trace_id_from(headers: Mapping[str, str]) -> str | None:
    """The trace id an agent sent back (header names in any case), None unless it is 32 hex digits and not all zero."""
    lowered = {name.lower(): value for name, value in headers.items()}
    for name in TRACE_ID_HEADERS:
        value = lowered.get(name.lower(), "").strip()
        if _TRACE_ID.fullmatch(value) and value.strip("0"):
            return value
    return None
