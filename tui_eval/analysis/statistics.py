"""Means and rates with honest intervals, over streams of values; memory does not grow with their number.

Sources: sample variance by Welford (1962); Student's t quantiles (table to 30 degrees of freedom, then the
Cornish-Fisher expansion, Abramowitz and Stegun 26.7.5); Wilson's score interval (1927).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

_Z = 1.959963984540054  # two-sided 95 % of the normal distribution
_T = (
    *(12.706204736, 4.302652730, 3.182446305, 2.776445105, 2.570581836, 2.446911851, 2.364624252, 2.306004135),
    *(2.262157163, 2.228138852, 2.200985160, 2.178812830, 2.160368656, 2.144786688, 2.131449546, 2.119905299),
    *(2.109815578, 2.100922040, 2.093024054, 2.085963447, 2.079613845, 2.073873068, 2.068657610, 2.063898562),
    *(2.059538553, 2.055529439, 2.051830516, 2.048407142, 2.045229642, 2.042272456),
)


@dataclass(frozen=True, slots=True)
class Mean:
    """Mean of ``n`` values. ``deviation`` (sample standard deviation), ``error`` (standard error of the mean) and the
    95 % interval ``low`` to ``high`` (Student's t) need two values; all are None when there are too few, or when the
    values are too large to be added."""

    n: int
    mean: float | None = None
    deviation: float | None = None
    error: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Rate:
    """``count`` of ``n``, with Wilson's 95 % interval; ``rate``, ``low`` and ``high`` (0 to 1) are None when n is 0."""

    count: int
    n: int
    rate: float | None = None
    low: float | None = None
    high: float | None = None


class RunningMean:
    """Collects values one at a time; values that are None or not finite are holes and count nowhere."""

    __slots__ = ("_mean", "_n", "_squares")

    def __init__(self) -> None:
        self._n = 0
        self._mean = 0.0
        self._squares = 0.0

    def add(self, value: float | None) -> None:
        if value is None or not math.isfinite(value):
            return
        self._n += 1
        delta = value - self._mean
        self._mean += delta / self._n
        self._squares += delta * (value - self._mean)

    def result(self) -> Mean:
        n, mean = self._n, self._mean
        if not n or not math.isfinite(mean):
            return Mean(n)
        if n < 2 or not math.isfinite(self._squares):
            return Mean(n, mean)
        deviation = math.sqrt(max(0.0, self._squares) / (n - 1))
        error = deviation / math.sqrt(n)
        reach = t_quantile(n - 1) * error
        return Mean(n, mean, deviation, error, mean - reach, mean + reach)


def rate_of(count: int, n: int) -> Rate:
    """``count`` of ``n`` with Wilson's interval, which stays within 0 and 1 also for few or unanimous verdicts."""
    if not 0 <= count <= n:
        raise ValueError(f"a rate of {count} in {n}")
    if not n:
        return Rate(count, n)
    share = count / n
    scale = 1 + _Z**2 / n
    centre = (share + _Z**2 / (2 * n)) / scale
    reach = _Z / scale * math.sqrt(share * (1 - share) / n + _Z**2 / (4 * n**2))
    low = 0.0 if count == 0 else max(0.0, centre - reach)
    high = 1.0 if count == n else min(1.0, centre + reach)
    return Rate(count, n, share, low, high)


def t_quantile(degrees: int) -> float:
    """The two-sided 95 % quantile of Student's t distribution (12.71 for one degree of freedom, towards 1.96)."""
    if degrees <= len(_T):
        return _T[degrees - 1]
    z, n = _Z, degrees
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / n + second / n**2 + third / n**3


def percentile(values: list[float], share: float) -> float | None:
    """The value below which ``share`` (0 to 1) of the sorted ``values`` lie, by linear interpolation; None of none."""
    if not values:
        return None
    place = share * (len(values) - 1)
    below = math.floor(place)
    above = min(below + 1, len(values) - 1)
    return values[below] + (values[above] - values[below]) * (place - below)
