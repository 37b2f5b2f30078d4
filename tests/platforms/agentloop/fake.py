"""A platform to talk to: AgentLoop's OpenAPI, its log service and an agent on one port of 127.0.0.1.

Signatures are checked by code of its own (not the product's). It keeps what it was told: ``records``, ``stores``.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

KEY, SECRET, PROJECT = "test-ak", "test-secret", "agentloop-demo-project"
RUNNABLE = {
    "planId": "plan-demo",
    "planName": "Demo plan",
    "description": "arithmetic",
    "experimentType": "offline",
    "datasetId": "arith_ds",
    "status": "active",
    "createdAt": 1780000000000,
    "updatedAt": 1780000000000,
}
EVALUATOR = {
    "evaluatorRef": "Builtin.agent_correctness",
    "name": "agent_correctness",
    "type": "LLM_AS_JUDGE",
    "resultName": "correctness",
    "resultType": "score",
    "variableMapping": {
        "input": "experiment_input",
        "output": "experiment_output",
        "expected_output": "dataset.expected_output",
    },
}

Answer = tuple[int, Any]
Interception = Callable[["Asked"], Answer | None]


@dataclass(slots=True)
class Asked:
    """One request: ``op`` is its name, ``verdict`` what the check of its signature said, ``body`` JSON or a log group,
    ``port`` that of the caller."""

    op: str
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any
    verdict: str
    port: int = 0


def rows(count: int) -> list[dict[str, str]]:
    return [
        {
            "id": f"item-{number:04d}",
            "input": f"What is {number} + {number}?",
            "expected_output": str(2 * number),
            "category": "math" if number % 2 else "sum",
        }
        for number in range(count)
    ]


@dataclass
class FakePlatform:
    """``intercept`` may answer instead (status, body), or wait; it is asked first. ``after`` is asked when the work is
    done: an answer of it hides the real one (as a lost answer does)."""

    rows: list[dict[str, Any]]
    url: str = ""
    plan: dict[str, Any] = field(default_factory=lambda: dict(RUNNABLE))
    evaluators: list[dict[str, Any]] = field(default_factory=lambda: [dict(EVALUATOR)])
    asked: list[Asked] = field(default_factory=list)
    records: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    stores: dict[str, list[dict[str, str]]] = field(
        default_factory=lambda: {"experiment_detail": [], "evaluation_detail": []}
    )
    token: str = ""
    judges: bool = False
    agent_seconds: float = 0.0
    page_size: int = 100
    intercept: Interception | None = None
    after: Interception | None = None
    lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def agent(self) -> str:
        return f"{self.url}/agent/json"

    def ops(self, name: str) -> list[Asked]:
        return [asked for asked in self.asked if asked.op == name]

    def details(self, record: str | None = None) -> list[dict[str, str]]:
        """The reported results, of one record or of all."""
        logs = self.stores["experiment_detail"]
        return [log for log in logs if record is None or log["experiment_id"] == record]

    def status_of(self, record: str) -> str:
        return next((change["status"] for change in reversed(self.records[record]) if "status" in change), "")

    def twice(self) -> list[tuple[str, str, str]]:
        """What was reported more than once."""
        seen = Counter((log["experiment_id"], log["task_id"], log["repeat_id"]) for log in self.details())
        return [key for key, count in seen.items() if count > 1]

    # -- what it does --

    def answer(self, asked: Asked) -> Answer:
        if asked.verdict != "ok" and not asked.op.startswith("agent"):
            return 403, {"code": "SignatureDoesNotMatch", "message": asked.verdict, "requestId": "R-SIGN"}
        if self.intercept is not None and (instead := self.intercept(asked)) is not None:
            return instead
        with nullcontext() if asked.op == "agent" else self.lock:  # agents answer side by side
            found = getattr(self, f"_{asked.op}", self._unknown)(asked)
        if self.after is not None and (instead := self.after(asked)) is not None:
            return instead
        status, body = found
        named = isinstance(body, dict) and asked.op != "agent"
        return status, {**body, "requestId": "R-1"} if named else body

    def _unknown(self, asked: Asked) -> Answer:
        return 404, {"code": "NotFound", "message": asked.path}

    def _ListAgentSpaces(self, asked: Asked) -> Answer:
        names = [f"space-{number}" for number in range(5)] + ["demo-space"]
        start = int(asked.query.get("nextToken", "0"))
        page = names[start : start + 4]
        body: dict[str, Any] = {
            "agentSpaces": [
                {"agentSpace": name, "regionId": "cn-hangzhou", "createTime": "2026-06-01T00:00:00Z"} for name in page
            ],
            "total": len(names),
        }
        if start + 4 < len(names):
            body["nextToken"] = str(start + 4)
        return 200, body

    def _GetAgentSpace(self, asked: Asked) -> Answer:
        return 200, {"agentSpace": "demo-space", "slsProject": PROJECT, "regionId": "cn-hangzhou"}

    def _ListExperimentPlans(self, asked: Asked) -> Answer:
        plans = [self.plan, {**self.plan, "planId": "plan-live", "planName": "Live", "experimentType": "online"}]
        start = int(asked.query.get("offset", "0"))
        return 200, {"plans": plans[start : start + 1], "total": len(plans), "somethingNew": {"x": 1}}

    def _GetExperimentPlan(self, asked: Asked) -> Answer:
        name = asked.path.rpartition("/")[2]
        if name == "missing":
            return 404, {"code": "PlanNotFound", "message": "no such plan"}
        kind = "online" if name == "plan-live" else self.plan["experimentType"]
        return 200, {**self.plan, "planId": name, "experimentType": kind, "evaluators": self.evaluators}

    def _UpdateExperimentPlan(self, asked: Asked) -> Answer:
        self.evaluators = asked.body.get("evaluators", self.evaluators)
        return 200, {"planId": asked.path.rpartition("/")[2]}

    def _ListDatasets(self, asked: Asked) -> Answer:
        return 200, {"datasets": [{"datasetName": "arith_ds", "createTime": "2026-06-01T00:00:00Z"}], "total": 1}

    def _GetDataset(self, asked: Asked) -> Answer:
        columns = self.rows[0] if self.rows else {"id": "", "input": ""}
        return 200, {"datasetName": "arith_ds", "schema": {name: {"type": "text", "chn": False} for name in columns}}

    def _ExecuteQuery(self, asked: Asked) -> Answer:
        sql = asked.body["query"]
        found = self.rows
        wanted = re.search(r"id IN \(([^)]*)\)", sql)
        if wanted:
            ids = {one.replace("''", "'") for one in re.findall(r"'((?:[^']|'')*)'", wanted[1])}
            found = [row for row in found if row["id"] in ids]
        elif equal := re.search(r"category = '(\w+)'", sql):
            found = [row for row in found if row["category"] == equal[1]]
        if "count(*)" in sql:
            return 200, {"columns": ["total"], "rows": [[str(len(found))]], "meta": {"progress": "Complete"}}
        limit = re.search(r"LIMIT (\d+), (\d+)", sql)
        start, most = (int(limit[1]), int(limit[2])) if limit else (0, 100)
        page = found[start : start + min(most, self.page_size)]
        columns = list(self.rows[0]) if self.rows else []
        return 200, {
            "columns": columns,
            "rows": [[row[name] for name in columns] for row in page],
            "meta": {"count": len(page), "progress": "Complete"},
        }

    def _ListEvaluators(self, asked: Asked) -> Answer:
        shown = {"name": "Builtin.agent_correctness", "type": "LLM_AS_JUDGE", "metricName": "correctness"}
        return 200, {"evaluators": [{**shown, "createdAt": 1780000000, "latestVersion": "1"}], "total": 1}

    def _GetEvaluator(self, asked: Asked) -> Answer:
        name = asked.path.rpartition("/")[2]
        if name != "Builtin.agent_correctness":
            return 404, {"code": "EvaluatorNotFound", "message": "no such evaluator"}
        variables = [{"name": one} for one in ("input", "output", "expected_output")]
        return 200, {"evaluator": {"name": name, "metricName": "correctness", "config": {"variables": variables}}}

    def _ListExperimentRuns(self, asked: Asked) -> Answer:
        page, size = int(asked.query["page"]), int(asked.query["pageSize"])
        found = [self._record(name) for name in self.records]
        return 200, {"records": found[page * size : (page + 1) * size], "total": len(found)}

    def _CreateExperimentRun(self, asked: Asked) -> Answer:
        record = f"rec-{len(self.records):04d}"
        self.records[record] = [{"status": "pending"}]
        return 200, {"recordId": record, "status": "created"}

    def _UpdateExperimentRun(self, asked: Asked) -> Answer:
        record = asked.path.rpartition("/")[2]
        self.records[record].append(asked.body)
        if self.judges and asked.body.get("status") == "completed":
            self._judge(record)
        return 200, {"recordId": record}

    def _GetExperimentRun(self, asked: Asked) -> Answer:
        return 200, {"record": self._record(asked.path.rpartition("/")[2])}

    def _record(self, name: str) -> dict[str, Any]:
        found = {"recordId": name, "experimentPlanId": "plan-demo", "planName": "Demo plan", "progress": 100}
        for change in self.records[name]:
            found.update(change)
        if self.judges and found["status"] == "completed":
            found["evaluationTaskId"] = f"evt-{name}"
        return found

    def _judge(self, record: str) -> None:
        for log in self.details(record):
            if log["status"] == "success":
                self.stores["evaluation_detail"].append(
                    {
                        "task_id": f"evt-{record}",
                        "eval_id": f"eval-{log['task_id']}",
                        "status": "success",
                        "evaluator_name": "agent_correctness",
                        "score_name": "correctness",
                        "score_value": "1" if log["dataset.expected_output"] in log["experiment_output"] else "0.25",
                        "explanation": "as judged by the platform",
                        "channel": "experiment",
                        "experiment_id": record,
                        "traceId": log["traceId"],
                    }
                )

    def _GetEvaluationTask(self, asked: Asked) -> Answer:
        record = asked.path.rpartition("/")[2].removeprefix("evt-")
        total = len(self.details(record))
        return 200, {"status": "completed", "totalCount": total, "successCount": total, "failedCount": 0}

    def _PutLogs(self, asked: Asked) -> Answer:
        store = asked.path.split("/")[2]
        self.stores[store] += [dict(log["contents"]) for log in asked.body["logs"]]
        return 200, b""

    def _GetLogs(self, asked: Asked) -> Answer:
        store = asked.path.split("/")[2]
        start, most = int(asked.query["offset"]), int(asked.query["line"])
        return 200, self.stores[store][start : start + most]

    def _agent(self, asked: Asked) -> Answer:
        time.sleep(self.agent_seconds)
        question = asked.body.get("input", "") if isinstance(asked.body, dict) else ""
        found = re.match(r"What is (\d+) \+ (\d+)", question)
        answer = str(int(found[1]) + int(found[2])) if found else "?"
        if asked.path.endswith("/sse"):
            events = "".join(f"data: {json.dumps({'output': digit})}\n\n" for digit in answer)
            return 200, (events + "data: [DONE]\n\n").encode()
        if asked.path.endswith("/broken"):
            return 500, {"error": "model overloaded"}
        return 200, {"output": answer, "usage": {"total_tokens": 7}}


_OPERATIONS = (
    ("GET", r"/agentspace", "ListAgentSpaces"),
    ("GET", r"/agentspace/[^/]+", "GetAgentSpace"),
    ("GET", r"/api/v1/experiments/[^/]+/plans", "ListExperimentPlans"),
    ("GET", r"/api/v1/experiments/[^/]+/plans/[^/]+", "GetExperimentPlan"),
    ("PUT", r"/api/v1/experiments/[^/]+/plans/[^/]+", "UpdateExperimentPlan"),
    ("GET", r"/agentspace/[^/]+/dataset", "ListDatasets"),
    ("GET", r"/agentspace/[^/]+/dataset/[^/]+", "GetDataset"),
    ("POST", r"/agentspace/[^/]+/dataset/[^/]+/query", "ExecuteQuery"),
    ("GET", r"/api/v1/evaluators", "ListEvaluators"),
    ("GET", r"/api/v1/evaluators/[^/]+/[^/]+", "GetEvaluator"),
    ("GET", r"/api/v1/experimentruns/[^/]+/records", "ListExperimentRuns"),
    ("POST", r"/api/v1/experimentruns/[^/]+/execute", "CreateExperimentRun"),
    ("PUT", r"/api/v1/experimentruns/[^/]+/records/[^/]+", "UpdateExperimentRun"),
    ("GET", r"/api/v1/experimentruns/[^/]+/records/[^/]+", "GetExperimentRun"),
    ("GET", r"/api/v1/evaluation-task/[^/]+/[^/]+", "GetEvaluationTask"),
    ("POST", r"/logstores/[^/]+/shards/lb", "PutLogs"),
    ("GET", r"/logstores/[^/]+", "GetLogs"),
    ("POST", r"/agent/\w+", "agent"),
)


def operation(method: str, path: str) -> str:
    return next(
        (name for verb, pattern, name in _OPERATIONS if verb == method and re.fullmatch(pattern, path)), "unknown"
    )


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else an answer in two pieces waits 40 ms for the other side's acknowledgement
    platform: FakePlatform

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except ConnectionError:
            self.close_connection = True

    def _serve(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        parts = urlsplit(self.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        op = operation(self.command, parts.path)
        body = _decoded(op, headers, raw)
        asked = Asked(
            op,
            self.command,
            parts.path,
            query,
            headers,
            body,
            check(self.command, parts.path, query, headers, raw, self.platform.token),
            self.client_address[1],
        )
        with self.platform.lock:
            self.platform.asked.append(asked)
        status, answer = self.platform.answer(asked)
        if status == 0:  # the connection breaks without an answer
            self.close_connection = True
            return
        kind = "text/event-stream" if asked.path.endswith("/sse") else "application/json"
        data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def do_PUT(self) -> None:
        self._serve()

    def log_message(self, *arguments: Any) -> None:
        return


def _decoded(op: str, headers: dict[str, str], raw: bytes) -> Any:
    if op == "PutLogs":
        data = zlib.decompress(raw) if headers.get("x-log-compresstype") == "deflate" else raw
        assert len(data) == int(headers["x-log-bodyrawsize"])
        return decode_log_group(data)
    return json.loads(raw) if raw else None


# -- independent checks --


def check(method: str, path: str, query: dict[str, str], headers: dict[str, str], raw: bytes, token: str) -> str:
    """``ok``, or what is wrong with the signature of a request."""
    given = headers.get("authorization", "")
    if headers.get("x-acs-security-token", "") != token:
        return "the security token is not the one expected"
    if given.startswith("ACS3-HMAC-SHA256 "):
        return _check_acs3(given, method, path, query, headers, raw)
    if given.startswith("SLS4-HMAC-SHA256 "):
        return _check_sls4(given, method, path, query, headers, raw)
    return "unsigned"


def _check_acs3(given: str, method: str, path: str, query: dict[str, str], headers: dict[str, str], raw: bytes) -> str:
    fields = dict(part.split("=", 1) for part in given.split(" ", 1)[1].split(","))
    names = fields["SignedHeaders"].split(";")
    if not {
        "host",
        "x-acs-action",
        "x-acs-date",
        "x-acs-version",
        "x-acs-content-sha256",
        "x-acs-signature-nonce",
    } <= set(names):
        return "headers that must be signed are not"
    lines = [method, path, "&".join(f"{quote(k, safe='~')}={quote(v, safe='~')}" for k, v in sorted(query.items()))]
    lines += [f"{name}:{headers[name].strip()}" for name in names]
    lines += ["", ";".join(names), hashlib.sha256(raw).hexdigest()]
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    wanted = hmac.digest(SECRET.encode(), f"ACS3-HMAC-SHA256\n{digest}".encode(), "sha256").hex()
    return "ok" if (fields["Credential"], fields["Signature"]) == (KEY, wanted) else "acs3 signature differs"


def _check_sls4(given: str, method: str, path: str, query: dict[str, str], headers: dict[str, str], raw: bytes) -> str:
    credential, signature = re.fullmatch(
        r"SLS4-HMAC-SHA256 Credential=([^,]+),Signature=([0-9a-f]{64})", given
    ).groups()  # type: ignore[union-attr]
    key, date, region, service, last = credential.split("/")
    if headers["x-log-content-sha256"] != hashlib.sha256(raw).hexdigest():
        return "the hash of the body differs"
    signed = {k: v for k, v in headers.items() if k in ("host", "content-type") or k.startswith(("x-log-", "x-acs-"))}
    lines = [method, path, "&".join(f"{quote(k, safe='~')}={quote(v, safe='~')}" for k, v in sorted(query.items()))]
    lines += [f"{name}:{signed[name].strip()}" for name in sorted(signed)]
    lines += ["", ";".join(sorted(signed)), headers["x-log-content-sha256"]]
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    text = f"SLS4-HMAC-SHA256\n{headers['x-log-date']}\n{date}/{region}/{service}/{last}\n{digest}"
    secret = b"aliyun_v4" + SECRET.encode()
    for part in (date, region, service, last):
        secret = hmac.digest(secret, part.encode(), "sha256")
    wanted = hmac.digest(secret, text.encode(), "sha256").hex()
    return "ok" if (key, signature) == (KEY, wanted) else "sls4 signature differs"


def decode_log_group(data: bytes) -> dict[str, Any]:
    group: dict[str, Any] = {"logs": []}
    for number, value in _fields(data):
        if number == 1:
            log: dict[str, Any] = {"contents": []}
            for inner, part in _fields(value):
                if inner == 1:
                    log["time"] = part
                else:
                    pair = dict(_fields(part))
                    log["contents"].append([pair[1].decode(), pair.get(2, b"").decode()])
            group["logs"].append(log)
        else:
            group[{3: "topic", 4: "source"}[number]] = value.decode()
    return group


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    place = 0

    def varint() -> int:
        nonlocal place
        shift = result = 0
        while True:
            byte = data[place]
            place += 1
            result |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return result

    while place < len(data):
        tag = varint()
        if tag & 7 == 0:
            yield tag >> 3, varint()
        else:
            length = varint()
            yield tag >> 3, data[place : place + length]
            place += length


@contextmanager
def platform(count: int = 4, **settings: Any) -> Iterator[FakePlatform]:
    """A platform with ``count`` rows that lives as long as this is entered."""
    fake = FakePlatform(rows(count), **settings)
    handler = type("Handler", (_Handler,), {"platform": fake})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        fake.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield fake
        finally:
            server.shutdown()
            thread.join()
