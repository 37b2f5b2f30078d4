"""A case that Datalayer's platform runs and grades: the call waits for its result within a launch.

The output is an object: ``text`` (what the agent said) and ``verdict`` (``passed``, ``score``, ``explanation``,
``failure_mode`` as the platform gave them), which the evaluator ``datalayer_platform`` reads.
"""

from __future__ import annotations

from typing import Any, Protocol

from tui_eval.domain import Answer
from tui_eval.errors import SolutionError
from tui_eval.solutions.base import CallContext, SolutionSetup
from tui_eval.spec.rendered import Rendered
from tui_eval.spec.solution_options import DatalayerCloudOptions

CLOUD_HOST = "datalayer_cloud"
"""Name of the service that launches a run's evalset on the platform."""


class CloudHost(Protocol):
    """Runs the evalset of a run on the platform."""

    async def answer(self, agentspec: str, case_id: str, repeat: int) -> Answer:
        """What became of a case; waits for it. Raises SolutionError."""
        ...


class DatalayerCloud:
    """See the module."""

    def __init__(self, options: DatalayerCloudOptions, setup: SolutionSetup) -> None:
        self._options = options
        self._host: CloudHost | None = setup.services.get(CLOUD_HOST)

    async def call(self, request: Rendered, context: CallContext) -> Answer:
        if self._host is None:
            message = "the platform runs whole evalsets: that needs a run of a plan with a `datalayer` section"
            raise SolutionError("argument", message)
        context.on_phase("calling")
        return await self._host.answer(self._options.agentspec, request.case_id, request.repeat)

    def host(self, request: Rendered) -> str | None:
        return None

    def preview(self, request: Rendered) -> dict[str, Any]:
        return {"platform": "datalayer", "agentspec": self._options.agentspec, "case": request.case_id}

    async def aclose(self) -> None:
        return None
