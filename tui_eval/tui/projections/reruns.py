"""What a re-run would take, and how many calls it makes: said before it is started."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tui_eval.store.records import Counters


@dataclass(frozen=True, slots=True)
class Rerun:
    """One choice. ``selection`` has the keys of ``analysis.selection.Action``; ``calls`` is how many tasks call the
    agent (each once, and again for every retry of the plan), ``rest`` how many of these were not chosen but have no
    result; ``judged`` how many answers are only judged anew."""

    name: str
    label: str
    selection: dict[str, Any]
    calls: int
    judged: int = 0
    rest: int = 0

    @property
    def beside(self) -> str:
        """What is called beside what was chosen, for the question before the start; "" when nothing is."""
        if not self.rest:
            return ""
        which = "task that was" if self.rest == 1 else "tasks that were"
        return (
            f"{self.rest:,} of the calls {'is' if self.rest == 1 else 'are'} for {which} cancelled or never finished."
        )

    @property
    def note(self) -> str:
        calls = f"{self.calls:,} call{'' if self.calls == 1 else 's'}"
        return f"{calls}, {self.judged:,} judged anew" if self.judged else calls


def reruns(total: Counters) -> list[Rerun]:
    """What can be run again after a run with these counters; what would do nothing is left out."""
    # Every re-run takes what has no result of its own, and judges anew what only lacks a verdict.
    rest = total.total - total.finished + total.cancelled
    judged = total.unscored
    found = [
        Rerun("failed", "Failed and errors", {"failed": True}, rest + total.failed + total.error, judged, rest),
        Rerun("errors", "Errors only", {"errors": True}, rest + total.error, judged, rest),
        Rerun("unscored", "Unscored: judge them again", {"unscored": True}, rest, judged, rest),
    ]
    wanted = {"failed": total.failed + total.error, "errors": total.error, "unscored": total.unscored}
    kept = [each for each in found if wanted[each.name]]
    if rest:
        kept.append(Rerun("unfinished", "What has no result yet", {}, rest, judged))
    return [*kept, Rerun("all", "Everything", {"all": True}, total.total)]


def rerun_cases(total: Counters, case_ids: Sequence[str], chosen: Counters) -> Rerun:
    """The named cases again, whatever came of them. ``chosen`` counts the tasks of these cases (over all requests and
    repeats), which are called beside what has no result yet."""
    rest = total.total - total.finished + total.cancelled
    already = chosen.total - chosen.finished + chosen.cancelled
    return Rerun(
        "cases",
        f"{len(case_ids)} chosen case{'' if len(case_ids) == 1 else 's'}",
        {"cases": list(case_ids)},
        chosen.total + rest - already,
        max(0, total.unscored - chosen.unscored),
        rest - already,
    )
