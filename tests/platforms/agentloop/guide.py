"""The guide's complete example; only the import line is another one, and the addresses are arguments."""

import asyncio
import sys

from tui_eval.platforms.agentloop import (
    AgentLoopConfig,
    EvaluatorConfig,
    http_solution_with,
    run_experiment_parallel,
)


async def main(platform: str) -> None:
    config = AgentLoopConfig(
        agent_space="demo-space",
        experiment_plan_id="plan-demo",
        region_id="cn-hangzhou",
        experiment_name="Offline-Experiment-LocalAgent",
        max_rows=1000,
        access_key_id="test-ak",
        access_key_secret="test-secret",
        custom_agentloop_endpoint=platform,
        custom_sls_endpoint=platform,
        evaluators=[
            EvaluatorConfig(
                evaluator_ref="Builtin.agent_correctness",
                result_type="score",
                variable_mapping={
                    "input": "experiment_input",
                    "output": "experiment_output",
                    "expected_output": "dataset.expected_output",
                },
            )
        ],
    )
    solution = http_solution_with(
        f"{platform}/agent/sse",
        headers={"key": "your-api-key", "Authorization": "Bearer abcdefgh"},
        body_builder=lambda task: {"input": task.input.get("input", ""), "stream": True},
        timeout=60.0,
        chunk_extractor=lambda chunk: chunk.get("output", ""),
    )
    print(await run_experiment_parallel(config, solution, result_dir="./results", n_repeat=1, n_workers=4))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
