"""One reader in several threads, as a runner has it that takes up the tasks of several requests."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.store.records import planned
from tui_eval.store.reader import History
from tui_eval.store.writer import HistoryWriter

REQUESTS, TIMES = 4, 250


async def test_threads_that_ask_the_same_question_each_get_their_own_answer(path: Path) -> None:
    """Python 3.12 hands one prepared statement to two threads, and the values of one to the other."""
    async with await HistoryWriter.open(path) as writer:
        keys = []
        for number in range(REQUESTS):
            _, request = await planned(writer, number + 2, f"20310405-120000-aaa{number}")
            keys.append(request)
    with History(path) as history:

        def counts(place: int) -> set[int]:
            return {len(history.queued(keys[place])) for _ in range(TIMES)}

        with ThreadPoolExecutor(REQUESTS) as pool:
            found = list(pool.map(counts, range(REQUESTS)))
    assert found == [{number + 2} for number in range(REQUESTS)]
