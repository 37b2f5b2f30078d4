"""Benchmarks: ``python -m tests.bench --quick``. Figures are ratios to a yardstick measured in the same run, in turn."""
