"""Plans that name the fake platform."""

from __future__ import annotations

import textwrap
from typing import Any

from tests.platforms.agentloop.fake import FakePlatform


def plan_text(
    fake: FakePlatform,
    *,
    section: str = "",
    solution: str = "",
    evaluators: str = "",
    execution: str = "",
    concurrency: int = 8,
) -> str:
    """A plan with one request, ``agent``, that calls the fake's agent. ``section`` and ``execution`` are more lines."""
    solution = solution or (
        f'{{type: http, url: "{fake.agent}", body: {{input: "{{{{ input.input }}}}", stream: false}}}}'
    )
    head = f"""\
version: 1
name: agentloop-demo
task_concurrency: {concurrency}
agentloop:
  agent_space: demo-space
  experiment_plan_id: plan-demo
  region_id: cn-hangzhou
  custom_agentloop_endpoint: {fake.url}
  custom_sls_endpoint: {fake.url}
"""
    rest = f"""\
requests:
  - name: agent
    solution: {solution}
"""
    if evaluators:
        rest += f"    evaluators: {evaluators}\n"
    if execution:
        rest += f"    execution: {execution}\n"
    section = textwrap.indent(textwrap.dedent(section).rstrip("\n") + "\n", "  ") if section else ""
    return head + section + rest


def plan_data(fake: FakePlatform, **section: Any) -> dict[str, Any]:
    """The same as data."""
    return {
        "version": 1,
        "name": "agentloop-demo",
        "agentloop": {
            "agent_space": "demo-space",
            "experiment_plan_id": "plan-demo",
            "region_id": "cn-hangzhou",
            "custom_agentloop_endpoint": fake.url,
            "custom_sls_endpoint": fake.url,
            **section,
        },
        "requests": [
            {
                "name": "agent",
                "solution": {
                    "type": "http",
                    "url": fake.agent,
                    "body": {"input": "{{ input.input }}", "stream": False},
                },
            }
        ],
    }
