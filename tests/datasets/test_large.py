"""Large files: time to the first case, time a row, and memory, measured in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROWS = 1_000_000
PROGRAM = """
import json, sys, time
from pathlib import Path
from tui_eval.datasets import open_dataset
from tui_eval.spec.model import Dataset
source = open_dataset(Dataset.model_validate(json.loads(sys.argv[1])), Path(sys.argv[2]))
begun = time.process_time()
stream = source.cases()
next(stream)
first = time.process_time() - begun
count = 1 + sum(1 for _ in stream)
whole = time.process_time() - begun
begun = time.process_time()
survey = source.scan()
looked_through = time.process_time() - begun
pages = source.rows(min(count, 250_000) - 10, 10)
# Not ru_maxrss: that begins with the size of the process we were started from.
peak = next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps({"first": first, "whole": whole, "looked through": looked_through, "count": count, "surveyed": survey.count, "faults": len(survey.faults),
                  "page": len(pages), "peak": peak}))
"""


def measured(folder: Path, **spec: Any) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(spec), str(folder)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.long
@pytest.mark.parametrize("kind", ["ids", "csv", "no ids", "array"])
def test_a_million_rows_are_streamed_in_little_memory(tmp_path: Path, kind: str) -> None:
    rows = ROWS if kind in ("ids", "csv") else ROWS // 4
    name = {"array": "a.json", "csv": "a.csv"}.get(kind, "a.jsonl")
    with (tmp_path / name).open("w", encoding="utf-8") as stream:
        if kind == "csv":
            stream.write("id,question,n\n")
        for number in range(rows):
            if kind == "csv":
                stream.write(f'case-{number},"What is {number}, plus\n{number}?",{number}\n')
                continue
            before = ("[" if number == 0 else ",") if kind == "array" else ""
            key = "key" if kind == "no ids" else "id"
            stream.write(
                f'{before}{{"{key}": "case-{number}", "question": "What is {number} plus {number}?", "n": {number}}}\n'
            )
        if kind == "array":
            stream.write("]")
    found = measured(tmp_path, path=name)
    assert found["count"] == found["surveyed"] == rows
    assert (found["faults"], found["page"]) == (0, 10)
    assert found["first"] < 0.5
    assert found["peak"] < 150_000_000
    # Three times what a quiet machine takes.
    assert found["whole"] / rows < 30e-6
    if kind in ("ids", "csv"):  # read in blocks
        assert found["looked through"] / rows < 20e-6


def test_one_record_of_many_megabytes_is_read(tmp_path: Path) -> None:
    text = "x" * 8_000_000
    (tmp_path / "a.jsonl").write_text(json.dumps({"id": "a", "q": text}) + '\n{"id": "b"}\n')
    (tmp_path / "a.json").write_text(json.dumps([{"id": "a", "q": text}, {"id": "b"}]))
    (tmp_path / "a.csv").write_text(f"id,q\na,{text}\nb,\n")
    for name in ("a.jsonl", "a.json", "a.csv"):
        found = measured(tmp_path, path=name)
        assert found["count"] == 2, name
        assert found["faults"] == 0, name
        assert found["peak"] < 150_000_000, name
