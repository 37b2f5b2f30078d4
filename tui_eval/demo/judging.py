"""The embedded agent as a judge: asked with the model name ``demo-judge`` it gives a verdict on the material it is shown.

It looks only whether the expected text stands in the output, which is all that a sample plan needs.
"""

from __future__ import annotations

import json
import re
from typing import Any

from tui_eval.domain import as_text

JUDGE_MODEL = "demo-judge"
_MATERIAL = re.compile(r"<material>\s*(\{.*\})\s*</material>", re.DOTALL)
_RANGE = re.compile(r"a number from (\S+) to (\S+?)\.?$", re.MULTILINE)


def verdict_on(messages: list[Any]) -> str:
    """The judge's reply, one JSON object; a plain sentence when there is no material to judge."""
    texts = [as_text(message.get("content", "")) for message in messages if isinstance(message, dict)]
    found = _MATERIAL.search(texts[-1]) if texts else None
    if found is None:
        return "I was shown nothing to judge."
    material = json.loads(found[1])
    expected = as_text(material.get("expected_output", "")).casefold()
    right = bool(expected) and expected in as_text(material.get("output", "")).casefold()
    reason = "The expected answer stands in the output." if right else "The expected answer is not in the output."
    scale = _RANGE.search(texts[0])
    score: float | bool = right
    if scale is not None:
        score = float(scale[2 if right else 1])
    return json.dumps({"reason": reason, "score": score})
