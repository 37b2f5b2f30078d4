"""Exit statuses."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.analysis.records import counters
from tui_eval.analysis.verdict import exit_code, parse_allowance, run_verdict
from tui_eval.domain import Outcome
from tui_eval.errors import HistoryError, NothingToRun, SpecError, UsageError
from tui_eval.store.records import Counters, RunState

PASSED, FAILED, ERROR = Outcome.PASSED, Outcome.FAILED, Outcome.ERROR
GOOD = counters(*[PASSED] * 10)
DONE = RunState.COMPLETED

SITUATIONS: dict[str, tuple[RunState, Counters, dict[str, Any]]] = {
    "all cases passed": (DONE, GOOD, {}),
    "some failed, no threshold given": (DONE, counters(PASSED, FAILED), {}),
    "some failed, above --min-pass-rate": (DONE, counters(*[PASSED] * 9, FAILED), {"min_pass_rate": 0.9}),
    "errors but every decided case passed": (DONE, counters(*[PASSED] * 19, ERROR), {}),
    "errors, and --allow-errors 5%": (DONE, counters(*[PASSED] * 19, ERROR), {"allow_errors": "5%"}),
    "one request of an orchestration failed, others completed": (RunState.PARTIAL_FAILURE, GOOD, {}),
    "orchestration timed out": (RunState.TIMED_OUT, counters(PASSED, Outcome.CANCELLED), {}),
    "no case selected": (DONE, Counters(), {"nothing_selected": True}),
    "history cannot be written": (RunState.FAILED, Counters(), {"history_failed": True}),
    "Ctrl-C once, partial results saved": (
        RunState.INTERRUPTED,
        counters(PASSED, Outcome.QUEUED),
        {"signal": signal.SIGINT},
    ),
    "SIGTERM": (RunState.INTERRUPTED, counters(PASSED, Outcome.QUEUED), {"signal": signal.SIGTERM}),
}
ELSEWHERE = {"bad option, unknown file, invalid spec", "stdout closed by head"}


def test_the_recorded_table_is_kept(cases: Path) -> None:
    table = json.loads((cases / "48-exit-codes" / "table.json").read_text(encoding="utf-8"))
    assert {row["situation"] for row in table} == set(SITUATIONS) | ELSEWHERE
    for row in table:
        if row["situation"] in SITUATIONS:
            state, totals, options = SITUATIONS[row["situation"]]
            verdict = run_verdict(state, totals, **options)
            assert (row["situation"], verdict.code) == (row["situation"], row["exit"])
            assert bool(verdict.reasons) == bool(row["exit"])


def test_what_cannot_run_has_statuses_of_its_own() -> None:
    assert (UsageError.exit_code, SpecError.exit_code, NothingToRun.exit_code, HistoryError.exit_code) == (2, 2, 2, 3)


@pytest.mark.parametrize(
    "totals",
    [
        Counters(),
        counters(ERROR),
        counters(Outcome.UNSCORED, Outcome.UNSCORED),
        counters(Outcome.CANCELLED),
        counters(Outcome.QUEUED),
    ],
)
def test_nothing_decided_is_never_a_success(totals: Counters) -> None:
    assert exit_code(DONE, totals, min_pass_rate=0.0, allow_errors="100%") == 1
    assert "nothing was decided" in run_verdict(DONE, totals).reasons


def test_unscored_tasks_need_the_same_allowance_as_errors() -> None:
    totals = counters(*[PASSED] * 8, ERROR, Outcome.UNSCORED)
    assert exit_code(DONE, totals) == 1
    assert exit_code(DONE, totals, allow_errors="1") == 1
    assert exit_code(DONE, totals, allow_errors="2") == 0
    assert exit_code(DONE, totals, allow_errors="20%") == 0
    assert exit_code(DONE, totals, allow_errors="19.9%") == 1
    reason = run_verdict(DONE, totals, allow_errors="1").reasons[0]
    assert reason == "2 tasks without a verdict (1 error, 1 unscored, allowed are 1 (--allow-errors 1))"


def test_a_pass_rate_does_not_excuse_errors_nor_the_other_way_round() -> None:
    totals = counters(*[PASSED] * 8, FAILED, ERROR)
    assert exit_code(DONE, totals, min_pass_rate=0.5) == 1
    assert exit_code(DONE, totals, allow_errors="1") == 1
    assert exit_code(DONE, totals, min_pass_rate=0.5, allow_errors="1") == 0
    assert "pass rate 0.8889 (8 of 9 decided) is below 0.9" in run_verdict(DONE, totals, min_pass_rate=0.9).reasons


def test_a_pass_rate_is_compared_as_written() -> None:
    assert exit_code(DONE, counters(*[PASSED] * 7, *[FAILED] * 3), min_pass_rate=0.7) == 0
    assert exit_code(DONE, counters(PASSED, FAILED, FAILED), min_pass_rate=0.3333333333333334) == 1
    assert exit_code(DONE, counters(FAILED), min_pass_rate=0.0) == 0


@pytest.mark.parametrize("state", [state for state in RunState if state is not RunState.COMPLETED])
def test_a_run_that_did_not_complete_is_no_success(state: RunState) -> None:
    assert exit_code(state, GOOD) == 1


def test_the_history_comes_before_everything_and_a_signal_before_the_results() -> None:
    assert exit_code(RunState.INTERRUPTED, GOOD, history_failed=True, signal=2) == 3
    assert exit_code(RunState.INTERRUPTED, GOOD, signal=1) == 129
    assert exit_code(DONE, counters(PASSED, Outcome.CANCELLED)) == 1


@pytest.mark.parametrize("text", ["", "-1", "5 percent", "101%", "1.5", "nan", "٣", "5%%"])
def test_an_allowance_that_cannot_be_read_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError, match="--allow-errors"):
        parse_allowance(text, 100)
    for rate in (-0.1, 1.1, float("nan")):
        with pytest.raises(UsageError, match="--min-pass-rate"):
            exit_code(DONE, GOOD, min_pass_rate=rate)


def test_a_share_is_rounded_down() -> None:
    assert [parse_allowance(text, 39) for text in ("5%", "0%", "100%", "7", " 7 ")] == [1, 0, 39, 7, 7]
