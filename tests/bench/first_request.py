"""CPU of `tui-eval run` from its start to the moment its first request arrives, read from the process itself."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path


def cpu_to_first_request() -> float:
    """User + system seconds, of the process tree's first process."""
    seen: list[float] = []
    started = threading.Event()
    process: subprocess.Popen[bytes] | None = None

    class Agent(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            started.wait(10)
            assert process is not None
            seen.append(_cpu_of(process.pid))
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", "15")
            self.end_headers()
            self.wfile.write(b'{"output": "a"}')

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing."""

    with tempfile.TemporaryDirectory() as folder, HTTPServer(("127.0.0.1", 0), Agent) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        plan = Path(folder) / "plan.yaml"
        plan.write_text(
            f"""
version: 1
name: first
requests:
  - name: one
    dataset: {{cases: [{{id: a, question: q}}]}}
    solution: {{type: http, url: "http://127.0.0.1:{server.server_port}/", body: {{q: "{{{{ question }}}}"}}, output_extractor: output}}
    evaluators: [{{id: exact, expected: a}}]
"""
        )
        history = Path(folder) / "history.db"
        command = [sys.executable, "-m", "tui_eval", "run", str(plan), "--history", str(history), "--progress", "none"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        started.set()
        assert process.wait(60) == 0
        server.shutdown()
    return seen[0]


def _cpu_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
