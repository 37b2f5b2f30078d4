"""A history file in a bad state is told, and left exactly as it is."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.store.conftest import PlainUser
from tests.store.files import contents, sound_history
from tests.store.records import finished, planned, reading
from tui_eval.errors import HistoryError
from tui_eval.store.opening import check_integrity, open_for_writing, open_read_only
from tui_eval.store.writer import HistoryWriter

STATES = "43-history-db-states"


def copied(cases: Path, name: str, folder: Path) -> Path:
    path = folder / "history.db"
    shutil.copy(cases / STATES / name, path)
    return path


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("garbage.db", ["damaged", "move it aside", "export", "--history"]),
        ("truncated.db", ["damaged", "move it aside", "export", "--history"]),
        ("page-damaged.db", ["damaged", "move it aside", "export", "--history"]),
        ("newer.db", ["newer version", "(9999)", "--history"]),
        ("other-app.db", ["another program", "--history"]),
    ],
)
@pytest.mark.parametrize("opening", [open_for_writing, open_read_only])
def test_what_is_no_sound_history_of_ours_is_told_and_not_touched(
    cases: Path, tmp_path: Path, name: str, words: list[str], opening: Callable[[Path], object]
) -> None:
    path = copied(cases, name, tmp_path)
    before = contents(tmp_path)
    with pytest.raises(HistoryError) as caught:
        opening(path)
    for word in [str(path), *words]:
        assert word in str(caught.value)
    assert contents(tmp_path) == before


async def test_a_writer_that_cannot_begin_leaves_no_thread_behind(cases: Path, tmp_path: Path) -> None:
    path = copied(cases, "garbage.db", tmp_path)
    with pytest.raises(HistoryError, match="damaged"):
        await HistoryWriter.open(path)
    async with asyncio.timeout(5):
        while any("_connection_worker_thread" in thread.name for thread in threading.enumerate()):
            await asyncio.sleep(0.01)


async def test_an_empty_file_is_a_new_history(cases: Path, tmp_path: Path) -> None:
    path = copied(cases, "zero.db", tmp_path)
    assert open_read_only(path) is None
    with reading(path) as history:
        assert history.runs() == []
        async with await HistoryWriter.open(path) as writer:
            await planned(writer, 1)
            assert history.changed()
            assert len(history.runs()) == 1
    assert path.stat().st_mode & 0o777 == 0o600
    assert check_integrity(path) == []


def other_app_in_wal_mode(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE bookmarks (url TEXT)")


def other_app_with_an_id(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA application_id = 77")
        connection.execute("CREATE TABLE runs (id TEXT)")
        connection.execute("PRAGMA user_version = 9")


def other_app_with_versions(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE places (url TEXT)")
        connection.execute("PRAGMA user_version = 52")


def ours_of_tomorrow(path: Path) -> None:
    sound_history(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 12")


def a_few_bytes(path: Path) -> None:
    path.write_bytes(b"SQLi")


def only_a_header(path: Path) -> None:
    path.write_bytes(b"SQLite format 3\x00" + bytes(20))


def a_text_in_utf_16(path: Path) -> None:
    path.write_text("notes\n" * 50, encoding="utf-16")


def ours_cut_off(path: Path) -> None:
    sound_history(path, 50)
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)


def ours_with_a_broken_page(path: Path) -> None:
    sound_history(path, 50)
    with path.open("r+b") as file:
        file.seek(4096 * 10)
        file.write(b"\xff" * 4096)


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (other_app_in_wal_mode, "another program"),
        (other_app_with_an_id, "another program"),
        (other_app_with_versions, "another program"),
        (ours_of_tomorrow, "newer version"),
        (a_few_bytes, "damaged"),
        (only_a_header, "damaged"),
        (a_text_in_utf_16, "damaged"),
        (ours_cut_off, "damaged"),
        (ours_with_a_broken_page, "damaged"),
    ],
)
def test_nothing_is_written_into_or_beside_such_a_file(tmp_path: Path, make: Callable[[Path], None], word: str) -> None:
    path = tmp_path / "history.db"
    make(path)
    before = path.read_bytes()
    with pytest.raises(HistoryError, match=word):
        open_for_writing(path)
    assert path.read_bytes() == before
    if "another" in word or "newer" in word:
        assert [file.name for file in tmp_path.iterdir()] == ["history.db"]


def test_what_is_no_file_is_told(tmp_path: Path) -> None:
    folder, pipe, link = tmp_path / "folder", tmp_path / "pipe", tmp_path / "link"
    folder.mkdir()
    os.mkfifo(pipe)
    link.symlink_to(tmp_path / "gone.db")
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    for place, word in ((folder, "folder"), (pipe, "not a regular file"), (link, "gone.db"), (loop, "cannot be used")):
        for opening in (open_for_writing, open_read_only):
            with pytest.raises(HistoryError, match=word):
                opening(place)
    assert not (tmp_path / "gone.db").exists()


def test_a_link_to_a_history_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "history.db").symlink_to(tmp_path / "real" / "there.db")
    (tmp_path / "real" / "there.db").touch()
    sound_history(tmp_path / "history.db", 1)
    assert (tmp_path / "history.db").is_symlink()
    with reading(tmp_path / "real" / "there.db") as history:
        assert len(history.runs()) == 1


@pytest.mark.parametrize("name", ["a?mode=ro.db", "a#b.db", "100%41.db", "评测 1.db", ":memory:", "-x.db", "\udcff.db"])
def test_a_name_has_no_meaning_of_its_own(tmp_path: Path, name: str) -> None:
    sound_history(tmp_path / name, 1)
    assert (tmp_path / name).stat().st_size
    with reading(tmp_path / name) as history:
        assert len(history.runs()) == 1


def test_a_log_without_its_history_is_not_thrown_away(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    path.touch()
    (tmp_path / "history.db-wal").write_bytes(b"results")
    for opening in (open_for_writing, open_read_only):
        with pytest.raises(HistoryError, match=r"history\.db-wal"):
            opening(path)
        path.unlink(missing_ok=True)
    assert (tmp_path / "history.db-wal").read_bytes() == b"results"


async def test_damage_found_while_reading_is_told_and_the_rest_can_still_be_read(path: Path) -> None:
    async with await HistoryWriter.open(path) as writer:
        run, request = await planned(writer, 300)
        for number in range(300):
            writer.finished(finished(number + 1, request))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        (root,) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'scores'").fetchone()
    with path.open("r+b") as file:
        file.seek(4096 * (root - 1))
        file.write(b"\x07" * 4096)
    with reading(path) as history:
        assert len(history.tasks(run, limit=500)) == 300
        assert history.attempts(1, payloads=True)[0].payload is not None
        with pytest.raises(HistoryError, match="damaged"):
            history.scores(1)
    assert check_integrity(path) != []
    with pytest.raises(HistoryError, match="damaged"):
        await HistoryWriter.open(path)


@pytest.mark.parametrize(("table", "column"), [("runs", "state"), ("requests", "state"), ("tasks", "outcome")])
async def test_a_stored_word_that_is_not_known_is_told_as_damage(path: Path, table: str, column: str) -> None:
    async with await HistoryWriter.open(path) as writer:
        run, request = await planned(writer, 1)
        writer.finished(finished(1, request))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute(f"UPDATE {table} SET {column} = 'strange'")
    with reading(path) as history:
        reads = {"runs": history.runs, "requests": lambda: history.requests(run), "tasks": lambda: history.tasks(run)}
        with pytest.raises(HistoryError, match=r"damaged \(.*'strange' is no "):
            reads[table]()


def test_a_lock_of_another_program_is_waited_for_then_told(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    sound_history(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        other.execute("CREATE TABLE x (y)")
        for opening in (open_for_writing, open_read_only):
            with pytest.raises(HistoryError, match="locked by another program"):
                opening(path, busy_seconds=0.05)


def test_a_place_without_shared_memory_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "history.db"
    sound_history(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")

    real = sqlite3.connect

    class WithoutWal(sqlite3.Connection):
        def execute(self, sql: str, *values: object) -> sqlite3.Cursor:
            return super().execute("PRAGMA journal_mode = DELETE" if "WAL" in sql else sql, *values)  # type: ignore[arg-type]

    monkeypatch.setattr(sqlite3, "connect", lambda *args, **options: real(*args, **options, factory=WithoutWal))
    with pytest.raises(HistoryError, match="local folder"):
        open_for_writing(path)


def test_a_folder_that_cannot_be_written_is_told_and_the_history_in_it_can_be_read(
    open_folder: Path, as_plain_user: PlainUser
) -> None:
    path = open_folder / "history.db"
    sound_history(path, 3)
    path.chmod(0o444)
    open_folder.chmod(0o555)
    code = f"""
