"""A workspace with solutions, saved and in a plan, for the screens that list and try them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from textual.pilot import Pilot

from tests.support.screen_text import see


def reply(body: str, kind: str = "application/json") -> list[dict[str, object]]:
    head = f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\nx-served-by: agent-7\r\ncontent-length: {len(body.encode())}"
    return [{"text": f"{head}\r\n\r\n{body}"}]


def write(path: Path, data: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(data))
    return path


def http(url: str, **more: object) -> dict[str, object]:
    return {"type": "http", "url": url, "body": {"q": "{{ question }}"}, "output_extractor": "output", **more}


def workspace(folder: Path, url: str = "http://127.0.0.1:9/ask") -> None:
    """A saved solution, one that stands in a plan, and one that a plan uses."""
    write(folder / "solutions" / "prod.yaml", http(url))
    cases = {"cases": [{"id": "one", "question": "first?"}, {"id": "two", "question": "second?"}]}
    requests = [
        {"name": "inline", "dataset": cases, "solution": {"type": "command", "argv": ["cat"], "stdin": "json"}},
        {"name": "used", "dataset": cases, "solution": {"use": "solutions/prod.yaml"}},
        {"name": "changed", "dataset": cases, "solution": {"use": "solutions/prod.yaml", "method": "PUT"}},
    ]
    write(folder / "plan.yaml", {"version": 1, "name": "p", "requests": requests})


def cut_lines(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)


async def open_solutions(pilot: Pilot[Any]) -> None:
    await pilot.pause()
    await pilot.press("O")
    await see(pilot, "saved")
