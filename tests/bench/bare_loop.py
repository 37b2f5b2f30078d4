"""The yardstick: workers that only call the agent over the product's own transport and parse the answer.

python -m tests.bench.bare_loop URL TASKS CONCURRENCY
"""

from __future__ import annotations

import asyncio
import json
import sys

import httpx

from tui_eval.net.transport import Transport


async def main(url: str, tasks: int, concurrency: int) -> None:
    transport = Transport()
    numbers = iter(range(tasks))

    async def worker() -> None:
        for number in numbers:
            body = json.dumps({"question": f"What is {number} + 7?"}).encode()
            request = httpx.Request("POST", url, content=body, headers={"content-type": "application/json"})
            response = await transport.send(request, connect=10.0, deadline=None)
            try:
                answer = json.loads(await response.aread())
            finally:
                await response.aclose()
            assert answer["output"]

    await asyncio.gather(*(worker() for _ in range(concurrency)))
    await transport.aclose()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
