"""Means with holes, rates, intervals, repeats."""

from __future__ import annotations

import itertools
import json
import math
import statistics
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.analysis.records import counters, task
from tui_eval.analysis.repeats import by_case, pass_all_k, pass_at_k, summarise_repeats
from tui_eval.analysis.statistics import Mean, RunningMean, percentile, rate_of, t_quantile
from tui_eval.analysis.summary import Summary, Tally, decided_text, shown_ks, state_text, total_of
from tui_eval.domain import Outcome, Score
from tui_eval.store.records import Counters, RunState, TaskRecord


def mean_of(values: Iterable[float | None]) -> Mean:
    running = RunningMean()
    for value in values:
        running.add(value)
    return running.result()


def summarise(counters: Counters, tasks: Iterable[tuple[TaskRecord, Iterable[Score]]], *, repeats: int = 1) -> Summary:
    tally = Tally(repeats)
    for each, scores in tasks:
        tally.add(each, scores)
    return tally.summary(counters)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def recorded(cases: Path) -> list[dict[str, Any]]:
    return lines(cases / "36-nan-aggregation" / "results.jsonl")


def outcome_of(result: dict[str, Any]) -> Outcome:
    if result.get("error", "").startswith("agent"):
        return Outcome.ERROR
    if result.get("error"):
        return Outcome.UNSCORED
    return Outcome.PASSED if result["score"] >= 0.5 else Outcome.FAILED


def test_the_mean_is_over_what_was_scored_and_says_over_how_many(recorded: list[dict[str, Any]]) -> None:
    outcomes = [outcome_of(result) for result in recorded]
    tasks = [
        (
            task(result["case"], outcome, score=result["score"]),
            [Score("judge", result["score"], result["score"] >= 0.5)]
            if result["score"] is not None
            else ([Score("judge", error=result["error"])] if outcome is Outcome.UNSCORED else []),
        )
        for result, outcome in zip(recorded, outcomes, strict=True)
    ]
    summary = summarise(counters(*outcomes), tasks)
    assert (summary.counters.total, summary.mean.n) == (6, 4)
    assert (summary.counters.unscored, summary.counters.error) == (1, 1)
    assert summary.mean.mean == 0.625
    assert summary.mean.deviation == pytest.approx(0.479, abs=5e-4)
    assert summary.mean.error == pytest.approx(0.239, abs=5e-4)
    assert (summary.pass_rate.count, summary.pass_rate.n) == (3, 4)
    assert summary.decided_text == "3 of 4 decided, 6 total"
    judge = summary.evaluators[0]
    assert (judge.values.mean, judge.verdicts.rate, judge.undecided, judge.informative) == (0.625, 0.75, 1, 0)


def test_nothing_scored_has_no_mean_and_one_value_no_spread() -> None:
    assert mean_of([]) == Mean(0)
    assert mean_of([None, math.nan, math.inf]) == Mean(0)
    assert mean_of([0.5, None]) == Mean(1, 0.5)
    assert mean_of([1e308, -1e308]).n == 2
    assert mean_of([1.7e308, -1.7e308]).deviation is None
    assert rate_of(0, 0).rate is None


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=50))
def test_streamed_means_agree_with_the_textbook(values: list[float]) -> None:
    mean = mean_of(values)
    assert mean.mean == pytest.approx(statistics.fmean(values), rel=1e-9, abs=1e-6)
    assert mean.deviation == pytest.approx(statistics.stdev(values), rel=1e-6, abs=1e-5)
    assert mean.low is not None
    assert mean.high is not None
    assert mean.low <= mean.mean <= mean.high


def test_intervals_are_those_of_published_tables() -> None:
    assert t_quantile(1) == pytest.approx(12.706, abs=1e-3)
    assert t_quantile(31) == pytest.approx(2.0395, abs=1e-4)
    assert t_quantile(120) == pytest.approx(1.9799, abs=1e-4)
    wilson = rate_of(8, 10)
    assert (wilson.low, wilson.high) == (pytest.approx(0.4902, abs=1e-4), pytest.approx(0.9433, abs=1e-4))
    assert rate_of(0, 5).low == 0
    assert rate_of(5, 5).high == 1
    assert rate_of(5, 5).low == pytest.approx(0.5655, abs=1e-4)


@given(st.integers(0, 1000), st.integers(0, 1000))
def test_an_interval_of_a_rate_holds_the_rate(count: int, more: int) -> None:
    rate = rate_of(count, count + more)
    if rate.rate is not None and rate.low is not None and rate.high is not None:
        assert 0 <= rate.low <= rate.rate <= rate.high <= 1


def test_percentiles_are_interpolated() -> None:
    assert percentile([], 0.5) is None
    assert percentile([3.0], 0.95) == 3
    assert percentile([1.0, 2.0, 3.0, 4.0], 0.5) == 2.5
    assert percentile([0.0, 10.0], 0.95) == 9.5


