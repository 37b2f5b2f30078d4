"""A request after rendering: what is sent, what may be shown, and the fingerprint of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Rendered:
    """The template fields of a solution's options for one case, by field name (``url``, ``headers``, ``argv`` …).

    ``sent`` has the values of ``${NAME}`` in place and lives in memory only. ``shown`` has the references still in
    place and credentials typed into the plan hidden; it is what is stored, previewed and exported. ``fingerprint``
    (32 hex digits) is a hash of ``shown``, of the solution's other options and, where the agent gets the whole case, of
    the case: equal means the same call; it depends neither on the values of ``${NAME}`` nor on the repeat. Values may be shared between cases: they are not changed.
    """

    sent: Mapping[str, Any]
    shown: Mapping[str, Any]
    fingerprint: str
    case_id: str
    case_input: Mapping[str, Any]
    repeat: int = 0
