"""A tiny OpenAI-compatible chat server on a free loopback port, in a process of its own.

What the last message holds decides: ``FAIL500`` and ``FAIL400`` answer with that status, ``EMPTY`` with no text,
``SLOW<ms>`` waits. ``GET /stats`` counts the calls.
"""

from __future__ import annotations

import json
import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ASKED: list[str] = []


class Model(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self._send(200, {"asked": ASKED})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        text = str(body["messages"][-1]["content"])
        ASKED.append(text)
        if slow := re.search(r"SLOW(\d+)", text):
            time.sleep(int(slow.group(1)) / 1000)
        for status in (500, 400):
            if f"FAIL{status}" in text:
                self._send(status, {"error": {"message": f"status {status} as asked", "type": "error"}})
                return
        answer = "" if "EMPTY" in text else f"ok: {text}"
        message = {"role": "assistant", "content": answer}
        usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        self._send(
            200,
            {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage},
        )

    def _send(self, status: int, data: object) -> None:
        raw = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Nothing on standard error."""


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    print(server.server_address[1], flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()  # until whoever started it closes it
