"""The evals API of the platform (Datalayer contract, sections 3 and 3c), as far as it is used here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tui_eval.domain import JsonValue
from tui_eval.errors import PlatformError, UsageError
from tui_eval.platforms.datalayer.calls import Api
from tui_eval.spec.datalayer_options import API_KEY, API_URL, DEFAULT_API_URL

KEY = API_KEY
UI_URL = "DATALAYER_UI_URL"
DEFAULT_UI_URL = "https://datalayer.app"
BASE = "/api/ai-agents/v1/evals"


def api_key(environment: Mapping[str, str]) -> str:
    """The key from the environment. Raises UsageError without one."""
    key = environment.get(KEY, "").strip()
    if not key:
        raise UsageError(f"Datalayer needs an API key: set the environment variable {KEY}")
    return key


def view_url(environment: Mapping[str, str], evalset_id: str) -> str:
    """Where people see an evalset."""
    return f"{environment.get(UI_URL, '').strip().rstrip('/') or DEFAULT_UI_URL}/benchmarks/{evalset_id}"


class Evals:
    """Calls of the platform. Use it as a context manager.

    ``url`` is the platform's address, None for the environment's. Every method raises PlatformError.
    """

    def __init__(self, environment: Mapping[str, str], url: str | None = None, account_uid: str | None = None) -> None:
        """Raises UsageError without an API key."""
        address = url or environment.get(API_URL, "").strip() or DEFAULT_API_URL
        self._api = Api(address, {"authorization": f"Bearer {api_key(environment)}"}, environment)
        self._query = {"account_uid": account_uid} if account_uid else {}

    async def __aenter__(self) -> Evals:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._api.aclose()

    async def import_evalset(self, spec: Mapping[str, Any], run_environment: str) -> str:
        """Make an evalset of ``spec``; its id."""
        body = {"spec": dict(spec), "run_environment": run_environment}
        return _id(await self._call("POST", "/evalsets/import", body), "evalset")

    async def evalset_called(self, name: str) -> str:
        """The id of the evalset of that name, empty when there is none."""
        found = await self._call("GET", "/evalsets", query={"q": name, "limit": "200"})
        return next((_text(one, "id") for one in _listed(found, "evalsets") if one.get("name") == name), "")

    async def create_experiment(self, experiment: Mapping[str, Any]) -> str:
        return _id(await self._call("POST", "/experiments", dict(experiment)), "experiment")

    async def experiments(self, evalset_id: str) -> list[dict[str, Any]]:
        query = {"evalset_id": evalset_id, "limit": "200"}
        return _listed(await self._call("GET", "/experiments", query=query), "experiments")

    async def set_experiment(self, experiment_id: str, changes: Mapping[str, Any]) -> bool:
        """Change an experiment; False where the platform has no way to."""
        try:
            await self._call("PATCH", f"/experiments/{experiment_id}", dict(changes))
        except PlatformError as error:
            if error.status in (404, 405, 501):
                return False
            raise
        return True

    async def create_run(self, experiment_id: str, run: Mapping[str, Any]) -> str:
        return _id(await self._call("POST", f"/experiments/{experiment_id}/runs", dict(run)), "run")

    async def runs(self, experiment_id: str) -> list[dict[str, Any]]:
        return _listed(await self._call("GET", f"/experiments/{experiment_id}/runs", query={"limit": "50"}), "runs")

    async def launch_plan(self, evalset_id: str, launch: Mapping[str, Any]) -> dict[str, Any]:
        """What a launch would be, without making it (see ``launch_plan``); empty where the platform does not tell."""
        try:
            found = await self._call("POST", f"/evalsets/{evalset_id}/launches/validate", dict(launch))
        except PlatformError as error:
            if error.status in (404, 405, 501):
                return {}
            raise
        return found if isinstance(found, dict) else {}

    async def launch(self, evalset_id: str, launch: Mapping[str, Any]) -> dict[str, Any]:
        """Start a launch; the platform's words about it."""
        found = await self._call("POST", f"/evalsets/{evalset_id}/launches", dict(launch))
        return found if isinstance(found, dict) else {}

    async def launch_state(self, launch_id: str) -> dict[str, Any]:
        found = await self._call("GET", f"/launches/{launch_id}")
        return found if isinstance(found, dict) else {}

    async def cancel_launch(self, launch_id: str) -> None:
        await self._call("POST", f"/launches/{launch_id}/cancel", {}, seconds=10.0)

    async def cases_of_run(self, run_id: str) -> list[dict[str, Any]]:
        return _listed(await self._call("GET", f"/runs/{run_id}/cases", query={"limit": "500"}), "cases")

    async def _call(
        self,
        method: str,
        path: str,
        body: JsonValue = None,
        *,
        query: Mapping[str, str] | None = None,
        seconds: float = 60.0,
    ) -> JsonValue:
        together = {**self._query, **(query or {})}
        return await self._api.call(method, BASE + path, body, query=together, seconds=seconds)


def _id(document: JsonValue, noun: str) -> str:
    """The id of what was made. Raises PlatformError when the answer has none."""
    inner = document.get(noun) if isinstance(document, dict) else None
    found = _text(inner if isinstance(inner, dict) else document, "id")
    if not found:
        raise PlatformError(f"the platform made a {noun} and did not say its id")
    return found


def _text(document: JsonValue, name: str) -> str:
    value = document.get(name) if isinstance(document, dict) else None
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""


def _listed(document: JsonValue, noun: str) -> list[dict[str, Any]]:
    """The objects of a list that stands alone, or under ``noun``, ``items`` or ``results``."""
    found = document
    if isinstance(document, dict):
        found = next(
            (document[name] for name in (noun, "items", "results") if isinstance(document.get(name), list)), []
        )
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
