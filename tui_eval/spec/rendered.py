"""A request after rendering: what is sent, what may be shown, and the fingerprint of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Rendered:
    """The template fields of a solution's options for one case, by field name (``url``, ``headers``, ``argv`` …).

    ``sent`` has the values of ``${NAME}`` in place and lives in memory only. ``shown`` has the references still in
    place and credentials typed into the plan hidden; it is what is stored, previewed and exported. Values may be shared
    between cases: they are not changed.
    """

    sent: Mapping[str, Any]
    shown: Mapping[str, Any]
    case_id: str
    case_input: Mapping[str, Any]
    repeat: int = 0
