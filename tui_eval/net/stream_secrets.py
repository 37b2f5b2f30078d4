"""Values to keep out of what is kept of an event stream, also where the agent spreads one over several events.

A model that repeats a key gives ``sk-`` in one event and the rest in the next ones: neither the raw text nor the events
have the value in one piece, and who joins the texts can read it. So the texts that belong together (the same key path in
the events' JSON, of all events and of those of one kind and id; the data itself where it is no JSON) are joined, looked
through, and the part of a value in each is replaced. An event that is touched is written anew; all others stay as they
came, character for character.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from tui_eval.spec.secrets import Secrets

_DATA_LINE = re.compile(r"(?:\A\ufeff?|(?<=[\r\n]))data(?:: ?([^\r\n]*)|(?=[\r\n]|\Z))")
_EVENT_END = re.compile(r"(?:\r\n|\n|\r(?!\n)){2}")
_LABELS = ("type", "id", "index", "item_id")
"""Keys by which dialects tell texts apart that are streamed side by side."""


@dataclass(slots=True)
class _Text:
    """One text in the JSON of an event: where it is held, and the event's number."""

    event: int
    holder: Any
    key: Any

    @property
    def value(self) -> str:
        text: str = self.holder[self.key]
        return text


def keep_out(secrets: Secrets) -> Callable[[Any], Any]:
    """A function like :meth:`Secrets.redact_value` for what is stored, with the streams of the answers in it."""

    def redact(value: Any) -> Any:
        if secrets and isinstance(value, dict):
            value = _payload(value, secrets)
            if isinstance(value.get("attempts"), list):
                value = {**value, "attempts": [_attempt(attempt, secrets) for attempt in value["attempts"]]}
        return secrets.redact_value(value)

    return redact


def _attempt(attempt: Any, secrets: Secrets) -> Any:
    if isinstance(attempt, dict) and isinstance(attempt.get("payload"), dict):
        return {**attempt, "payload": _payload(attempt["payload"], secrets)}
    return attempt


def _payload(value: dict[str, Any], secrets: Secrets) -> dict[str, Any]:
    answer = value.get("answer")
    if isinstance(answer, dict) and (answer.get("events") or "event-stream" in str(answer.get("content_type"))):
        return {**value, "answer": without_split_values(answer, secrets)}
    return value


def without_split_values(answer: dict[str, Any], secrets: Secrets) -> dict[str, Any]:
    """A stored answer (``raw`` and ``events`` of ``[seconds, name, data]``) without values that several events share."""
    raw, events = answer.get("raw") or "", answer.get("events") or []
    places = list(_data_places(raw))
    before = ["\n".join(raw[start:end] for start, end in lines) for lines in places]
    after = masked(before, secrets)
    kept = [str(data) for _, _, data in events]
    kept_after = after[: len(kept)] if before[: len(kept)] == kept else masked(kept, secrets)
    if after == before and kept_after == kept:
        return answer
    told = [[at, name, data] for (at, name, _), data in zip(events, kept_after, strict=True)]
    changed = {"raw": _written(raw, places, before, after), "events": told}
    return {**answer, **{name: value for name, value in changed.items() if name in answer}}


def masked(data: Sequence[str], secrets: Secrets) -> list[str]:
    """The data of a stream's events, without values that several of them share."""
    documents = [_json(text) for text in data]
    texts = (text for at, document in enumerate(documents) for text in _texts(at, document))
    touched = {at for group in _groups(texts) for at in _mask(group, secrets)}
    result = [_dumped(documents[at][0], text) if at in touched else text for at, text in enumerate(data)]
    # Data that is no JSON is text itself: all of it that comes in a row belongs together.
    plain = [_Text(at, result, at) for at, document in enumerate(documents) if document[0] is None]
    _mask(plain, secrets)
    return result


def _json(text: str) -> list[Any]:
    """The object or list in ``text`` in a list of its own (so that it can be held), None for anything else."""
    if text[:1] not in "{[" or not text:
        return [None]
    try:
        return [json.loads(text)]
    except (ValueError, RecursionError):
        return [None]


def _texts(at: int, document: list[Any]) -> Iterator[tuple[Hashable, Hashable, _Text]]:
    """Every text of an event with its key path and the labels of the event. Not recursive: it comes from outside."""
    root = document[0]
    labels = tuple(str(root[name]) for name in _LABELS if name in root) if isinstance(root, dict) else ()
    pending: list[tuple[tuple[Any, ...], Any]] = [((), root)]
    while pending:
        path, node = pending.pop()
        for key, child in node.items() if isinstance(node, dict) else enumerate(node or ()):
            if isinstance(child, str) and child:
                yield (*path, key), labels, _Text(at, node, key)
            elif isinstance(child, dict | list):
                pending.append(((*path, key), child))


def _groups(texts: Iterable[tuple[Hashable, Hashable, _Text]]) -> Iterator[list[_Text]]:
    """The texts that may belong together: all of one path, and those of one path and the same labels."""
    by_path: dict[Hashable, dict[Hashable, list[_Text]]] = {}
    for path, labels, text in texts:
        by_path.setdefault(path, {}).setdefault(labels, []).append(text)
    for by_label in by_path.values():
        every = [text for group in by_label.values() for text in group]
        yield sorted(every, key=lambda text: text.event)
        if len(by_label) > 1:
            yield from by_label.values()


def _mask(group: Sequence[_Text], secrets: Secrets) -> set[int]:
    """Replace the parts of values in the texts of a group, where several share one; the numbers of the events."""
    if len(group) < 2:
        return set()
    joined = "".join(text.value for text in group)
    found = secrets.find(joined)
    if not found:
        return set()
    touched: set[int] = set()
    start = following = 0
    for text in group:
        end = start + len(text.value)
        pieces, place = [], start
        for first, last, shown in islice(found, following, None):
            if first >= end:
                break
            following += last <= end
            if first < start or last > end:  # what lies in one text alone is replaced with everything else
                pieces += [joined[place : max(first, start)], shown if first >= start else ""]
                place = min(last, end)
        if pieces:
            text.holder[text.key] = "".join(pieces) + joined[place:end]
            touched.add(text.event)
        start = end
    return touched


def _dumped(document: Any, original: str) -> str:
    separators = (", ", ": ") if '": ' in original else (",", ":")
    # As many lines as before, so that the text of the stream can be written line by line.
    return json.dumps(document, ensure_ascii=False, separators=separators) + "\n" * original.count("\n")


def _data_places(raw: str) -> Iterator[list[tuple[int, int]]]:
    """For each event of a stream's text where its lines of data are (WHATWG, server-sent events, section 9.2.6)."""
    lines: list[tuple[int, int]] = []
    for match in _DATA_LINE.finditer(raw):
        if lines and _EVENT_END.search(raw, lines[-1][1], match.start()):
            yield lines
            lines = []
        lines.append((match.start(1), match.end(1)) if match[1] is not None else (match.end(), match.end()))
    if lines:
        yield lines


def _written(raw: str, places: list[list[tuple[int, int]]], before: Sequence[str], after: Sequence[str]) -> str:
    """The text of the stream with the data that changed in its place."""
    parts: list[str] = []
    place = 0
    for lines, old, new in zip(places, before, after, strict=True):
        if old == new:
            continue
        told = new.split("\n")
        told += [""] * (len(lines) - len(told))  # a value of several lines is one word now
        for (start, end), line in zip(lines, told, strict=True):
            parts += [raw[place:start], line]
            place = end
    return "".join(parts) + raw[place:]
