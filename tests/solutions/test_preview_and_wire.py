"""What a preview says is what a server gets: requests drawn at random from what plans are made of."""

from __future__ import annotations

import json
import random
from typing import Any
from urllib.parse import parse_qsl, quote

import pytest

from tests.solutions.http_calls import SETUP, context, rendered
from tests.support.player import Asked, answer, play
from tui_eval.domain import as_text
from tui_eval.solutions.http import HttpSolution
from tui_eval.solutions.outgoing import NEW_EACH_TIME
from tui_eval.spec.solution_options import HttpOptions

HEADERS = ["X-A", "x-b", "Accept", "USER-AGENT", "Content-Type", "Host", "baggage", "X_y", "Range", "Origin"]
HEADER_VALUES = ["a", "é", "", "  pad ", "a\tb", 7, True, '"q"', "a, b", "x" * 600]
VALUES = [None, True, 0, -1.5, 1e20, "", "é\u2028", "a\nb", '{"<&>', "a b&c=d+%20", "🎈"]
PATHS = ["", "?z=1", "?z=%20&y", "?", "#f", "/./p", "/../é", "/a%2Fb", "/a b"]


def drawn(draw: random.Random, depth: int = 0) -> Any:
    if depth < 3 and draw.random() < 0.3:
        return [drawn(draw, depth + 1) for _ in range(draw.randint(0, 3))]
    if depth < 3 and draw.random() < 0.3:
        return {f"{draw.choice(VALUES)}{number}": drawn(draw, depth + 1) for number in range(draw.randint(0, 3))}
    return draw.choice(VALUES)


def drawn_fields(draw: random.Random) -> dict[str, Any]:
    fields: dict[str, Any] = {"headers": {name: draw.choice(HEADER_VALUES) for name in draw.sample(HEADERS, 4)}}
    if draw.random() < 0.5:
        fields["params"] = {name: drawn(draw, 2) for name in ("k", "a b", "é[]")}
    kind = draw.choice(["body", "form", "text", ""])
    if kind == "body":
        fields["body"] = drawn(draw)
    elif kind == "form":
        fields["form"] = {name: drawn(draw, 2) for name in ("a", "b c", "é")}
    elif kind == "text":
        fields["text"] = as_text(drawn(draw))
    return fields


def assert_same(preview: dict[str, Any], asked: Asked, base: str) -> None:
    assert asked.method == preview["method"]
    target = quote(preview["url"].removeprefix(base), safe="%/?&=+:@!$'()*,;[]~|^#")
    assert asked.target == (target if target.startswith("/") else f"/{target}")
    shown = {name: as_text(value).strip(" \t") for name, value in preview["headers"].items()}
    got = {name: value for name, value in asked.headers.items() if name != "content-length"}
    assert (shown.pop("traceparent"), len(got.pop("traceparent"))) == (NEW_EACH_TIME, 55)
    assert got == {"host": base.removeprefix("http://"), **shown}
    if "body" in preview:
        assert json.loads(asked.body) == preview["body"]
    elif "form" in preview:
        pairs = [
            (name, as_text(item))
            for name, value in preview["form"].items()
            for item in (value if isinstance(value, list) else [value])
            if item is not None
        ]
        assert parse_qsl(asked.body.decode(), keep_blank_values=True) == pairs
    else:
        assert asked.body.decode() == preview.get("text", "")


@pytest.mark.parametrize("seed", range(40))
async def test_a_preview_is_what_is_on_the_wire(seed: int) -> None:
    draw = random.Random(seed)
    fields = drawn_fields(draw)
    method = draw.choice(["get", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
    async with play({"paths": {}}) as server:
        server.paths = _AnyPath()
        fields["url"] = server.url(f"/r{draw.choice(PATHS)}")
        model = HttpOptions(url=fields["url"], method=method, body=1 if "body" in fields else None)
        solution = HttpSolution(model, SETUP)
        try:
            await solution.call(rendered(fields), context())
            assert_same(solution.preview(rendered(fields)), server.requests[0], server.base_url)
        finally:
            await solution.aclose()


class _AnyPath(dict[str, Any]):
    def get(self, key: str, default: Any = None) -> Any:
        return answer("ok", "text/plain")
