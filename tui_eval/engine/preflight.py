"""Everything about a plan that can be known before the first call: all faults at once, and what a launch would do.

Nothing is executed: datasets are read, templates are compared with the columns, programs are looked for on disk.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pydantic import BaseModel

from tui_eval.datasets import DatasetSource, open_dataset
from tui_eval.domain import Case
from tui_eval.engine.agentspecs import section_faults
from tui_eval.engine.callees import Callees, callees_of, unusable
from tui_eval.engine.reach import escapes
from tui_eval.errors import DatasetError, Fault, TuiEvalError

if TYPE_CHECKING:
    from tui_eval.datasets import Survey
    from tui_eval.spec.loading import LoadedPlan, LoadedRequest


@dataclass(slots=True)
class RequestPreflight:
    """One request: its dataset as found, and the most work it can make."""

    request: LoadedRequest
    callees: Callees
    source: DatasetSource | None = None
    survey: Survey | None = None

    @property
    def tasks(self) -> int:
        return self.survey.selected * self.request.execution.n_repeat if self.survey else 0

    @property
    def attempts_at_most(self) -> int:
        return self.tasks * (1 + self.request.execution.max_retries)


@dataclass(slots=True)
class Preflight:
    """What :func:`check_plan` found. ``faults`` stop a launch, ``warnings`` are shown."""

    requests: list[RequestPreflight] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    warnings: list[Fault] = field(default_factory=list)

    @property
    def tasks(self) -> int:
        return sum(request.tasks for request in self.requests)

    def add(self, fault: Fault) -> None:
        (self.warnings if fault.warning else self.faults).append(fault)


Told = Callable[[str, int, int], None]
"""Hears how far long preparations are: what is done, how much of how much. What it raises ends them."""


def check_plan(loaded: LoadedPlan, environment: Mapping[str, str], told: Told | None = None) -> Preflight:
    """Check every request of ``loaded`` against its dataset and the machine.

    A dataset that several requests share is read once. Costs one pass over each dataset file (two for a sample at
    random); ``told`` hears of it, in bytes.
    """
    report = Preflight(warnings=[*loaded.warnings, *escapes(loaded)])
    surveyed: dict[str, tuple[DatasetSource, Survey] | None] = {}
    for request in loaded.requests:
        entry = RequestPreflight(request, callees_of(loaded, request, environment))
        report.requests.append(entry)
        key = request.dataset.model_dump_json()
        if key not in surveyed:
            surveyed[key] = _survey(loaded, request, environment, report, told)
        found = surveyed[key]
        if found is not None:
            entry.source, entry.survey = found
            _check_columns(request, entry.survey, report)
        for fault in unusable(loaded, request, environment):
            report.add(fault)
        _check_addresses(request, environment, report)
        _check_certificates(loaded, request, report)
    for fault in section_faults(loaded, environment):
        report.add(fault)
    return report


def _survey(
    loaded: LoadedPlan,
    request: LoadedRequest,
    environment: Mapping[str, str],
    report: Preflight,
    told: Told | None,
) -> tuple[DatasetSource, Survey] | None:
    try:
        source = open_dataset(request.dataset, loaded.folder, environment=environment, platforms=loaded.platforms)
        survey = _told_of(source, environment, told).check()
    except DatasetError as error:
        for fault in error.faults:
            report.add(_placed(fault, request))
        return None
    for note in survey.notes:
        report.add(Fault(note, file=source.label, warning=True))
    for warning in source.warnings:
        report.add(warning)
    return source, survey


def _told_of(source: DatasetSource, environment: Mapping[str, str], told: Told | None) -> DatasetSource:
    """The same dataset; ``told`` hears how far a pass is, over and over where there are several passes."""
    if told is None or source.path is None or not source.size:
        return source
    from tui_eval.datasets.watching import WatchedSource

    size, read = source.size, 0
    label = f"checking {source.label}"

    def watcher(count: int) -> None:
        nonlocal read
        read = read + count if read < size else count
        told(label, read, size)

    return WatchedSource(source, watcher, environment=environment)


def _placed(fault: Fault, request: LoadedRequest) -> Fault:
    """``fault``, with its place in the plan when it is about the section and not about the file."""
    if fault.file or not fault.path.startswith("dataset"):
        return fault
    return request.locate(tuple(fault.path.split("."))).fault(fault.message, fault.hint, warning=fault.warning)


def _check_columns(request: LoadedRequest, survey: Survey, report: Preflight) -> None:
    from tui_eval.evaluators.variables import check_mapping

    if not survey.selected:
        return
    for fault in request.template.check(survey.columns, survey.partial_columns):
        report.add(fault)
    if survey.selected > 1 and request.template.same_for_all_cases:
        place, column = request.locate(("solution",)), next(iter(survey.columns), "input")
        message = f"nothing of a case is sent: the agent is asked the same for all {survey.selected} of them"
        report.add(place.fault(message, f"name a column, as in `{{{{ {column} }}}}`", warning=True))
    for index, evaluator in enumerate(request.evaluators):
        mapping = getattr(evaluator.options, "variable_mapping", {})
        for message in check_mapping(mapping, survey.columns, survey.partial_columns):
            report.add(request.locate(("evaluators", index, "variable_mapping")).fault(message))


def _check_addresses(request: LoadedRequest, environment: Mapping[str, str], report: Preflight) -> None:
    """Addresses whose scheme and host come from ``${NAME}``. What they hold then is told to nobody."""
    from tui_eval.spec.expressions import address_fault
    from tui_eval.spec.marks import AddressMark, field_marks
    from tui_eval.spec.references import find_references, is_missing, is_template, resolve

    parts: list[tuple[tuple[str | int, ...], object]] = [(("solution",), request.solution)]
    parts += [(("evaluators", index), evaluator.options) for index, evaluator in enumerate(request.evaluators)]
    for path, options in parts:
        marks = field_marks(type(options)) if isinstance(options, BaseModel) else {}
        for name, found in marks.items():
            text, mark = getattr(options, name), next((mark for mark in found if isinstance(mark, AddressMark)), None)
            if mark is None or not isinstance(text, str) or not text.startswith("${") or is_template(text):
                continue
            names = sorted(find_references(text))
            if any(is_missing(one, environment) for one in names):
                continue  # told as a fault of the plan
            if address_fault(resolve(text, environment).strip(), mark.schemes):
                variables = ", ".join(f"`{one}`" for one in names)
                message = f"with the value of {variables} in it this is no http:// or https:// address with a host"
                report.add(request.locate((*path, name)).fault(message, "such as http://127.0.0.1:8000"))


def _check_certificates(loaded: LoadedPlan, request: LoadedRequest, report: Preflight) -> None:
    """The files of ``tls``, of the solution and of the evaluators that call something."""
    from tui_eval.solutions.certificate_checks import check_certificates
    from tui_eval.spec.solution_options import Tls

    parts: list[tuple[tuple[str | int, ...], object]] = [(("solution",), request.solution)]
    parts += [(("evaluators", index), evaluator.options) for index, evaluator in enumerate(request.evaluators)]
    for path, options in parts:
        tls = getattr(options, "tls", None)
        if isinstance(tls, Tls):
            for option, message in check_certificates(tls, loaded.folder):
                report.add(request.locate((*path, "tls", option)).fault(message))


def first_case(source: DatasetSource, case_id: str | None = None) -> Case:
    """The case to preview: the one with ``case_id``, else the first selected one."""
    for case in source.sampled():
        if case_id is None or case.id == case_id:
            return case
    wanted = f"case `{case_id}`" if case_id is not None else "any case"
    raise TuiEvalError(f"{source.label}: {wanted} is not among the selected cases")
