"""What kind of disk the history would lie on. SQLite's log (WAL) needs memory that all its users share: one machine."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from tui_eval.errors import HistoryError

ALLOW = "TUI_EVAL_NETWORK_HISTORY"
"""Environment variable: ``1`` says that only this machine uses a history on a network disk."""

MOUNTS = Path("/proc/self/mountinfo")
# Disks that other machines may have mounted too. Not 9p and virtiofs: with these, containers see their own machine.
_KERNEL = "nfs nfs4 cifs smb3 smbfs ncpfs afs davfs ceph glusterfs lustre gpfs beegfs"
_IN_PROGRAMS = "sshfs glusterfs s3fs gcsfuse rclone goofys ceph juicefs"
_NETWORK = frozenset([*_KERNEL.split(), *(f"fuse.{name}" for name in _IN_PROGRAMS.split())])


def network_disk(path: Path) -> str:
    """The type of the network disk (``nfs4``) that ``path``, or the nearest folder above it that is there, lies on.

    "" for a local disk, and where the system does not tell (there is no ``/proc``).
    """
    try:
        table = MOUNTS.read_bytes().decode("utf-8", "surrogateescape")
    except OSError:
        return ""
    place = Path(os.path.realpath(path))
    found, longest = "", -1
    for line in table.splitlines():
        mounted_at, kind = _mount(line)
        # Of several at one place, the last one covers the others.
        if mounted_at is not None and place.is_relative_to(mounted_at) and len(mounted_at.parts) >= longest:
            found, longest = kind, len(mounted_at.parts)
    return found if found in _NETWORK else ""


def unsafe_disk(path: Path, environment: Mapping[str, str] = os.environ) -> str:
    """As :func:`network_disk`; "" also when :data:`ALLOW` is ``1``."""
    return "" if environment.get(ALLOW) == "1" else network_disk(path)


def refuse_network_disk(path: Path) -> None:
    """Raise HistoryError when ``path`` lies on a network disk, unless :data:`ALLOW` is ``1``.

    Two machines that use one history in WAL mode destroy it: https://www.sqlite.org/wal.html, section 2.
    """
    if kind := unsafe_disk(path):
        raise HistoryError(
            f"{path}: this is a network disk ({kind}), where several machines could destroy the history: SQLite's log "
            f"needs memory that they do not share. Use a local folder, with --history or TUI_EVAL_HISTORY. If only this "
            f"machine ever uses it, set {ALLOW}=1."
        )


def _mount(line: str) -> tuple[Path | None, str]:
    """Place and type of one line of mountinfo (proc(5)): ``36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 …``."""
    left, _, right = line.partition(" - ")
    fields, more = left.split(" "), right.split(" ")
    if len(fields) < 5 or not more[0]:
        return None, ""
    place = fields[4]
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        place = place.replace(code, character)
    return Path(place), more[0]
