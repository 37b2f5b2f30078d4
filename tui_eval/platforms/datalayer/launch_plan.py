"""What the platform says of a launch before it is made: what it would take, and what would stop it (plain functions).

``{"ok", "estimate": {"duration_seconds", "credits_reserved", "credits_available"}, "problems": [{"severity", "code",
"message"}]}``, each part as far as the platform tells it (Datalayer contract, section 3, other routes).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


def estimate_of(plan: Mapping[str, Any]) -> str:
    """``12.0 min, 3.5 of 40 credits``; "" where the platform estimates nothing."""
    estimate = plan.get("estimate")
    estimate = estimate if isinstance(estimate, Mapping) else {}
    parts = []
    if (seconds := _number(estimate.get("duration_seconds"))) is not None:
        parts.append(f"{seconds / 60:.1f} min")
    if (reserved := _number(estimate.get("credits_reserved"))) is not None:
        available = _number(estimate.get("credits_available"))
        parts.append(f"{reserved:.4g} {'' if available is None else f'of {available:.4g} '}credits")
    return ", ".join(parts)


def problems_of(plan: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """What stops the launch, and what is only to be known. A plan that is not ok has something that stops it."""
    stops: list[str] = []
    known: list[str] = []
    problems = plan.get("problems")
    for one in problems if isinstance(problems, list) else ():
        if isinstance(one, Mapping):
            words = ": ".join(str(one[name]) for name in ("code", "message") if one.get(name))
            (known if one.get("severity") == "warning" else stops).append(words or "a problem without words")
    if plan.get("ok") is not False:
        return [], [*stops, *known]
    return stops or ["no reason is given"], known


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None
