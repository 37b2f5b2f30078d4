"""An HTTP call that a function of the user's describes, and a function in place of an expression for its events."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tui_eval.domain import JsonValue
from tui_eval.platforms.agentloop.unmarked import FirstLook
from tui_eval.solutions.base import CallContext, SolutionSetup
from tui_eval.solutions.chunks import ChunkTaker, StreamRules
from tui_eval.solutions.events import EventSink
from tui_eval.solutions.exchange import Reply, Sink
from tui_eval.solutions.extract import Missing
from tui_eval.solutions.http import HttpSolution
from tui_eval.solutions.outgoing import Outgoing, outgoing
from tui_eval.spec.rendered import Rendered
from tui_eval.spec.solution_options import HttpOptions


class DescribedHttp(HttpSolution):
    """Our HTTP solution with everything about the request taken from a spec, and a function in place of an expression."""

    def __init__(self, chunk_extractor: Callable[[Any], Any] | None) -> None:
        setup = SolutionSetup(folder=Path.cwd(), environment=os.environ)
        super().__init__(HttpOptions(url="http://127.0.0.1/"), setup)
        self.chunk_extractor = chunk_extractor
        if chunk_extractor is not None:
            self._streams = StreamRules(text=_FunctionExtractor(chunk_extractor))  # type: ignore[arg-type]

    def preview(self, request: Rendered) -> dict[str, Any]:
        shown = super().preview(request)
        if isinstance(shown.get("text"), bytes):
            shown["text"] = f"({len(shown['text'])} bytes that are no text)"
        return shown

    def _outgoing(self, fields: Any, context: CallContext | None) -> Outgoing:
        trace = context.trace if context else None
        return outgoing(fields["method"], fields, trace, json_body=fields["has_json"])

    def _sink(self, reply: Reply, context: CallContext) -> Sink:
        chosen = super()._sink(reply, context)
        if self.chunk_extractor is None or isinstance(chosen, EventSink) or (reply.status or 0) >= 300:
            return chosen

        def stream() -> EventSink:
            context.on_phase("streaming")
            return EventSink(ChunkTaker(self._streams), self._options.max_response_bytes)

        return FirstLook(reply, stream)


class _FunctionExtractor:
    """A user's function over the JSON of an event, where the engine knows JMESPath: nothing, or a fault in it, is an
    event without text."""

    expression = "chunk_extractor"

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function

    def value(self, document: JsonValue) -> JsonValue:
        try:
            found = self._function(document)
        except Exception:  # whatever a user's function raises for an event that is not of its kind
            return None
        return None if found is None else str(found)

    def find(self, document: JsonValue, subject: str = "") -> JsonValue | Missing:
        found = self.value(document)
        return Missing("chunk_extractor gave nothing") if found is None else found
