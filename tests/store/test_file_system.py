"""A history on a disk that other machines share is refused: SQLite's log would let them destroy it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.store.files import contents, sound_history
from tui_eval.errors import HistoryError
from tui_eval.store import file_system
from tui_eval.store.file_system import ALLOW, network_disk
from tui_eval.store.opening import check_integrity, open_for_writing, open_read_only
from tui_eval.store.reader import History

LOCAL = "22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n"


@pytest.fixture
def mounts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table of mounts that a test may write."""
    table = tmp_path / "mountinfo"
    table.write_text(LOCAL)
    monkeypatch.setattr(file_system, "MOUNTS", table)
    return table


def mount(table: Path, place: str | Path, kind: str) -> None:
    with table.open("a") as file:
        file.write(f"40 22 0:50 / {place} rw,relatime shared:1 master:2 - {kind} server:/export rw,vers=4.2\n")


def test_the_nearest_mount_decides(tmp_path: Path, mounts: Path) -> None:
    (tmp_path / "shared" / "local").mkdir(parents=True)
    mount(mounts, tmp_path / "shared", "nfs4")
    mount(mounts, tmp_path / "shared" / "local", "tmpfs")
    assert network_disk(tmp_path / "history.db") == ""
    assert network_disk(tmp_path / "shared" / "new" / "history.db") == "nfs4"
    assert network_disk(tmp_path / "shared" / "local" / "history.db") == ""
    assert network_disk(tmp_path / "sharedness" / "history.db") == ""
    mount(mounts, tmp_path / "shared" / "local", "cifs")
    assert network_disk(tmp_path / "shared" / "local" / "history.db") == "cifs", "the later mount covers the earlier"
    (tmp_path / "link").symlink_to(tmp_path / "shared")
    assert network_disk(tmp_path / "link" / "history.db") == "nfs4"


def test_a_place_with_a_blank_in_its_name_is_found(mounts: Path) -> None:
    mount(mounts, r"/media/my\040disk\134x", "fuse.sshfs")
    assert network_disk(Path("/media/my disk\\x/history.db")) == "fuse.sshfs"


@pytest.mark.parametrize("kind", ["ext4", "btrfs", "tmpfs", "overlay", "9p", "virtiofs", "zfs", "fuseblk", "nfsd"])
def test_local_disks_and_those_of_containers_are_fine(tmp_path: Path, mounts: Path, kind: str) -> None:
    mount(mounts, tmp_path, kind)
    open_for_writing(tmp_path / "history.db").close()


def test_nothing_is_made_on_a_network_disk_and_it_is_said_what_to_do(tmp_path: Path, mounts: Path) -> None:
    place = tmp_path / "shared" / "history.db"
    place.parent.mkdir()
    mount(mounts, place.parent, "nfs4")
    with pytest.raises(HistoryError, match=r"network disk \(nfs4\).*local folder.*--history") as caught:
        open_for_writing(place)
    assert ALLOW in str(caught.value)
    assert contents(place.parent) == {}


def test_a_history_that_nobody_writes_can_be_read_there(tmp_path: Path, mounts: Path) -> None:
    place = tmp_path / "shared" / "history.db"
    place.parent.mkdir()
    sound_history(place, 3)
    before = contents(place.parent)
    mount(mounts, place.parent, "smb3")
    with History(place) as history:
        assert len(history.runs()) == 3
    assert contents(place.parent) == before
    place.with_name("history.db-wal").write_bytes(b"log")
    with pytest.raises(HistoryError, match="smb3"):
        open_read_only(place)


def test_a_user_who_knows_better_may_use_it(tmp_path: Path, mounts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mount(mounts, tmp_path, "nfs")
    monkeypatch.setenv(ALLOW, "1")
    sound_history(tmp_path / "history.db", 1)
    assert check_integrity(tmp_path / "history.db") == []


def test_a_system_that_tells_nothing_is_trusted(tmp_path: Path, mounts: Path) -> None:
    mounts.unlink()
    assert network_disk(tmp_path / "history.db") == ""


@given(table=st.binary(max_size=300))
def test_any_table_of_mounts_can_be_read(tmp_path_factory: pytest.TempPathFactory, table: bytes) -> None:
    place = tmp_path_factory.getbasetemp() / "any-mountinfo"
    place.write_bytes(table)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_system, "MOUNTS", place)
        assert isinstance(network_disk(place), str)