from pathlib import Path
from tui_eval.errors import HistoryError
from tui_eval.store.reader import History
from tui_eval.store.opening import open_for_writing
with History(Path({str(path)!r})) as history:
    print(len(history.runs()), history.changed(), history.changed())
for name in ("history.db", "new.db"):
    try:
        open_for_writing(Path({str(open_folder)!r}, name))
    except HistoryError as error:
        print(error)
"""
    done = as_plain_user(code)
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[0] == "3 True False"
    assert "history.db: the history cannot be written" in lines[1]
    assert "new.db: the history cannot be made" in lines[2]


def test_results_in_a_log_that_cannot_be_read_are_not_left_out_in_silence(
    open_folder: Path, as_plain_user: PlainUser
) -> None:
    source = open_folder / "source.db"
    connection = open_for_writing(source)
    connection.execute("INSERT INTO payloads (codec, data) VALUES (0, x'00')")
    for ending in ("", "-wal"):
        shutil.copy(f"{source}{ending}", open_folder / f"history.db{ending}")
        (open_folder / f"history.db{ending}").chmod(0o444)
    connection.close()
    open_folder.chmod(0o555)
    done = as_plain_user(f"""
from pathlib import Path
from tui_eval.errors import HistoryError
from tui_eval.store.reader import History
try:
    History(Path({str(open_folder / "history.db")!r}))
except HistoryError as error:
    print(error)
""")
    assert "history.db-wal beside it holds results" in done.stdout, done.stderr


def test_a_history_of_someone_else_is_told(open_folder: Path, as_plain_user: PlainUser) -> None:
    path = open_folder / "history.db"
    sound_history(path)
    path.chmod(0o000)
    done = as_plain_user(f"""
from pathlib import Path
from tui_eval.errors import HistoryError
from tui_eval.store.opening import open_for_writing, open_read_only
for opening in (open_for_writing, open_read_only):
    try:
        opening(Path({str(path)!r}))
    except HistoryError as error:
        print(error)
""")
    assert done.stdout.count(f"{path}: the history cannot be used: Permission denied") == 2, done.stderr
