"""The datasets of a workspace: counted and looked through beside the keys, paged at any size, sampled."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from textual.pilot import Pilot

from tests.support.hostile import COMMANDS, MARKUP
from tests.support.screen_text import screen_text, until
from tui_eval.domain import Case
from tui_eval.spec.model import Dataset
from tui_eval.spec.workspace import scan
from tui_eval.tui import dataset_reading as reading
from tui_eval.tui.application import TuiEvalApp
from tui_eval.tui.background import Stopped
from tui_eval.tui.dataset_rows import Progress, RowsReader
from tui_eval.tui.plan_reading import PlanShelf
from tui_eval.tui.projections import datasets as rows
from tui_eval.tui.screens.datasets import DatasetsScreen
from tui_eval.tui.screens.full_text import FullTextScreen
from tui_eval.tui.widgets.cells import Row
from tui_eval.tui.widgets.numbered_source import NumberedSource

MakeApp = Callable[..., TuiEvalApp]


@asynccontextmanager
async def opened(app: TuiEvalApp, size: tuple[int, int] = (120, 40), rest: str = "") -> AsyncIterator[Pilot[Any]]:
    """The application on its datasets; ``rest`` is a text to wait for."""
    async with app.run_test(size=size) as pilot:
        await pilot.press("D")
        await until(pilot, lambda: isinstance(app.screen, DatasetsScreen) and rest in screen_text(app))
        yield pilot


def screen_of(app: TuiEvalApp) -> DatasetsScreen:
    assert isinstance(app.screen, DatasetsScreen)
    return app.screen


def write_cases(path: Path, count: int, **more: object) -> Path:
    with path.open("w") as file:
        for number in range(count):
            file.write(json.dumps({"id": f"case-{number:06d}", "question": f"what is {number}?", **more}) + "\n")
    return path


def ignore(read: int) -> None:
    """A watcher that lets everything pass."""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    write_cases(tmp_path / "data" / "cases.jsonl", 300)
    (tmp_path / "data" / "broken.jsonl").write_text('{"id": "a"}\n{"id": "a", "x": [1\n{"id": "a"}\n')
    (tmp_path / "data" / "tickets.csv").write_text("ticket;text\nT-1;one\nT-2;two\n")
    (tmp_path / "plan.yaml").write_text(
        "version: 1\nname: p\nrequests:\n  - name: a\n    dataset: {path: data/tickets.csv, id: ticket, delimiter: ';'}\n"
        "    solution: {type: http, url: 'http://127.0.0.1:9'}\n"
    )
    return tmp_path


# -- reading --


def test_a_dataset_is_described_without_reading_all_of_it(tmp_path: Path) -> None:
    path = write_cases(tmp_path / "cases.jsonl", 50_000)
    read: list[int] = []
    facts = reading.describe(path, {}, "", read.append)
    assert facts.columns == ("id", "question")
    assert facts.id_column == "id"
    assert facts.format == "jsonl"
    assert sum(read) < facts.size / 2


def test_a_list_of_cases_inside_a_document_is_found(tmp_path: Path) -> None:
    path = tmp_path / "cases.json"
    path.write_text('{"cases": [{"id": "a", "question": "hello"}]}')
    facts = reading.describe(path, {}, "", ignore)
    assert facts.settings == {"records": "cases"}
    assert facts.columns == ("id", "question")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("x.csv", b"\x1f\x8bpacked", "gzip"),
        ("x.jsonl", b"\xff\xfe\x00bad", ""),
        ("x.parquet", b"none", "Parquet"),
        ("x.yaml", b"cases: 5", ""),
        ("x.json", b"{", ""),
    ],
)
def test_a_file_that_cannot_be_read_says_why(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    facts = reading.describe(path, {}, "", ignore)
    if facts.trouble:
        assert said in str(facts.trouble[0])
    else:
        assert reading.survey(path, facts.settings, {}, ignore).faults


def test_empty_files_have_no_rows_and_are_no_trouble(tmp_path: Path) -> None:
    for name in ("x.jsonl", "x.csv"):
        (tmp_path / name).write_text("")
        facts = reading.describe(tmp_path / name, {}, "", ignore)
        assert facts.columns == ()


def test_datasets_are_read_as_the_plans_read_them(workspace: Path) -> None:
    plans = scan(workspace).of_kind("plan")
    found = reading.settings_from_plans(plans, PlanShelf())
    place = str((workspace / "data" / "tickets.csv").resolve())
    assert found == {place: ({"id": "ticket", "delimiter": ";"}, "plan.yaml")}
    facts = reading.describe(Path(place), *found[place], ignore)
    assert facts.columns == ("ticket", "text")


def test_a_name_that_looks_like_a_variable_is_a_name(tmp_path: Path) -> None:
    path = write_cases(tmp_path / "${HOME}.jsonl", 3)
    assert reading.describe(path, {}, "", ignore).columns == ("id", "question")


@pytest.mark.parametrize("suffix", ["jsonl", "json", "csv"])
def test_a_pass_over_a_file_can_be_stopped_in_the_middle(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"cases.{suffix}"
    one = json.dumps({"id": "x", "text": "y" * 200})
    head = "id,text\n" if suffix == "csv" else "[" if suffix == "json" else ""
    row = "x,yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy" if suffix == "csv" else one
    path.write_text(head + (",\n" if suffix == "json" else "\n").join([row] * 20_000) + ("]" if head == "[" else "\n"))
    progress = Progress(path.stat().st_size)

    def stop_later(read: int) -> None:
        progress(read)
        if progress.read > progress.size / 4:
            progress.stopped.set()

    with pytest.raises(Stopped):
        reading.survey(path, {}, {}, stop_later)
    assert 20 < progress.percent < 99


def test_a_line_of_a_file_is_fetched_by_its_number(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"one\r\n" + b"x" * 200_000 + b"\nthree\xff")
    assert reading.line_of(path, 1) == "one"
    assert reading.line_of(path, 2) == "x" * 65536
    assert reading.line_of(path, 3) == "three\ufffd"
    assert reading.line_of(path, 9) == ""


# -- pages --


async def test_pages_come_in_any_order_and_a_near_one_does_not_wait_for_a_far_one(tmp_path: Path) -> None:
    path = write_cases(tmp_path / "cases.jsonl", 30_000)
    source = reading.watched(path, {}, ignore)
    arrived: list[int] = []
    walked: list[int] = []
    done = asyncio.Event()

    def take(page: Sequence[int], found: dict[int, Row]) -> None:
        assert found[page[0]].cells == (f"case-{page[0]:06d}",)
        arrived.append(page[0])
        if len(arrived) == 2:
            done.set()

    def passed(row: int) -> None:
        walked.append(row)
        if len(walked) == 2:
            reader.want(range(200))

    reader = RowsReader(source, lambda number, case: Row(number, (case.id,)), take, passed)
    reader.want(range(29_800, 30_000))
    serving = asyncio.create_task(reader.serve())
    await asyncio.wait_for(done.wait(), 20)
    cases = await reader.cases([5, 3, 29_999])
    serving.cancel()
    with suppress(asyncio.CancelledError):
        await serving
    assert arrived == [0, 29_800]
    assert [case.id for case in cases] == ["case-000003", "case-000005", "case-029999"]


async def test_a_page_at_the_end_is_short_and_large_cases_come_a_few_at_once(tmp_path: Path) -> None:
    source = reading.watched(write_cases(tmp_path / "cases.jsonl", 25), {}, ignore)
    found: asyncio.Future[dict[int, Row]] = asyncio.get_running_loop().create_future()
    reader = RowsReader(
        source, lambda number, case: Row(number, ()), lambda page, got: found.set_result(got), ignore, at_once=10
    )
    reader.want(range(200))
    serving = asyncio.create_task(reader.serve())
    assert list(await asyncio.wait_for(found, 10)) == list(range(25))
    serving.cancel()
    with suppress(asyncio.CancelledError):
        await serving


def test_numbered_rows_cost_nothing_however_many_there_are() -> None:
    wanted: list[Sequence[int]] = []
    source = NumberedSource(10**9, wanted.append)
    assert source.count() == 10**9
    assert source.index(999_999_999) == 999_999_999
    assert source.index(10**9) is None
    assert source.row(500_000_123) is None
    assert wanted == [range(500_000_000, 500_000_200)]
    source.set_count(5)
    assert source.index(5) is None


# -- texts --


def test_a_case_is_shown_in_full_with_what_each_column_is() -> None:
    text = rows.case_text(Case("a", {"t": "line\nline", "n": None, "list": [1, {"x": "é"}], "empty": ""}, 7))
    for part in ("id    a", "line  7", "── t ── text ──\nline\nline", "── n ── null ──", '"x": "é"', "(empty)"):
        assert part in text


def test_a_huge_value_costs_a_cell_little() -> None:
    for value in ("x" * 5_000_000, list(range(1_000_000)), {str(number): number for number in range(1_000_000)}):
        started = time.process_time()
        assert len(rows.cell_text(value)) <= 400
        assert time.process_time() - started < 0.2


def test_a_sample_is_written_as_a_plan_takes_it() -> None:
    sample = {"limit": 20, "seed": 7, "where": "lang == 'en'", "ids": ["1", "no", "a: b"]}
    section = yaml.safe_load(rows.sample_yaml("data/x.jsonl", {"id": "ticket"}, sample))["dataset"]
    assert Dataset.model_validate(section).sample.ids == ["1", "no", "a: b"]
    assert section == {"path": "data/x.jsonl", "id": "ticket", "sample": sample}
    assert yaml.safe_load(rows.sample_yaml("x", {}, {})) == {"dataset": {"path": "x"}}


# -- the screen --


async def test_datasets_are_listed_with_format_size_count_and_columns(workspace: Path, make_app: MakeApp) -> None:
    app = make_app()
    async with opened(app, rest="300"):
        shown = screen_text(app)
        for text in ("data/cases.jsonl", "jsonl", "csv", "id, question", "ticket, text"):
            assert text in shown


async def test_problems_are_found_with_their_lines_and_the_line_can_be_read(workspace: Path, make_app: MakeApp) -> None:
    app = make_app()
    async with opened(app, (80, 24), rest="✗ 2 problems") as pilot:
        await pilot.press("3")
        await pilot.pause()
        assert "✗ 2:2" in screen_text(app)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, FullTextScreen))
        assert '"x": [1' in screen_text(app)


async def test_rows_are_paged_and_a_case_is_read_in_full(workspace: Path, make_app: MakeApp) -> None:
    app = make_app()
    async with opened(app, rest="300") as pilot:
        await pilot.press("j", "enter", "G")
        await until(pilot, lambda: "case-000299" in screen_text(app))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, FullTextScreen))
        assert "what is 299?" in screen_text(app)
        await pilot.press("escape", "escape")
        await until(pilot, lambda: app.focused is screen_of(app).files)


async def test_marked_rows_become_a_sample_that_is_kept_for_a_launch(workspace: Path, make_app: MakeApp) -> None:
    app = make_app()
    path = workspace / "data" / "tickets.csv"
    async with opened(app, rest="300") as pilot:
        await pilot.press("G", "enter")
        await until(pilot, lambda: "T-2" in screen_text(app))
        await pilot.press("j", "space", "t")
        await until(pilot, lambda: "sample of tickets.csv" in screen_text(app))
        await pilot.press("f10")
        await until(pilot, lambda: isinstance(app.screen, DatasetsScreen))
        assert app.chosen_samples == {path: {"ids": ["T-2"]}}
        await until(pilot, lambda: "1 of 2 cases take part" in screen_text(app))
        assert "- T-2" in screen_text(app)
        await pilot.press("A")
        await until(pilot, lambda: "2 of 2 cases take part" in screen_text(app))
        assert app.chosen_samples == {}


async def test_a_sample_is_typed_and_what_it_takes_is_counted(workspace: Path, make_app: MakeApp) -> None:
    app = make_app()
    async with opened(app, rest="300") as pilot:
        await pilot.press("j", "t")
        await until(pilot, lambda: "sample of cases.jsonl" in screen_text(app))
        await pilot.press("1", "0", "tab", "7", "f10")
        await until(pilot, lambda: "10 of 300 cases take part" in screen_text(app))
        assert app.chosen_samples == {workspace / "data" / "cases.jsonl": {"limit": 10, "seed": 7}}


async def test_looking_through_a_large_file_can_be_stopped(
    tmp_path: Path, make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_cases(tmp_path / "large.jsonl", 2000)
    begun, released = threading.Event(), threading.Event()
    real = reading.survey

    def slow(path: Path, settings: dict[str, Any], sample: dict[str, Any], watcher: Progress) -> Any:
        def waiting(read: int) -> None:
            begun.set()
            released.wait(5)
            watcher(read)

        return real(path, settings, sample, waiting)

    monkeypatch.setattr(reading, "survey", slow)
    monkeypatch.setattr("tui_eval.tui.screens.datasets.CHECKED_AT_ONCE", 0)
    app = make_app()
    async with opened(app, rest="2,000") as pilot:
        await pilot.press("c")
        await until(pilot, begun.is_set)
        await until(pilot, lambda: "checking" in screen_text(app))
        await pilot.press("x")
        released.set()
        await until(pilot, lambda: "checking" not in screen_text(app))
        assert not app.dataset_shelf.surveys


async def test_a_file_that_changed_is_read_again_on_r(workspace: Path, make_app: MakeApp) -> None:
    app = make_app()
    async with opened(app, rest="300") as pilot:
        write_cases(workspace / "data" / "cases.jsonl", 20, extra=1)
        await pilot.press("j", "r")
        await until(pilot, lambda: "id, question, extra" in screen_text(app) and "Rows 20" in screen_text(app))


async def test_an_empty_workspace_says_what_to_do(make_app: MakeApp) -> None:
    app = make_app()
    async with opened(app, rest="No datasets in"):
        assert "JSON lines" in screen_text(app)


@pytest.mark.parametrize("size", [(60, 18), (80, 24)])
async def test_every_panel_is_reached_at_any_size(workspace: Path, make_app: MakeApp, size: tuple[int, int]) -> None:
    app = make_app()
    async with opened(app, size, rest="300") as pilot:
        for number, name in enumerate(DatasetsScreen.NAMES, 1):
            await pilot.press(str(number))
            await pilot.pause()
            assert app.focused is app.screen.query_one(f"#{name}"), name
            assert app.focused.region.height > 2


async def test_whatever_stands_in_cases_is_shown_as_it_is(tmp_path: Path, make_app: MakeApp) -> None:
    texts = [text.encode("utf-8", "backslashreplace").decode() for text in (*MARKUP, *COMMANDS)]
    with (tmp_path / "[b]x[b.jsonl").open("w") as file:
        for number, text in enumerate(texts):
            file.write(json.dumps({"id": f"{number} [/b]", text: text, "x": [text]}) + "\n")
    app = make_app()
    async with opened(app, rest="✓ none") as pilot:
        for keys in (["enter"], ["l"], ["l"], ["G"], ["enter"], ["escape", "space", "3"], ["4"]):
            await pilot.press(*keys)
            await pilot.pause()
            assert "\x1b" not in screen_text(app)
            assert "\u202e" not in screen_text(app)
        assert screen_text(app)
