"""The events of an agent's own stream: the texts at ``chunk_extractor``, the end marker, the agent's errors."""

from __future__ import annotations

from dataclasses import dataclass

from tui_eval.domain import JsonValue, Usage, as_text
from tui_eval.errors import Resend, SolutionError
from tui_eval.net.sse import ServerSentEvent
from tui_eval.solutions.documents import failure_words
from tui_eval.solutions.events import EventSink
from tui_eval.solutions.exchange import Reply, bad_answer
from tui_eval.solutions.extract import Extractor, Missing, extractor, is_true
from tui_eval.solutions.strict_json import InvalidJson, RepeatedKeys, mend, parse_json
from tui_eval.solutions.usage import finish_reason_of, usage_in
from tui_eval.solutions.wording import agent_message, plural, snippet
from tui_eval.spec.solution_options import EndMarker, HttpOptions


@dataclass(frozen=True, slots=True)
class StreamRules:
    """The options of a solution that say how events are read, compiled. At most one of the three ``end_…`` is there."""

    text: Extractor | None = None
    usage: Extractor | None = None
    error_when: Extractor | None = None
    end_data: str | None = None
    end_event: str | None = None
    end_field: Extractor | None = None
    allow_null: bool = False

    @classmethod
    def of(cls, options: HttpOptions) -> StreamRules:
        """Raises SpecError for an expression that is not JMESPath."""
        end = options.end_marker
        if isinstance(end, str):  # empty means the same as none, as with the extractors
            end = EndMarker(data=end) if end.strip() else None
        return cls(
            text=extractor(options.chunk_extractor, "chunk_extractor"),
            usage=extractor(options.usage_extractor, "usage_extractor"),
            error_when=extractor(options.error_when, "error_when"),
            end_data=end.data.strip() if end and end.data is not None else None,
            end_event=end.event if end else None,
            end_field=extractor(end.field, "end_marker.field") if end else None,
            allow_null=options.allow_null,
        )

    @property
    def marker(self) -> str:
        """The declared end in words, empty without one."""
        if self.end_data is not None:
            return f"data `{self.end_data}`"
        if self.end_event is not None:
            return f"event `{self.end_event}`"
        return f"`{self.end_field.expression}`" if self.end_field else ""


class ChunkTaker:
    """Takes events by :class:`StreamRules`. ``count`` is the number of events taken, without the one that marks the end.

    An end marker that is a field of an event does not end the reading (token counts often follow it); one that is
    data or an event's name does, and adds nothing to the output.
    """

    def __init__(self, rules: StreamRules) -> None:
        self.rules = rules
        self.reads_json = rules.text is not None
        self.whole = False
        self.count = 0
        self.matched = 0
        self.nulls = 0
        self.first = ""
        self.usage: Usage | None = None
        self.finish_reason = ""
        self.repeated = RepeatedKeys()
        self._parts: list[str] = []
        self._parses = any((rules.text, rules.usage, rules.error_when, rules.end_field))

    def ends(self, event: ServerSentEvent) -> bool:
        rules = self.rules
        if event.event == rules.end_event or (rules.end_data is not None and event.data.strip() == rules.end_data):
            self.whole = True
            return True
        return False

    def take(self, event: ServerSentEvent) -> None:
        if not self.count:
            self.first = event.data
        self.count += 1
        if self.rules.text is None:
            self._parts.append(event.data)
        if self._parses:
            try:
                document = parse_json(event.data, keep_halves=True, repeated=self.repeated)
            except InvalidJson:
                return  # counted as an event without the field
            self._take_document(document)

    def output(self) -> JsonValue:
        return mend("".join(self._parts)) if self._parts else None

    def _take_document(self, document: JsonValue) -> None:
        rules = self.rules
        if rules.error_when is not None:
            found = rules.error_when.value(document)
            if is_true(found):
                raise SolutionError("agent_error", failure_words(rules.error_when, found, document))
        if rules.text is not None:
            self._take_text(rules.text, document)
        self.usage = usage_in(document, rules.usage, self.usage)
        self.finish_reason = finish_reason_of(document) or self.finish_reason
        if rules.end_field is not None and is_true(rules.end_field.value(document)):
            self.whole = True

    def _take_text(self, text: Extractor, document: JsonValue) -> None:
        found = text.value(document)
        if found is not None:
            self.matched += 1
            self._parts.append(as_text(found))
            return
        said = agent_message(document)
        if said is not None:
            raise SolutionError("agent_error", f"the agent says in the stream: {said}")
        if not isinstance(text.find(document), Missing):
            self.nulls += 1


def whole_text(reply: Reply, sink: EventSink, taker: ChunkTaker) -> JsonValue:
    """The output of a stream that has ended, with notes on what a reader should know. Raises SolutionError when it was
    empty, lacks its declared end, or no event had the text."""
    rules = taker.rules
    if not taker.count:
        end = " before its end marker" if sink.count else ""
        raise _incomplete(reply, f"stream had no event{end}")
    if rules.marker and not taker.whole and not (sink.saw_done and rules.end_data == "[DONE]"):
        raise _incomplete(reply, f"incomplete: stream ended without an end marker (expected {rules.marker})")
    if reply.encoding_cut:
        raise _incomplete(reply, f"the stream stopped before the end of its content-encoding: {reply.encoding}")
    reply.notes += [*sink.notes(), *taker.repeated.notes()]
    if rules.text is None:
        return taker.output()
    path = rules.text.expression
    without = taker.count - taker.matched - taker.nulls
    if not taker.matched:
        if taker.nulls and rules.allow_null:
            return None
        why = f"`{path}` is null in {taker.nulls} of {plural(taker.count, 'event')}, text in none"
        if not taker.nulls:
            why = f"none of {plural(taker.count, 'event')} had `{path}`"
        raise bad_answer(reply, f"extractor matched nothing: {why}; the first event: {snippet(taker.first)}")
    if without:
        reply.notes.append(f"{without} of {plural(taker.count, 'event')} had no `{path}`")
    return taker.output()


def _incomplete(reply: Reply, message: str) -> SolutionError:
    return bad_answer(reply, message, kind="incomplete", resend=Resend.MAYBE_RECEIVED)
