"""A dataset as the rest of the program sees it: a stream of cases, a survey, pages for a table."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from tui_eval.datasets import formats, inline, sampling
from tui_eval.datasets.files import InputFile, open_input
from tui_eval.datasets.identity import Built, CaseBlock, ContentIds, IdColumn, build, build_generated
from tui_eval.datasets.limits import Limits, limits_from
from tui_eval.datasets.paging import Pages
from tui_eval.datasets.rows import BEGIN, BadRow, Block, Item, Place, Reading, refusal
from tui_eval.datasets.scan import scan
from tui_eval.datasets.survey import Survey
from tui_eval.domain import Case
from tui_eval.errors import DatasetError, Fault, SpecError
from tui_eval.spec.model import Dataset
from tui_eval.spec.references import find_references, resolve


def open_dataset(
    spec: Dataset,
    folder: Path,
    *,
    environment: Mapping[str, str] | None = None,
    platforms: Mapping[str, Any] | None = None,
) -> DatasetSource:
    """The dataset that ``spec`` describes; a relative path starts at ``folder``. Reads no case yet, but for the rows of
    a platform, which are fetched; ``platforms`` has the plan's sections of these (``LoadedPlan.platforms``).

    ``environment`` (default: the process's) holds the values of ``${NAME}`` in the path, and may raise the size limits
    (see ``limits``). Raises DatasetError when the
    file is missing, is no regular file or cannot be read, and for settings that contradict each other.
    """
    environment = os.environ if environment is None else environment
    limits = limits_from(environment)
    if spec.platform is not None:
        from tui_eval.datasets.platform import open_platform

        formats.check_settings(spec, "", "platform")
        return open_platform(spec, platforms or {}, environment, limits)
    if spec.path is None:
        formats.check_settings(spec, "", "inline")
        return DatasetSource(spec, None, "inline", limits)
    if not spec.path.strip():
        raise refusal("the path is empty", "", path="dataset.path", hint="name a file")
    path = folder / _resolved(spec.path, environment)
    # What a variable holds is never shown.
    name = spec.path if find_references(spec.path, template=False) else str(path)
    file = open_input(path, name)
    kind = spec.format or formats.format_of(path, name)
    formats.check_settings(spec, file.name, kind)
    return DatasetSource(spec.model_copy(update={"format": kind}), file, kind, limits)


def _resolved(path: str, environment: Mapping[str, str]) -> str:
    try:
        return resolve(path, environment)
    except SpecError as error:
        raise DatasetError([replace(fault, path="dataset.path") for fault in error.faults]) from error


class DatasetSource:
    """Cases in the order of the file. Each method makes its own pass; nothing is kept in memory but small indexes.

    Every pass raises DatasetError when the file is no longer the one that was opened. Not for use by several threads
    at once.
    """

    def __init__(self, spec: Dataset, file: InputFile | None, kind: str, limits: Limits) -> None:
        self.spec = spec
        self.format = kind
        self._file = file
        self._limits = limits
        self._pages: Pages | None = None
        self.warnings: tuple[Fault, ...] = ()
        """What whoever made the source wants to be told before a run."""
        self.id_column = spec.id
        """The column of the ids, known after the first case; None: ids are made from the content."""

    @property
    def path(self) -> Path | None:
        """The file; None for cases written in the plan."""
        return self._file.path if self._file else None

    @property
    def name(self) -> str:
        """What faults call the file; empty for cases written in the plan."""
        return self._file.name if self._file else ""

    @property
    def label(self) -> str:
        """The dataset for lists: the path as written."""
        return self.spec.path or "cases in the plan"

    @property
    def size(self) -> int:
        """Bytes of the file, 0 for cases written in the plan."""
        return self._file.size if self._file else 0

    def cases(self) -> Iterator[Case]:
        """Every well-formed case, before sampling. Broken records are left out and ids that occur twice are not looked
        for: :meth:`check` does both. Raises DatasetError where the file cannot be read further."""
        for built in self.built_in_blocks(Reading()):
            if isinstance(built, CaseBlock):
                yield from built.cases()
            elif isinstance(built, Case):
                yield built

    def sampled(self) -> Iterator[Case]:
        """The cases that take part: ``ids``, then ``where``, then ``limit`` (at random, but the same ones for the same
        seed and content, when there is a ``seed``). Raises DatasetError, also when ``where`` fails on a case."""
        sample = self.spec.sample
        matches = sampling.matcher(sample, self.name)
        if sample.limit == 0:
            return iter(())
        if sample.limit is None or sample.seed is None:
            return islice(filter(matches, self.cases()), sample.limit)
        lottery = sampling.Lottery(sample.limit, sample.seed)
        for position, case in enumerate(self.cases()):
            if matches(case):
                lottery.enter(position, case.id)
        return sampling.take(self.cases(), lottery.winners())

    def scan(self) -> Survey:
        """One whole look at everything, faults included. Never raises DatasetError: it is all in the survey."""
        return scan(self)

    def check(self) -> Survey:
        """The survey of a dataset that can be used. Raises DatasetError with all faults; with ``skip_bad_lines`` broken
        records are no faults but recorded in ``skipped_lines`` and ``notes``."""
        survey = self.scan()
        if survey.faults:
            raise DatasetError(survey.faults)
        return survey

    def rows(self, start: int, count: int) -> list[Case]:
        """The well-formed cases ``start`` (from 0) to ``start + count``, fewer at the end. Raises DatasetError."""
        if self._pages is None:
            self._pages = Pages(self)
        return self._pages.rows(max(start, 0), max(count, 0))

    def close(self) -> None:
        """Lets go of the file, which :meth:`rows` keeps open until it has seen the end. A later call opens it again."""
        if self._pages is not None:
            self._pages.close()
            self._pages = None

    def count(self) -> int:
        """How many records the file has, broken ones too, counted as quickly as the format allows. DatasetError."""
        if self._file is not None:
            counting: Callable[..., int | None] | None = getattr(formats.reader(self.format), "count", None)
            found = counting(self._file, self.spec, self._limits) if counting else None
            if found is not None:
                return found
        return sum(1 for _ in self.items(Reading()))

    def items(self, reading: Reading, start: Place = BEGIN) -> Iterator[Item]:
        """The rows as they stand in the file, from a place that a row named."""
        if self._file is None:
            return inline.read(self.spec.cases or [])
        return formats.reader(self.format).read(self._file, self.spec, self._limits, reading, start)

    def blocks(self, reading: Reading) -> Iterator[Block | Item]:
        """The same as :meth:`items`, many rows at a time where the format can."""
        if self._file is not None:
            reader = formats.reader(self.format)
            in_blocks: Callable[..., Iterator[Block | Item]] | None = getattr(reader, "blocks", None)
            if in_blocks is not None:
                return in_blocks(self._file, self.spec, self._limits, reading)
        return self.items(reading)

    def built_in_blocks(self, reading: Reading) -> Iterator[CaseBlock | Built]:
        """The same as :meth:`built`, many cases at a time where the format can and nothing is wrong with them."""
        items = self.blocks(reading)
        if self.spec.id is not None:
            yield from self._in_blocks(items, 0)
            return
        for before, item in enumerate(items):
            if isinstance(item, BadRow):
                yield item
                continue
            first = item.rows[0] if isinstance(item, Block) else item.columns
            self.id_column = "id" if "id" in first else None
            yield from self._in_blocks(chain([item], items), before)
            return

    def _in_blocks(self, items: Iterator[Block | Item], before: int) -> Iterator[CaseBlock | Built]:
        if self.id_column is None:
            made = ContentIds()
            for item in items:
                if isinstance(item, Block):
                    yield made.block(item)
                else:
                    yield from build_generated([item], made.next)
            return
        ids = IdColumn(self.id_column, self.name, before)
        for item in items:
            if isinstance(item, Block):
                yield from ids.built_block(item)
            else:
                yield ids.built(item)
        ids.end()

    def built(self, reading: Reading) -> Iterator[Built]:
        """One pass: cases with their ids, and what is broken."""
        return self.identified(self.items(reading))

    def identified(self, items: Iterator[Item]) -> Iterator[Built]:
        """Rows made into cases. The column of the ids is that of the plan, else ``id`` when the first record has it;
        else ids are made from the content."""
        if self.spec.id is not None:
            yield from build(items, self.spec.id, self.name)
            return
        for before, item in enumerate(items):
            if isinstance(item, BadRow):
                yield item
                continue
            self.id_column = "id" if "id" in item.columns else None
            rows = chain([item], items)
            if self.id_column is not None:
                yield from build(rows, self.id_column, self.name, before)
            else:
                yield from build_generated(rows, ContentIds().next)
            return
