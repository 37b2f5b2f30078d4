"""Datasets whose passes tell how far they are, and can be ended in the middle."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from tui_eval.datasets.files import CHUNK_BYTES, HEAD_BYTES, InputFile, open_input
from tui_eval.datasets.limits import limits_from
from tui_eval.datasets.rows import BEGIN, Item, Place, Reading
from tui_eval.datasets.source import DatasetSource

Watcher = Callable[[int], None]
"""Called with the bytes that were just read (0: another record); what it raises ends the pass."""


@dataclass(frozen=True, slots=True)
class WatchedFile(InputFile):
    """An input file that tells each piece that is read from it."""

    watcher: Watcher = lambda read: None

    def head(self) -> bytes:
        """As ever; a look at the beginning is no part of a pass."""
        return next(InputFile.chunks(self, size=HEAD_BYTES), b"")

    def chunks(self, start: int = 0, size: int = CHUNK_BYTES) -> Iterator[bytes]:
        for chunk in InputFile.chunks(self, start, size):
            self.watcher(len(chunk))
            yield chunk


class WatchedSource(DatasetSource):
    """The dataset of another source, which must have a file. Raises DatasetError where that is no longer readable."""

    def __init__(
        self, source: DatasetSource, watcher: Watcher, *, environment: Mapping[str, str] | None = None
    ) -> None:
        assert source.path is not None
        file = open_input(source.path, source.name)
        watched = WatchedFile(file.path, file.name, file.size, file.stamp, watcher)
        super().__init__(
            source.spec, watched, source.format, limits_from(os.environ if environment is None else environment)
        )
        self._watcher = watcher

    def items(self, reading: Reading, start: Place = BEGIN) -> Iterator[Item]:
        for item in super().items(reading, start):
            self._watcher(0)
            yield item
