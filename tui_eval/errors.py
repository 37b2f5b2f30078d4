"""Every exception that tui_eval raises on purpose, in one tree.

* TuiEvalError                 (has ``exit_code``, the process's exit status when it ends the program)
  * UsageError          (2)    a wrong option, an unknown run, a missing file
  * SpecError           (2)    a plan that cannot be run; carries every :class:`Fault` found
  * DatasetError        (2)    a dataset that cannot be read; carries every :class:`Fault` found
  * NothingToRun        (2)    no case was selected
  * HistoryError        (3)    the history cannot be opened, read or written
    * TaskGone                 a task is not there: its run was deleted
  * TemplateError       (1)    a template cannot be rendered for one case (never ends a run)
  * SolutionError       (1)    one attempt gave no usable answer (never ends a run)
  * EvaluatorError      (1)    one evaluator could not decide (never ends a run)
  * StartError          (1)    a child process could not be started (never ends a run)
  * PlatformError       (1)    a platform refused a call or did not answer
  * WorkerError         (1)    a killable worker process: timed out, died, or the function in it raised
    * WorkerTimeout
    * WorkerDied
    * WorkerRaised

Every message says what is wrong, where (file:line, request, case, field), what was expected and what to do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tui_eval.domain import Answer


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with something a user wrote.

    ``path`` is the key path inside the file (``requests.prod.solution.url``), empty when the fault has none;
    ``line`` and ``column`` count from 1, 0 when unknown. ``hint`` says what to do (a nearest key, a setting).
    ``warning`` marks a fault that does not stop a run.
    """

    message: str
    file: str = ""
    line: int = 0
    column: int = 0
    path: str = ""
    hint: str = ""
    warning: bool = False

    def __str__(self) -> str:
        place = self.file
        if self.line:
            place += f":{self.line}" + (f":{self.column}" if self.column else "")
        parts = [part for part in (place, self.path) if part]
        text = ": ".join([*parts, self.message])
        return f"{text} ({self.hint})" if self.hint else text


class TuiEvalError(Exception):
    """The root of the family. ``exit_code`` is the exit status of a command that ends with this error."""

    exit_code = 1


class UsageError(TuiEvalError):
    """A command was given something it cannot use: an option, a file, a run id."""

    exit_code = 2


class FaultsError(TuiEvalError):
    """Something a user wrote has one or more faults; all of them are in ``faults``, in the order of the file."""

    exit_code = 2

    def __init__(self, faults: Sequence[Fault]) -> None:
        super().__init__("\n".join(str(fault) for fault in faults))
        self.faults = tuple(faults)


class SpecError(FaultsError):
    """A plan file (or a saved solution or evaluator) that cannot be used."""


class DatasetError(FaultsError):
    """A dataset file that cannot be used."""


class NothingToRun(TuiEvalError):
    """The datasets and samples of a plan select no case at all."""

    exit_code = 2


class HistoryError(TuiEvalError):
    """The history file cannot be opened, read or written. The message names the path and what can be done."""

    exit_code = 3


class TaskGone(HistoryError):
    """A task is not in the history: its run was deleted."""


class Resend(StrEnum):
    """What a failed attempt means for trying again (what may have reached the agent is not re-sent unasked)."""

    UNSENT = "unsent"  # nothing reached the agent: safe to try again
    REJECTED = "rejected"  # the agent said "not now" (408, 429, 503): safe to try again, after a wait
    MAYBE_RECEIVED = "maybe_received"  # the agent may have acted on it: only when the plan allows it
    NEVER = "never"  # trying again cannot help (400, 401, quota used up, a bad argument)


@dataclass(eq=False)
class SolutionError(TuiEvalError):
    """One attempt ended without a usable answer.

    ``kind`` is a short stable word for grouping (``timed_out``, ``http_status``, ``connection``, ``incomplete``,
    ``bad_answer``, ``exit_code``, ``rate_limited``, ``quota``, ``start``, ``argument``, ``agent_error``, ``cancelled``).
    ``partial`` holds whatever was received (shown, never scored). ``retry_after`` is in seconds (None: the agent
    named no time).
    """

    kind: str
    message: str
    resend: Resend = Resend.NEVER
    retry_after: float | None = None
    partial: Answer | None = field(default=None, repr=False)

    def __str__(self) -> str:
        return self.message


class TemplateError(TuiEvalError):
    """A template cannot be rendered for one case. The message names the field, the case and what is missing.

    ``field`` is the template's place in the solution (``body.input``).
    """

    def __init__(self, message: str, field: str = "", case_id: str = "") -> None:
        super().__init__(message)
        self.field = field
        self.case_id = case_id


class EvaluatorError(TuiEvalError):
    """An evaluator could not decide: an outage, a time limit, nothing to compare. The task is *unscored*, not failed.

    ``detail`` is JSON data kept with the score for the reader (a judge's raw reply).
    """

    def __init__(self, message: str, detail: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.detail = dict(detail or {})


class StartError(TuiEvalError):
    """A child process could not be started. ``kind`` is ``start`` (program, folder, system) or ``argument`` (what it
    was to be given); ``passing`` marks a lack of resources that may be over in a moment."""

    def __init__(self, kind: str, message: str, *, passing: bool = False) -> None:
        super().__init__(message)
        self.kind = kind
        self.passing = passing


class PlatformError(TuiEvalError):
    """A platform refused a call or did not answer.

    ``resend`` says what that means for asking again. ``status`` is the HTTP status (None: no answer), ``code`` and
    ``request_id`` are the platform's own. ``retry_after`` is in seconds.
    """

    def __init__(
        self,
        message: str,
        *,
        resend: Resend = Resend.NEVER,
        status: int | None = None,
        code: str = "",
        request_id: str = "",
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.resend = resend
        self.status = status
        self.code = code
        self.request_id = request_id
        self.retry_after = retry_after


class WorkerError(TuiEvalError):
    """A call in a worker process did not return a value."""


class WorkerTimeout(WorkerError):
    """The call took longer than its limit; the worker was killed."""


class WorkerDied(WorkerError):
    """The worker process ended in the middle of a call."""


class WorkerRaised(WorkerError):
    """The function gave no value. ``traceback`` is its text, without local values. ``stage`` says when: ``import`` (it
    could not be found or imported), ``call`` (it raised), ``result`` (what it returned is not JSON)."""

    def __init__(self, message: str, traceback: str = "", stage: str = "call") -> None:
        super().__init__(message)
        self.traceback = traceback
        self.stage = stage


def innermost(problem: BaseException) -> BaseException:
    """The first real exception inside groups: what a person needs to read."""
    while isinstance(problem, BaseExceptionGroup):
        problem = problem.exceptions[0]
    return problem
