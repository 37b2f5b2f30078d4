"""A run whose history cannot be written goes on, loses nothing, and says so."""

from __future__ import annotations

import sqlite3
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from tests.support.product import Product
from tui_eval.store.opening import check_integrity

PLAN = """
version: 1
name: places
task_concurrency: 4
requests:
  - name: one
    dataset: {path: cases.jsonl}
    solution: {type: command, argv: [sh, -c, "sleep 0.1; head -c 3000 /dev/urandom | base64 -w0; echo done"]}
    evaluators: [{id: contains, expected: done}]
"""


def prepare(product: Product, count: int) -> str:
    product.write_cases([{"id": f"c{number}"} for number in range(count)])
    return str(product.write_plan(PLAN))


@pytest.fixture
def small_disk(product: Product) -> Iterator[Path]:
    """A disk of 3 MB under the folder of the history, where the tests may make one."""
    place = product.history.parent
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=3m,mode=700", "none", str(place)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no disk can be mounted here; another test limits the size of files instead")
    yield place
    # Lazily: this process itself still has the header of the history open.
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def unsaved(*folders: Path) -> list[Path]:
    """The files with results that are not in the history."""
    return [file for folder in folders for file in folder.glob("*unsaved-it*.jsonl")]


def test_a_full_disk_stops_no_task_and_what_was_finished_is_not_called_again(
    product: Product, small_disk: Path, tmp_path: Path
) -> None:
    plan = prepare(product, 200)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    environment = {"TMPDIR": str(temporary)}
    process = product.start("run", plan, "--run-id", "it", "--progress", "none", environment=environment)
    product.wait_for("SELECT 1 FROM tasks WHERE outcome = 'passed'")
    with suppress(OSError), open(small_disk / "filler", "wb", buffering=0) as filler:
        while filler.write(b"x" * 4096):
            continue
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 3, errors
    assert "disk is full" in errors
    kept = unsaved(small_disk, temporary)
    assert kept, "no file holds what could not be stored"
    assert any(f"are in {file}; once the history can be written again: tui-eval resume it" in errors for file in kept)
    assert all(file.stat().st_mode & 0o777 == 0o600 for file in kept)
    done = sum(len(file.read_bytes().splitlines()) for file in kept)
    done += len(product.query("SELECT 1 FROM tasks WHERE outcome = 'passed'"))
    assert done >= 200, "every task was done, and is in the history or in a file"

    (small_disk / "filler").unlink()
    for asking in ("doctor", "show"):
        assert "tui-eval resume it" in product.run(asking, environment=environment).stdout, asking
    resumed = product.run("resume", "it", environment=environment)
    assert resumed.returncode == 0, resumed.stderr
    assert Counter(product.outcomes("it").values()) == {"passed": 200}
    assert product.query("SELECT count(*), max(number) FROM attempts") == [(200, 1)], "none was called twice"
    assert unsaved(small_disk, temporary) == []
    assert check_integrity(product.history) == []


def test_a_disk_that_is_full_from_the_start_is_told_before_anything_is_called(
    product: Product, small_disk: Path
) -> None:
    with suppress(OSError), open(small_disk / "filler", "wb", buffering=0) as filler:
        while filler.write(b"x" * 4096):
            continue
    ended = product.run("run", prepare(product, 3))
    assert ended.returncode == 3
    assert str(product.history) in ended.stderr
    assert "Traceback" not in ended.stderr
    (small_disk / "filler").unlink()
    assert product.run("run", prepare(product, 3)).returncode == 0


@pytest.mark.parametrize("place", ["/proc/nowhere/history.db", "cases.jsonl/history.db"])
def test_a_run_in_a_session_of_its_own_says_too_when_there_is_no_place_for_its_history(
    product: Product, place: str
) -> None:
    ended = product.run("run", prepare(product, 3), "--detach", "--history", place)
    assert ended.returncode == 3, ended.stderr
    assert place in ended.stderr
    assert "defect" not in ended.stderr


def test_a_lock_that_another_program_holds_for_long_costs_nothing(product: Product) -> None:
    plan = prepare(product, 300)
    process = product.start("run", plan, "--run-id", "it", "--progress", "none")
    product.wait_for("SELECT 1 FROM tasks WHERE outcome = 'passed'")
    with closing(sqlite3.connect(product.history, isolation_level=None, timeout=20)) as other:
        other.execute("BEGIN IMMEDIATE")
        until = time.monotonic() + 20
        while not unsaved(product.history.parent):
            assert time.monotonic() < until, "results must go to a file by then"
            time.sleep(0.1)
        shown = product.run("show", "it")
        assert shown.returncode == 0, "readers are not held up"
        other.execute("ROLLBACK")
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert "locked by another program" in errors
    assert Counter(product.outcomes("it").values()) == {"passed": 300}
    assert unsaved(product.history.parent) == []
    assert product.query("PRAGMA integrity_check") == [("ok",)]
