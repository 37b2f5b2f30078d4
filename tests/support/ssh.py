"""A real sshd on the loopback interface, with keys and settings of its own, and the client that connects to it."""

from __future__ import annotations

import getpass
import os
import shlex
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.pty import ROOT

CONFIG = """
ListenAddress 127.0.0.1:{port}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/user_key.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
PubkeyAuthentication yes
PermitRootLogin yes
PrintMotd no
PrintLastLog no
"""


@dataclass(frozen=True, slots=True)
class Server:
    """``command`` gives the argv of a client that runs a program there, in a terminal."""

    port: int
    folder: Path

    def command(self, program: Sequence[str], environment: Mapping[str, str], *, terminal: bool = True) -> list[str]:
        assignments = [f"{name}={value}" for name, value in environment.items()]
        remote = shlex.join(["env", f"PYTHONPATH={ROOT}", *assignments, *program])
        options = ["BatchMode=yes", "IdentitiesOnly=yes", "LogLevel=ERROR", "StrictHostKeyChecking=no"]
        options += [f"UserKnownHostsFile={self.folder}/known_hosts", "ControlMaster=no", "ControlPath=none"]
        return [
            "ssh",
            *(["-tt"] if terminal else []),
            *("-F", "/dev/null", "-i", f"{self.folder}/user_key", "-p", str(self.port)),
            *(part for option in options for part in ("-o", option)),
            f"{getpass.getuser()}@127.0.0.1",
            f"exec {remote}",
        ]


def _program(name: str) -> str:
    """The path of a program of OpenSSH; without it the test is skipped, in CI it fails."""
    found = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if found is None:
        assert not os.environ.get("CI"), f"{name} is missing: install openssh-server and openssh-client"
        pytest.skip(f"{name} is not installed")
    return found


@contextmanager
def ssh_server(folder: Path) -> Iterator[Server]:
    """An sshd that this user can log in to, until the end of the block. Its sessions end with it."""
    program, keygen = _program("sshd"), _program("ssh-keygen")
    _program("ssh")
    folder.mkdir(mode=0o700)
    for name in ("host_key", "user_key"):
        subprocess.run([keygen, "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # where it locks itself in; packages make it at boot
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "config").write_text(CONFIG.format(port=port, folder=folder))
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen(
            [program, "-D", "-e", "-f", str(folder / "config")], stderr=log, stdin=subprocess.DEVNULL
        )
    try:
        _wait_until_it_listens(port, process, folder / "log")
        yield Server(port, folder)
    finally:
        process.terminate()
        process.wait(timeout=10)


def _wait_until_it_listens(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + 10
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.05)
