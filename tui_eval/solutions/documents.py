"""What a body that was read as a whole means: one JSON value, or text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tui_eval.domain import JsonValue, Usage
from tui_eval.errors import Resend, SolutionError
from tui_eval.solutions.body_text import decoded_text, is_json_type, json_text, media_type
from tui_eval.solutions.exchange import Reply, bad_answer
from tui_eval.solutions.extract import Extractor, Missing, extractor, is_true
from tui_eval.solutions.strict_json import InvalidJson, RepeatedKeys, parse_json
from tui_eval.solutions.usage import finish_reason_of, usage_in
from tui_eval.solutions.wording import agent_message, plural, snippet
from tui_eval.spec.solution_options import HttpOptions

HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
_NO_TEXT = ("image/", "audio/", "video/", "font/")
_NO_TEXT_TYPES = frozenset({"application/pdf", "application/zip", "application/gzip"})


@dataclass(frozen=True, slots=True)
class DocumentRules:
    """The options of a solution that say how a whole body is read, compiled."""

    response: Literal["auto", "json", "text", "sse"] = "auto"
    extractor: Extractor | None = None
    usage: Extractor | None = None
    error_when: Extractor | None = None
    allow_null: bool = False
    wants_events: bool = False

    @classmethod
    def of(cls, options: HttpOptions) -> DocumentRules:
        """Raises SpecError for an expression that is not JMESPath."""
        output = extractor(options.output_extractor, "output_extractor")
        return cls(
            response=options.response,
            extractor=output,
            usage=extractor(options.usage_extractor, "usage_extractor"),
            error_when=extractor(options.error_when, "error_when"),
            allow_null=options.allow_null,
            wants_events=options.response == "sse"
            or (options.response == "auto" and options.chunk_extractor is not None and output is None),
        )


def read_document(reply: Reply, rules: DocumentRules, method: str) -> tuple[JsonValue, Usage | None, str]:
    """Output, usage and finish reason of a whole body. Raises SolutionError with the body as its ``partial``."""
    if method == "HEAD":
        return "", None, ""
    body, media = reply.body(), media_type(reply.content_type)
    wants_json = rules.response == "json" or (rules.response == "auto" and rules.extractor is not None)
    as_json = wants_json or (rules.response == "auto" and is_json_type(media))
    if not body or (as_json and not body.strip(b" \t\r\n\xef\xbb\xbf")):
        raise bad_answer(reply, f"empty body (HTTP {reply.status})")
    if rules.wants_events:
        raise _not_events(reply, media)
    if as_json:
        return _from_document(reply, rules, json_document(reply))
    return _text(reply, media), None, ""


def json_document(reply: Reply) -> JsonValue:
    """The body as JSON. Raises SolutionError (``bad_answer``)."""
    body, media = reply.body(), media_type(reply.content_type)
    if media in HTML_TYPES:
        raise unexpected_type(reply, "JSON")
    repeated = RepeatedKeys()
    try:
        document = parse_json(json_text(body, reply.content_type), repeated=repeated)
    except UnicodeDecodeError as error:
        message = f"invalid JSON, byte {error.start} is not {error.encoding}"
        raise bad_answer(reply, _with_encoding(reply, message)) from error
    except InvalidJson as error:
        if media and not is_json_type(media):
            raise unexpected_type(reply, "JSON", str(error)) from error
        raise bad_answer(reply, _with_encoding(reply, str(error))) from error
    if reply.encoding_cut:
        reply.notes.append(f"content-encoding: {reply.encoding} stopped before its end; the JSON in it is whole")
    reply.notes += repeated.notes()
    return document


def unexpected_type(reply: Reply, expected: str, why: str = "") -> SolutionError:
    """``expected JSON, got text/html: <html>…`` with the first 200 characters of the body."""
    media = media_type(reply.content_type) or "a body without a content type"
    text = decoded_text(reply.body(), reply.content_type)[0]
    reason = f" ({why})" if why else ""
    return bad_answer(reply, f"expected {expected}, got {media}{reason}: {snippet(text)}")


def _from_document(reply: Reply, rules: DocumentRules, document: JsonValue) -> tuple[JsonValue, Usage | None, str]:
    if rules.error_when is not None:
        found = rules.error_when.value(document)
        if is_true(found):
            raise bad_answer(reply, failure_words(rules.error_when, found, document), kind="agent_error")
    output: JsonValue | Missing = document
    null = "the body is null"
    if rules.extractor is not None:
        output = rules.extractor.find(document)
        null = f"{rules.extractor.expression} is null"
    said = agent_message(document)
    if isinstance(output, Missing):
        raise _no_output(reply, output.reason, said)
    if output is None and not rules.allow_null:
        raise _no_output(reply, null, said)
    return output, usage_in(document, rules.usage), finish_reason_of(document)


def failure_words(error_when: Extractor, found: JsonValue, document: JsonValue) -> str:
    """``the agent says: …`` with the best words there are; ``error_when`` was true as ``found``."""
    said = agent_message(document)
    if said is None:
        said = f"{error_when.expression}: {snippet(found)}" if isinstance(found, str) else None
    if said is None and isinstance(found, dict):
        said = agent_message({"error": found})
    return f"the agent says: {said}" if said else f"error_when `{error_when.expression}` is true"


def _no_output(reply: Reply, reason: str, said: str | None) -> SolutionError:
    if said is None:
        return bad_answer(reply, reason)
    return bad_answer(reply, f"the agent says: {said} ({reason})", kind="agent_error")


def _not_events(reply: Reply, media: str) -> SolutionError:
    try:
        said = agent_message(parse_json(json_text(reply.body(), reply.content_type)))
    except (InvalidJson, UnicodeDecodeError):
        said = None
    if said is not None:
        return bad_answer(reply, f"the agent says: {said} (JSON instead of an event stream)", kind="agent_error")
    return unexpected_type(reply, "text/event-stream", "set output_extractor for JSON" if is_json_type(media) else "")


def _text(reply: Reply, media: str) -> str:
    if media.startswith(_NO_TEXT) or media in _NO_TEXT_TYPES:
        raise bad_answer(reply, f"expected JSON or text, got {media} ({plural(reply.size, 'byte')})")
    if reply.encoding_cut:
        message = f"the answer stopped before the end of its content-encoding: {reply.encoding}"
        raise bad_answer(reply, message, kind="incomplete", resend=Resend.MAYBE_RECEIVED)
    text, wrong = decoded_text(reply.body(), reply.content_type)
    if wrong:
        reply.notes.append(f"{plural(wrong, 'place')} in the body cannot be read as text and stand as \ufffd")
    return text


def _with_encoding(reply: Reply, message: str) -> str:
    if not reply.encoding_cut:
        return message
    return f"{message}; the answer stopped before the end of its content-encoding: {reply.encoding}"
