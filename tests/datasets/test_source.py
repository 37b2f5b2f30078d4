"""Opening datasets, and looking at parts of them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.datasets.support import dataset, opened
from tui_eval.datasets.paging import STEP
from tui_eval.errors import DatasetError


def refusal(folder: Path, name: str, **settings: Any) -> str:
    with pytest.raises(DatasetError) as caught:
        opened(folder, name, **settings)
    return str(caught.value)


def test_a_missing_file_is_named_with_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "tickets.jsonl").touch()
    message = refusal(tmp_path, "ticket.jsonl")
    assert str(tmp_path / "ticket.jsonl") in message
    assert "did you mean `tickets.jsonl`" in message
    assert "does not exist either" in refusal(tmp_path, "dta/x.csv")
    assert "not expanded" in refusal(tmp_path, "~/x.csv")


def test_only_a_regular_file_is_opened_and_nothing_is_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "folder.jsonl").mkdir()
    (tmp_path / "loop.jsonl").symlink_to("loop.jsonl")
    assert "a named pipe" in refusal(tmp_path, "pipe.jsonl")
    assert "a directory" in refusal(tmp_path, "folder.jsonl")
    assert "cannot be opened" in refusal(tmp_path, "loop.jsonl")
    assert "a device" in refusal(tmp_path, "/dev/zero", format="jsonl")
    assert "cannot be opened" in refusal(tmp_path, "a\0b.jsonl")
    assert "cannot be opened" in refusal(tmp_path, "x" * 5000)
    assert "a directory" in refusal(tmp_path, ".", format="csv")
    assert "path is empty" in refusal(tmp_path, " ")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_said_to_be_so(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").touch(0o000)
    assert "Permission denied" in refusal(tmp_path, "a.jsonl")


def test_the_format_is_that_of_the_name_or_the_setting(tmp_path: Path) -> None:
    for name, kind in {"a.NDJSON": "jsonl", "a.CSV": "csv", "a.yml": "yaml", "a.tab": "tsv"}.items():
        (tmp_path / name).touch()
        assert opened(tmp_path, name).format == kind
    for name in ("data", "data.txt", "a.jsonll", "a.jsonl.gz", "a.xlsx"):
        (tmp_path / name).write_text('{"id": 1}\n')
        assert (
            "format" in refusal(tmp_path, name)
            or "unpack" in refusal(tmp_path, name)
            or "CSV" in refusal(tmp_path, name)
        )
        assert opened(tmp_path, name, format="jsonl").check().count == 1
    assert "did you mean `.jsonl`" in refusal(tmp_path, "a.jsonll")


def test_what_is_shown_of_a_source(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    source = dataset(tmp_path / "data", "a.jsonl", '{"id": 1}\n')
    assert (source.path, source.label, source.format, source.size) == (
        tmp_path / "data/a.jsonl",
        "a.jsonl",
        "jsonl",
        10,
    )


def test_a_variable_in_the_path_is_put_in_and_never_shown(tmp_path: Path) -> None:
    (tmp_path / "hidden-place").mkdir()
    (tmp_path / "hidden-place" / "a.jsonl").write_text("broken\n")
    environment = {"PLACE": "hidden-place", "EMPTY": ""}
    source = opened(tmp_path, "${PLACE}/a.jsonl", environment=environment)
    assert (source.label, source.count()) == ("${PLACE}/a.jsonl", 1)
    messages = [*map(str, source.scan().faults), refusal(tmp_path, "${PLACE}/b.jsonl", environment=environment)]
    messages += [refusal(tmp_path, "${PLACE}", environment=environment, format="csv")]
    messages += [refusal(tmp_path, "x/${PLACE}/b.jsonl", environment=environment)]
    assert all("${PLACE}" in message and "hidden-place" not in message for message in messages)
    for name in ("EMPTY", "UNSET"):
        message = refusal(tmp_path, "${" + name + "}/a.jsonl", environment=environment)
        assert f"`{name}`" in message
        assert "dataset.path" in message


def test_a_size_limit_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").touch()
    for value in ("0", "-1", "lots", "1e9", "²", "9" * 30):
        assert "TUI_EVAL_MAX_RECORD_BYTES" in refusal(
            tmp_path, "a.jsonl", environment={"TUI_EVAL_MAX_RECORD_BYTES": value}
        )


def test_a_file_that_changes_after_it_was_checked_is_refused(tmp_path: Path) -> None:
    source = dataset(tmp_path, "a.jsonl", '{"id": 1}\n' * 1)
    source.check()
    with (tmp_path / "a.jsonl").open("a") as stream:
        stream.write('{"id": 2}\n')
    for look in (source.check, source.count, lambda: list(source.sampled()), lambda: source.rows(0, 1)):
        with pytest.raises(DatasetError, match="changed while it was in use"):
            look()
    (tmp_path / "a.jsonl").unlink()
    with pytest.raises(DatasetError, match="cannot be opened"):
        source.check()


def test_a_file_that_changes_while_it_is_read_is_noticed(tmp_path: Path) -> None:
    source = dataset(tmp_path, "a.jsonl", "".join(f'{{"id": {number}}}\n' for number in range(60_000)))
    stream = iter(source.cases())
    next(stream)
    (tmp_path / "a.jsonl").write_text('{"id": 1}\n')
    with pytest.raises(DatasetError, match="changed while it was in use"):
        list(stream)


def records(count: int) -> list[dict[str, Any]]:
    return [{"q": f"ü {number}", "n": number % 400} for number in range(count)]


@pytest.mark.parametrize("with_ids", [True, False])
@pytest.mark.parametrize("kind", ["jsonl", "csv", "json", "utf-16"])
def test_a_page_holds_the_same_cases_as_the_stream(tmp_path: Path, kind: str, with_ids: bool) -> None:
    data = [{"id": f"c{number}", **record} if with_ids else record for number, record in enumerate(records(3 * STEP))]
    data = [
        {**record, "q": "same"} if number % 7 == 0 and not with_ids else record for number, record in enumerate(data)
    ]
    if kind == "csv":
        header = list(data[0])
        data = [{**record, "q": f"{record['q']}\r\n\nmore"} for record in data]
        rows = [",".join(f'"{value}"' for value in record.values()) for record in data]
        source = dataset(tmp_path, "a.csv", "\ufeff" + ",".join(header) + "\r\n" + "\r\n\r\n".join(rows))
    elif kind == "json":
        source = dataset(tmp_path, "a.json", json.dumps(data))
    else:
        lines = [json.dumps(record) for record in data]
        lines.insert(STEP + 3, "broken")
        lines.insert(5, "")
        text = "\r\n".join(lines)
        source = dataset(tmp_path, "a.jsonl", text.encode("utf-16") if kind == "utf-16" else text)
    everything = list(source.cases())
    assert len(everything) == 3 * STEP
    for start, count in (
        (STEP + 5, 20),
        (0, 3),
        (STEP - 1, 2),
        (3 * STEP - 2, 50),
        (2 * STEP, STEP),
        (9999, 5),
        (0, 0),
    ):
        assert source.rows(start, count) == everything[start : start + count]
    assert source.rows(-5, 2) == everything[:2]


def test_an_abandoned_stream_leaves_no_file_open(tmp_path: Path) -> None:
    source = dataset(tmp_path, "a.jsonl", '{"id": 1}\n{"id": 2}\n')
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        next(iter(source.cases()))
        next(iter(source.sampled()))
        source.rows(0, 1)
    source.close()
    assert len(os.listdir("/proc/self/fd")) == before
