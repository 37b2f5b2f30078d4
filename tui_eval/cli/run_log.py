"""``tui-eval show RUN --log``: what the runner of a run noted, and what was asked of it by whom and when."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from tui_eval.cli.history import local_time
from tui_eval.cli.terminal import one_line, out, out_json, safe

if TYPE_CHECKING:
    from tui_eval.store.reader import History
    from tui_eval.store.records import LogLine, RunRecord


def show_log(stored: History, run: RunRecord, as_json: bool) -> None:
    """Print the log of a run, oldest first, and the commands that nobody has answered."""
    commands = stored.commands(run)
    if as_json:
        lines = [{name: value for name, value in asdict(line).items() if name != "id"} for line in _lines(stored, run)]
        asked = [{name: value for name, value in asdict(one).items() if name != "id"} for one in commands]
        out_json({"run_id": run.run_id, "log": lines, "commands": asked})
        return
    for line in _lines(stored, run):
        request = f" [{one_line(line.request, 40)}]" if line.request else ""
        out(f"{local_time(line.at)} {line.level}{request}: {safe(line.message)}")
    for one in commands:
        if one.taken_at is None:
            who = one_line(one.given_by)
            out(f"{local_time(one.given_at)} waits: {who} asked for {one_line(one.kind)}; the runner has not answered")


def _lines(stored: History, run: RunRecord) -> Iterator[LogLine]:
    after = 0
    while page := stored.log(run, after):
        yield from page
        after = page[-1].id
