"""Datasets: a file (or cases written in a plan) -> a stream of cases. One reader a format, never a whole file in memory."""

from tui_eval.datasets.source import DatasetSource, open_dataset
from tui_eval.datasets.survey import Survey

__all__ = ["DatasetSource", "Survey", "open_dataset"]
