"""W3C trace context: what we send along with a call, and the trace id an agent sends back.

Sources: W3C Trace Context, level 1, section 3.2; AgentLoop contract section 2 (``eagleeye-traceId``, then ``traceId``).
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

TRACE_ID_HEADERS = ("eagleeye-traceid", "traceid")
_TRACE_ID = re.compile(r"[0-9a-fA-F]{32}")
# A trace id must be one of its own, not a secret. Its own generator, so that a seed set elsewhere does not repeat ids.
_DRAW = random.Random()


@dataclass(frozen=True, slots=True)
class TraceContext:
    """Identity of one attempt: 32 and 16 lower-case hex digits, sampled. ``baggage`` is sent when it is not empty."""

    trace_id: str
    span_id: str
    baggage: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def new(cls, baggage: Mapping[str, str] | None = None) -> TraceContext:
        digits = f"{_DRAW.getrandbits(192):048x}"
        return cls(digits[:32], digits[32:], baggage or {})

    @property
    def traceparent(self) -> str:
        return f"00-{self.trace_id}-{self.span_id}-01"


def trace_id_from(headers: Mapping[str, str]) -> str | None:
    """The trace id an agent sent back (header names in lower case), None unless it is usable."""
    for name in TRACE_ID_HEADERS:
        if name in headers and (found := usable_trace_id(headers[name])):
            return found
    return None


def usable_trace_id(text: str) -> str | None:
    """``text`` without spaces around it when it is 32 hex digits and not all zero, else None."""
    value = text.strip()
    return value if _TRACE_ID.fullmatch(value) and value.strip("0") else None