def test_latencies_are_of_answers_of_this_run_only() -> None:
    tally = Tally()
    for outcome, latency, reused in (
        (Outcome.PASSED, 1.0, None),
        (Outcome.UNSCORED, 3.0, None),
        (Outcome.ERROR, 60.0, None),
        (Outcome.PASSED, 9.0, "earlier-run"),
        (Outcome.FAILED, None, None),
    ):
        tally.add(task(outcome=outcome, latency=latency, reused_from=reused), [])
    summary = tally.summary(Counters())
    assert summary.latency_p50 == 2


def test_scores_without_a_threshold_are_no_verdicts() -> None:
    summary = summarise(Counters(), [(task(), [Score("similarity", 0.4)]), (task(), [Score("similarity", 0.6)])])
    similarity = summary.evaluators[0]
    assert (similarity.values.mean, similarity.verdicts.n, similarity.informative) == (0.5, 0, 2)


def test_counters_of_requests_add_up() -> None:
    one = counters(Outcome.PASSED, Outcome.ERROR, cost=0.5)
    total = total_of([one, counters(Outcome.FAILED, cost=0.25)])
    assert (total.total, total.passed, total.failed, total.error, total.cost) == (3, 1, 1, 1, 0.75)
    assert decided_text(total) == "1 of 2 decided, 3 total"


def test_recorded_repeats_give_the_unbiased_numbers(cases: Path) -> None:
    outcomes = {1: Outcome.PASSED, 0: Outcome.FAILED, None: Outcome.ERROR}
    repeats = lines(cases / "36-nan-aggregation" / "repeats.jsonl")
    counted = by_case((item["case"], outcomes[one]) for item in repeats for one in item["passes"])
    assert [counted[name].pass_at(3) for name in ("r1", "r2", "r3", "r4")] == [1, pytest.approx(0.9), 0, None]
    assert [counted[name].pass_all(3) for name in ("r1", "r2", "r3", "r4")] == [1, 0, 0, None]
    assert counted["r2"].pass_at(1) == pytest.approx(0.4)
    overall = summarise_repeats(counted.values(), 3)
    assert overall.pass_at == pytest.approx(0.6333, abs=1e-4)
    assert (overall.enough, overall.too_few, overall.note) == (3, 1, "1 case has too few attempts")


def test_no_case_with_enough_repeats_has_no_number() -> None:
    overall = summarise_repeats(by_case([("a", Outcome.ERROR), ("b", Outcome.PASSED)]).values(), 2)
    assert (overall.pass_at, overall.pass_all, overall.too_few) == (None, None, 2)
    assert overall.note == "2 cases have too few attempts"


@given(st.integers(1, 7), st.data())
def test_pass_at_k_is_the_share_of_draws_that_hold_a_pass(n: int, data: st.DataObject) -> None:
    c, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    draws = list(itertools.combinations([True] * c + [False] * (n - c), k))
    assert pass_at_k(n, c, k) == pytest.approx(sum(any(draw) for draw in draws) / len(draws))
    assert pass_all_k(n, c, k) == pytest.approx(sum(all(draw) for draw in draws) / len(draws))
    assert pass_at_k(n, c, n + 1) is None


@pytest.mark.parametrize(("n", "c", "k"), [(3, 4, 1), (3, -1, 1), (3, 1, 0)])
def test_impossible_counts_are_refused(n: int, c: int, k: int) -> None:
    with pytest.raises(ValueError, match="need"):
        pass_at_k(n, c, k)


def test_repeats_are_summarised_when_the_plan_repeats() -> None:
    tasks = [(task("a", outcome, repeat=repeat), []) for repeat, outcome in enumerate((Outcome.PASSED, Outcome.FAILED))]
    assert summarise(Counters(), tasks).repeats == ()
    first, second = summarise(Counters(), tasks, repeats=2).repeats
    assert (first.k, first.pass_at, second.k, second.pass_at, second.pass_all) == (1, 0.5, 2, 1, 0)


@pytest.mark.parametrize(
    ("repeats", "ks"),
    [(1, []), (2, [1, 2]), (3, [1, 2, 3]), (5, [1, 2, 3, 4, 5]), (8, [1, 2, 3, 4, 5, 8]), (10, [1, 2, 3, 4, 5, 10])],
)
def test_a_summary_of_repeats_has_the_small_k_and_all(repeats: int, ks: list[int]) -> None:
    assert shown_ks(repeats) == ks


def test_a_run_with_tasks_without_a_verdict_completed_with_errors() -> None:
    assert state_text(RunState.COMPLETED, Counters(total=2, passed=2)) == "completed"
    assert state_text(RunState.COMPLETED, Counters(total=2, passed=1, failed=1)) == "completed"
    assert state_text(RunState.COMPLETED, Counters(total=2, passed=1, error=1)) == "completed with errors"
    assert state_text(RunState.COMPLETED, Counters(total=2, passed=1, unscored=1)) == "completed with errors"
    assert state_text(RunState.TIMED_OUT, Counters(total=2, error=1)) == "timed out"
