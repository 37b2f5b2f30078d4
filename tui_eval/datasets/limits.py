"""How large a single record or a whole document may be, so that no file can take all memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tui_eval.datasets.rows import refusal

MEBIBYTE = 1024 * 1024
RECORD_SETTING = "TUI_EVAL_MAX_RECORD_BYTES"
DOCUMENT_SETTING = "TUI_EVAL_MAX_DOCUMENT_BYTES"

MAX_DEPTH = 200
"""Lists and objects inside each other. Deeper ones would break whatever walks them later (JSON, templates, screens)."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes in bytes. ``record``: one JSON line, one CSV row, one element of a JSON array (default 32 MiB).
    ``json_document`` and ``yaml_document``: files that are held in memory as a whole (256 MiB and 16 MiB)."""

    record: int = 32 * MEBIBYTE
    json_document: int = 256 * MEBIBYTE
    yaml_document: int = 16 * MEBIBYTE


def limits_from(environment: Mapping[str, str]) -> Limits:
    """The defaults, or what the environment variables above say. Raises DatasetError for a value that is no size."""
    standard = Limits()
    record = _size(environment, RECORD_SETTING)
    document = _size(environment, DOCUMENT_SETTING)
    return Limits(record or standard.record, document or standard.json_document, document or standard.yaml_document)


def _size(environment: Mapping[str, str], name: str) -> int:
    text = environment.get(name, "").strip()
    if not text:
        return 0
    if not (text.isascii() and text.isdigit() and len(text) < 19 and int(text) > 0):
        raise refusal(f"{name} is `{text[:40]}`, expected a number of bytes, at least 1", "")
    return int(text)
