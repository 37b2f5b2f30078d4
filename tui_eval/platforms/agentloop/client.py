"""The operations of AgentLoop that this program uses (contract, section 5), with its four ways of paging hidden."""

from __future__ import annotations

import json
import zlib
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from tui_eval.errors import PlatformError, Resend
from tui_eval.platforms.agentloop.calls import TRIES, Caller
from tui_eval.platforms.agentloop.loggroup import log_group
from tui_eval.platforms.agentloop.nouns import (
    EvaluationProgress,
    ExperimentRun,
    PlatformDataset,
    PlatformEvaluator,
    PlatformPlan,
    Space,
    listed,
    number,
    text,
)
from tui_eval.platforms.agentloop.signing import encoded

DETAIL_STORE = "experiment_detail"
SCORES_STORE = "evaluation_detail"
_PAGE = 100
_MOST_PAGES = 1000  # a platform that never says "the end" must not keep us for ever
_PUT_SECONDS = 60.0


class AgentLoop:
    """The platform as seen from one agent space (``""``: only :meth:`spaces` works). Every method raises PlatformError."""

    def __init__(self, caller: Caller, space: str) -> None:
        self.caller = caller
        self.space = space
        self._name = encoded(space)

    async def aclose(self) -> None:
        await self.caller.aclose()

    # -- to pick from --

    async def spaces(self) -> list[Space]:
        found = self._by_token("ListAgentSpaces", "/agentspace", "agentSpaces", {})
        return [Space.of(data) async for data in found]

    async def get_space(self) -> Space:
        return Space.of(await self.caller.openapi("GetAgentSpace", "GET", f"/agentspace/{self._name}"))

    async def plans(self, name: str = "") -> list[PlatformPlan]:
        """Plans of the calling account, newest first, without their evaluators and selected rows."""
        query = {"planName": name} if name else {}
        found = self._by_offset("ListExperimentPlans", f"/api/v1/experiments/{self._name}/plans", "plans", query)
        return [PlatformPlan.of(data) async for data in found]

    async def plan(self, plan_id: str) -> PlatformPlan:
        path = f"/api/v1/experiments/{self._name}/plans/{encoded(plan_id)}"
        return PlatformPlan.of(await self.caller.openapi("GetExperimentPlan", "GET", path))

    async def update_plan(self, plan_id: str, changes: Mapping[str, Any]) -> None:
        path = f"/api/v1/experiments/{self._name}/plans/{encoded(plan_id)}"
        await self.caller.openapi("UpdateExperimentPlan", "PUT", path, body=changes)

    async def datasets(self) -> list[PlatformDataset]:
        found = self._by_token("ListDatasets", f"/agentspace/{self._name}/dataset", "datasets", {})
        return [PlatformDataset.of(data) async for data in found]

    async def dataset(self, name: str) -> PlatformDataset:
        path = f"/agentspace/{self._name}/dataset/{encoded(name)}"
        return PlatformDataset.of(await self.caller.openapi("GetDataset", "GET", path))

    async def query(self, dataset: str, sql: str) -> list[dict[str, Any]]:
        """The rows of one query, each a mapping of columns. Raises PlatformError for an answer that is not whole."""
        path = f"/agentspace/{self._name}/dataset/{encoded(dataset)}/query"
        answer = await self.caller.openapi("ExecuteQuery", "POST", path, body={"type": "SQL", "query": sql}, seconds=60)
        meta = answer.get("meta") if isinstance(answer.get("meta"), dict) else {}
        assert isinstance(meta, dict)
        truncation = meta.get("truncation")
        cut = isinstance(truncation, dict) and truncation.get("truncated") is True
        progress = text(meta, "progress")
        if cut or progress.lower() not in ("", "complete"):
            why = "cut off" if cut else f"progress: {progress}"
            raise PlatformError(f"ExecuteQuery: the platform gave only a part of the rows ({why})")
        columns = [str(name) for name in listed(answer, "columns")]
        rows = []
        for row in listed(answer, "rows"):
            if isinstance(row, dict):
                rows.append(row)
            elif isinstance(row, list) and len(row) == len(columns):
                rows.append(dict(zip(columns, row, strict=True)))
            else:
                raise PlatformError("ExecuteQuery: a row does not fit the columns of the answer")
        return rows

    async def evaluators(self) -> list[PlatformEvaluator]:
        query = {"agentSpace": self.space}
        found = self._by_token("ListEvaluators", "/api/v1/evaluators", "evaluators", query)
        return [PlatformEvaluator.of(data) async for data in found]

    async def evaluator(self, name: str) -> PlatformEvaluator:
        answer = await self.caller.openapi("GetEvaluator", "GET", f"/api/v1/evaluators/{self._name}/{encoded(name)}")
        inner = answer.get("evaluator")
        return PlatformEvaluator.of(inner if isinstance(inner, dict) else answer)

    async def runs(self, plan_name: str = "", status: str = "", limit: int = 100) -> list[ExperimentRun]:
        query = {key: value for key, value in (("planName", plan_name), ("status", status)) if value}
        found = self._by_page("ListExperimentRuns", f"{self._records}", "records", query)
        runs = []
        async for data in found:
            runs.append(ExperimentRun.of(data))
            if len(runs) >= limit:
                break
        return runs

    # -- a record --

    @property
    def _records(self) -> str:
        return f"/api/v1/experimentruns/{self._name}/records"

    async def create_run(self, plan_id: str, group: str, *, tries: int = TRIES, seconds: float = 20.0) -> str:
        """A new record; its id. Tried again only when it was certainly not made."""
        body = {"experimentPlanId": plan_id, "offlineExperiments": [{"name": group, "label": group}]}
        path = f"/api/v1/experimentruns/{self._name}/execute"
        answer = await self.caller.openapi(
            "CreateExperimentRun", "POST", path, body=body, repeatable=False, tries=tries, seconds=seconds
        )
        record = text(answer, "recordId")
        if not record:
            raise PlatformError("CreateExperimentRun: the answer has no recordId", resend=Resend.MAYBE_RECEIVED)
        return record

    async def update_run(self, record: str, changes: Mapping[str, Any], *, tries: int = TRIES) -> None:
        path = f"{self._records}/{encoded(record)}"
        await self.caller.openapi("UpdateExperimentRun", "PUT", path, body=changes, tries=tries)

    async def run(self, record: str) -> ExperimentRun:
        answer = await self.caller.openapi("GetExperimentRun", "GET", f"{self._records}/{encoded(record)}")
        inner = answer.get("record")
        return ExperimentRun.of(inner if isinstance(inner, dict) else answer)

    async def evaluation(self, task: str) -> EvaluationProgress:
        path = f"/api/v1/evaluation-task/{self._name}/{encoded(task)}"
        answer = await self.caller.openapi("GetEvaluationTask", "GET", path)
        for name in ("evaluationTask", "task"):
            inner = answer.get(name)
            if isinstance(inner, dict):
                answer = inner
        return EvaluationProgress.of(answer)

    # -- logs --

    async def put_logs(self, project: str, store: str, logs: Sequence[bytes]) -> None:
        """Append encoded logs in one call, which is never repeated here: the caller knows what was taken in."""
        raw = log_group(logs, source="tui_eval")
        content = zlib.compress(raw, 6)
        headers = {
            "content-type": "application/x-protobuf",
            "x-log-bodyrawsize": str(len(raw)),
            "x-log-compresstype": "deflate",
        }
        path = f"/logstores/{encoded(store)}/shards/lb"
        await self.caller.logs(
            "PutLogs",
            "POST",
            project,
            path,
            content=content,
            headers=headers,
            tries=1,
            seconds=_PUT_SECONDS,
            repeatable=False,
        )

    async def get_logs(
        self, project: str, store: str, query: str, since: float, until: float
    ) -> AsyncIterator[dict[str, Any]]:
        """Every log that ``query`` finds between two times (seconds since the epoch)."""
        offset = 0
        for _ in range(_MOST_PAGES):
            parts = {
                "type": "log",
                "from": str(int(since)),
                "to": str(int(until) + 1),
                "query": query,
                "line": str(_PAGE),
                "offset": str(offset),
                "reverse": "false",
            }
            path = f"/logstores/{encoded(store)}"
            reply = await self.caller.logs("GetLogs", "GET", project, path, query=parts)
            if reply.headers.get("x-log-progress", "Complete").lower() != "complete":
                raise PlatformError("GetLogs: the search is not complete yet", resend=Resend.REJECTED)
            answer = reply.json("GetLogs")
            page = answer if isinstance(answer, list) else listed(answer, "data") or listed(answer, "logs")
            for log in page:
                if isinstance(log, dict):
                    yield log
            offset += len(page)
            if len(page) < _PAGE:
                return

    # -- paging --

    async def _by_token(
        self, action: str, path: str, items: str, query: Mapping[str, str]
    ) -> AsyncIterator[dict[str, Any]]:
        token, seen = "", set[str]()
        while True:
            parts = {**query, "maxResults": str(_PAGE), **({"nextToken": token} if token else {})}
            answer = await self.caller.openapi(action, "GET", path, query=parts)
            for data in _items(answer, items):
                yield data
            token = text(answer, "nextToken")
            if not token:
                return
            if token in seen:
                raise PlatformError(f"{action}: the platform gives the same page again and again")
            seen.add(token)

    async def _by_offset(
        self, action: str, path: str, items: str, query: Mapping[str, str]
    ) -> AsyncIterator[dict[str, Any]]:
        async for data in self._counted(
            action, path, items, query, lambda count, page: {"offset": str(count)}, "limit"
        ):
            yield data

    async def _by_page(
        self, action: str, path: str, items: str, query: Mapping[str, str]
    ) -> AsyncIterator[dict[str, Any]]:
        async for data in self._counted(
            action, path, items, query, lambda count, page: {"page": str(page)}, "pageSize"
        ):
            yield data

    async def _counted(
        self, action: str, path: str, items: str, query: Mapping[str, str], place: Any, size: str
    ) -> AsyncIterator[dict[str, Any]]:
        """Pages by number or offset: to the total that the platform names, else to an empty page."""
        count = 0
        first = ""
        for page in range(_MOST_PAGES):
            answer = await self.caller.openapi(
                action, "GET", path, query={**query, **place(count, page), size: str(_PAGE)}
            )
            found = _items(answer, items)
            # A platform that does not know our way of paging gives the first page again.
            if page and found and json.dumps(found[0], sort_keys=True) == first:
                return
            if not page and found:
                first = json.dumps(found[0], sort_keys=True)
            for data in found:
                yield data
            count += len(found)
            total = number(answer, "total")
            if not found or (total is not None and count >= total):
                return


def _items(answer: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    return [data for data in listed(answer, name) if isinstance(data, dict)]
