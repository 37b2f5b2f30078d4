"""Launches: the platform runs an evalset on its own runtimes and grades it (Datalayer contract, section 3c).

One launch for each time all cases are run, one after another, on all agentspecs of the run together. It is looked at
until it has settled; results of its cases are read back as they come. A launch of ours that has not settled when the run
ends, for whatever reason, is cancelled; one that a killed run has left is taken up by ``resume``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tui_eval.domain import Answer, Usage
from tui_eval.errors import PlatformError, Resend, SolutionError, TuiEvalError
from tui_eval.platforms.datalayer.client import Evals
from tui_eval.platforms.datalayer.launch_plan import estimate_of, problems_of
from tui_eval.platforms.datalayer.reporting import NAME, Settings
from tui_eval.solutions.usage import usage_of
from tui_eval.spec.datalayer_options import CloudLaunch
from tui_eval.spec.evalset import Evalset
from tui_eval.store import platform_records as book
from tui_eval.store.faults import explaining
from tui_eval.store.opening import open_for_writing

SETTLED = frozenset(("completed", "failed", "cancelled", "blocked"))
RUNNING = frozenset(("", "waiting", "queued", "provisioning", "running", "scoring"))
TRIES = 5
"""Looks at a launch that may fail in a row before it is given up."""


@dataclass(slots=True)
class _Launch:
    """One launch: what has come of its cases, by agentspec and case id. ``problem`` says why no more will come."""

    watching: asyncio.Task[None]
    results: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    identity: str = ""
    settled: bool = False
    problem: str = ""


@dataclass(slots=True)
class Launches:
    """The launches of one run. Asked by the solutions (``solutions.datalayer_cloud.CloudHost``); end with :meth:`close`.

    ``run`` is the run's key in the history, ``agentspecs`` are those of its requests.
    """

    options: CloudLaunch
    settings: Settings
    evalset: Evalset
    agentspecs: Sequence[str]
    history: Path
    run: int
    environment: Mapping[str, str]
    log: Callable[[str, str], None]
    _launches: dict[int, _Launch] = field(default_factory=dict)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _places: dict[str, str] = field(default_factory=dict)

    async def answer(self, agentspec: str, case_id: str, repeat: int) -> Answer:
        """See ``CloudHost``."""
        launch = self._launches.get(repeat)
        if launch is None:
            launch = self._launches[repeat] = _Launch(asyncio.create_task(self._watch(repeat)))
        while (agentspec, case_id) not in launch.results:
            if launch.settled or launch.problem:
                reason = launch.problem or "the launch ended without a result of this case"
                raise SolutionError("agent_error", f"Datalayer: {reason}")
            launch.changed.clear()
            await launch.changed.wait()
        return answer_of(launch.results[agentspec, case_id])

    async def close(self) -> None:
        """Cancel what has not settled."""
        for launch in self._launches.values():
            launch.watching.cancel()
        await asyncio.gather(*(launch.watching for launch in self._launches.values()), return_exceptions=True)
        for repeat, launch in self._launches.items():
            if launch.identity and not launch.settled:
                await self._cancel(launch.identity, repeat)

    async def _cancel(self, identity: str, repeat: int) -> None:
        try:
            async with self._evals() as evals:
                await evals.cancel_launch(identity)
            left = dict((await asyncio.to_thread(self._told)).get("launches") or {})
            left.pop(str(repeat), None)  # `resume` starts another one
            await asyncio.to_thread(self._tell, launches=left)
            self.log("info", f"datalayer: cancelled the launch {identity}")
        except TuiEvalError as error:
            self.log("warning", f"datalayer: the launch {identity} may still be running and spending: {error}")

    def _evals(self) -> Evals:
        return Evals(self.environment, self.settings.api_url, self.settings.account_uid)

    # -- one launch --

    async def _watch(self, repeat: int) -> None:
        await asyncio.sleep(0)  # until the launch stands in the table
        launch = self._launches[repeat]
        try:
            async with self._turn, self._evals() as evals:
                await self._begin(evals, launch, repeat)
                await self._follow(evals, launch)
        except TuiEvalError as error:
            launch.problem = str(error)
        finally:
            launch.problem = launch.problem or ("" if launch.settled else "the launch was not seen to its end")
            launch.changed.set()

    async def _begin(self, evals: Evals, launch: _Launch, repeat: int) -> None:
        """Start a launch, or take up the one that a killed run has left."""
        told = await asyncio.to_thread(self._told)
        evalset_id = str(told.get("evalset_id", "")) or await evals.import_evalset(
            self.settings.spec, self.settings.run_environment
        )
        await asyncio.to_thread(self._tell, evalset_id=evalset_id, evalset_name=self.settings.evalset_name)
        experiments = await self._experiments(evals, evalset_id)
        self._places = {experiment: spec for spec, experiment in experiments.items()}
        launches = dict(told.get("launches") or {})
        launch.identity = str(launches.get(str(repeat), ""))
        if launch.identity:
            self.log("info", f"datalayer: taking up the launch {launch.identity}")
            return
        body = {
            "experiment_ids": list(experiments.values()),
            "run_mode": self.settings.run_mode,
            "config": self._config(),
        }
        await self._look_before(evals, evalset_id, body)
        made = await evals.launch(evalset_id, body)
        inner = made.get("launch") if isinstance(made.get("launch"), dict) else made
        launch.identity = str(inner.get("id") or "") if isinstance(inner, dict) else ""
        if not launch.identity:
            raise PlatformError("the platform made a launch and did not say its id")
        await asyncio.to_thread(self._tell, launches={**launches, str(repeat): launch.identity})
        if made.get("executes") is False:
            raise PlatformError("the platform has recorded the launch and does not execute it")
        self.log("info", f"datalayer: launched {launch.identity} on {', '.join(experiments)}")

    async def _look_before(self, evals: Evals, evalset_id: str, body: Mapping[str, Any]) -> None:
        """Say what the launch will take. Raises PlatformError where the platform would not run it."""
        plan = await evals.launch_plan(evalset_id, body)
        stops, known = problems_of(plan)
        for words in known:
            self.log("warning", f"datalayer: {words}")
        if stops:
            raise PlatformError(f"the platform would not run the launch: {'; '.join(stops)}")
        if estimate := estimate_of(plan):
            self.log("info", f"datalayer: the launch is estimated at {estimate}")

    def _config(self) -> dict[str, Any]:
        options = self.options
        config: dict[str, Any] = {
            "concurrency": options.concurrency,
            "environment": options.environment,
            "time_reservation": options.time_reservation_minutes,
            "request_timeout_seconds": options.request_timeout_seconds,
            "retention": "snapshots",
        }
        if options.credits_limit is not None:
            config["budget"] = options.credits_limit
        if options.git is not None:
            config["git"] = options.git
        return config

    async def _experiments(self, evals: Evals, evalset_id: str) -> dict[str, str]:
        """The experiment of each agentspec: the one that is there for it, else a new one."""
        there: dict[str, str] = {}
        for one in await evals.experiments(evalset_id):
            config = one.get("config")
            if isinstance(config, Mapping) and config.get("execution_target") == "cloud" and one.get("id"):
                there.setdefault(str(config.get("agent_spec_id")), str(one["id"]))
        found: dict[str, str] = {}
        for spec in self.agentspecs:
            found[spec] = there.get(spec) or await evals.create_experiment(
                {
                    "name": f"evals-{spec}",
                    "evalset_id": evalset_id,
                    "description": "Launched by tui-eval.",
                    "status": "draft",
                    "config": {
                        "run_mode": self.settings.run_mode,
                        "execution_target": "cloud",
                        "subject": {"kind": "agentspec", "ref": spec},
                        "agent_spec_id": spec,
                    },
                }
            )
        await asyncio.to_thread(self._keep_experiments, found)
        return found

    async def _follow(self, evals: Evals, launch: _Launch) -> None:
        """Look at the launch until it has settled; cancel it when that takes too long."""
        loop = asyncio.get_running_loop()
        began, failures, seen = loop.time(), 0, -1
        while True:
            try:
                state = await evals.launch_state(launch.identity)
                status, progress, runs = _parts(state)
                done = int(progress.get("completed_cases") or 0) + int(progress.get("failed_cases") or 0)
                if done != seen or status in SETTLED:
                    await self._read_back(evals, launch, runs, settled=status in SETTLED)
                    seen = done
                failures = 0
            except PlatformError as error:
                failures += 1
                if error.resend is Resend.NEVER or failures >= TRIES:
                    raise
                status = ""
            if status in SETTLED:
                launch.settled = True
                if status != "completed":
                    reason = (
                        state.get("launch", {}).get("blocked_reason") if isinstance(state.get("launch"), dict) else ""
                    )
                    launch.problem = f"the launch {launch.identity} is {status}" + (f": {reason}" if reason else "")
                return
            waited = loop.time() - began
            if status == "queued" and waited >= self.options.queue_timeout_seconds:
                raise PlatformError(f"the launch {launch.identity} is still queued after {waited:.0f} s")
            if waited >= self.options.watch_timeout_seconds:
                raise PlatformError(f"the launch {launch.identity} is still {status or 'silent'} after {waited:.0f} s")
            await asyncio.sleep(self.options.poll_interval_seconds)

    async def _read_back(
        self, evals: Evals, launch: _Launch, runs: Sequence[Mapping[str, Any]], *, settled: bool
    ) -> None:
        """The cases of each run that have ended. Cases are told apart by name, and by order where that is shared."""
        for run in runs:
            spec = self._places.get(str(run.get("experiment_id", "")), "")
            if not run.get("id") or not spec:
                continue
            waiting: dict[str, list[str]] = {}
            for case in self.evalset.cases:
                waiting.setdefault(case.spec.name, []).append(case.id)
            for result in await evals.cases_of_run(str(run["id"])):
                ids = waiting.get(str(result.get("name") or result.get("case_name") or ""))
                if not ids:
                    continue
                case_id = ids.pop(0)
                if _status(result) not in RUNNING or (settled and _said(result) is not None):
                    launch.results.setdefault((spec, case_id), result)
        launch.changed.set()

    # -- what is remembered --

    def _told(self) -> dict[str, Any]:
        with explaining(self.history), closing(open_for_writing(self.history)) as connection:
            records = book.of_run(connection, self.run, NAME)
            return dict(records[0].told) if records else {}

    def _tell(self, **told: Any) -> None:
        with explaining(self.history), closing(open_for_writing(self.history)) as connection:
            for record in book.of_run(connection, self.run, NAME):
                book.change(connection, record, told={**record.told, **told})

    def _keep_experiments(self, experiments: Mapping[str, str]) -> None:
        with explaining(self.history), closing(open_for_writing(self.history)) as connection:
            for record, spec in zip(book.of_run(connection, self.run, NAME), self.agentspecs, strict=False):
                if record.record_id != experiments[spec]:
                    book.change(connection, record, record_id=experiments[spec], status="running")


def answer_of(result: Mapping[str, Any]) -> Answer:
    """A case's result as an answer. Raises SolutionError where the agent gave none."""
    status = _status(result)
    text = _said(result)
    explanation = str(result.get("explanation") or result.get("error") or "")
    if status in ("cancelled", "blocked") or (text is None and (status in RUNNING or status == "failed")):
        raise SolutionError(
            "agent_error", f"Datalayer: the case is {status or 'without a result'}: {explanation}".rstrip(": ")
        )
    passed = result.get("passed")
    if not isinstance(passed, bool):
        passed = {"passed": True, "failed": False}.get(status)
    score = result.get("score")
    verdict = {
        "passed": passed,
        "score": score if isinstance(score, int | float) and not isinstance(score, bool) else None,
        "explanation": explanation,
        "failure_mode": result.get("failure_mode"),
    }
    answer = Answer(output={"text": text or "", "verdict": verdict})
    answer.usage = _usage(result)
    answer.detail["platform_result"] = dict(result)
    return answer


def _usage(result: Mapping[str, Any]) -> Usage | None:
    return usage_of(result.get("usage"), usage_of(result.get("pydantic_ai_usage")))


def _status(result: Mapping[str, Any]) -> str:
    return str(result.get("status") or result.get("state") or "").strip().lower()


def _said(result: Mapping[str, Any]) -> str | None:
    """The text of the output, None where there is no output."""
    output = result.get("output", result.get("output_text"))
    if isinstance(output, Mapping):
        output = output.get("text")
    return output if isinstance(output, str) else None


def _parts(state: Mapping[str, Any]) -> tuple[str, Mapping[str, Any], list[Mapping[str, Any]]]:
    """Status, progress and runs of a launch as the platform tells them."""
    launch = state.get("launch")
    launch = launch if isinstance(launch, Mapping) else state
    progress, runs = launch.get("progress"), state.get("runs", launch.get("runs"))
    return (
        str(launch.get("status") or "").lower(),
        progress if isinstance(progress, Mapping) else {},
        [run for run in runs if isinstance(run, Mapping)] if isinstance(runs, list) else [],
    )
