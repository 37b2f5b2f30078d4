"""The command line's verbs. A verb's module is imported when the verb is used, never to list it."""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass

import click

from tui_eval import __version__
from tui_eval.cli.terminal import out


@dataclass(frozen=True, slots=True)
class Verb:
    """Where a verb lives (``module:name``) and the line that ``--help`` shows for it."""

    target: str
    summary: str


VERBS = {
    "open": Verb("tui_eval.cli.opening:open_application", "Open the application (as `tui-eval` alone does)."),
    "demo": Verb("tui_eval.cli.demo:demo", "Run the sample plan against an embedded agent: no network, no key."),
    "validate": Verb("tui_eval.cli.validate:validate", "List every fault of a plan and its datasets; execute nothing."),
    "preview": Verb("tui_eval.cli.preview:preview", "Show exactly what would be sent for a case; send nothing."),
    "try": Verb("tui_eval.cli.try_it:try_it", "Call an agent once for one case, or judge one output; keep nothing."),
    "run": Verb("tui_eval.cli.run:run", "Run a plan and keep the result in the history."),
    "watch": Verb("tui_eval.cli.watch:watch", "Follow a run until it ends."),
    "runs": Verb("tui_eval.cli.runs:runs", "List the runs in the history."),
    "show": Verb("tui_eval.cli.show:show", "Show a run: counts, pass rates, failures, or one case in full."),
    "rerun": Verb("tui_eval.cli.run:rerun", "Run again what failed; everything else is taken over."),
    "resume": Verb("tui_eval.cli.run:resume", "Go on with a paused run, or finish one that was interrupted."),
    "cancel": Verb("tui_eval.cli.control:cancel", "Ask a live run to stop, or one request or case of it."),
    "pause": Verb("tui_eval.cli.control:pause", "Ask a live run to start no further task for now."),
    "set": Verb("tui_eval.cli.control:set_", "Change a run: tasks in flight while it is live, tags, note, pin."),
    "export": Verb("tui_eval.cli.export:export", "Write a run as JSON, JSON lines, CSV or Markdown."),
    "compare": Verb("tui_eval.cli.compare:compare", "Compare two runs: what became better, what became worse."),
    "import": Verb("tui_eval.cli.importing:import_", "Bring results of other programs into the history."),
    "datalayer": Verb("tui_eval.cli.datalayer:datalayer", "Plans, grades and reports of Datalayer evalsets."),
    "agentloop": Verb("tui_eval.cli.agentloop:agentloop", "Look at AgentLoop; finish what is reported to it."),
    "schema": Verb("tui_eval.cli.schema:schema", "Print the JSON Schema of plan files, for editors."),
    "prune": Verb("tui_eval.cli.upkeep:prune", "List runs that may go by age, number, size, tag; delete with --yes."),
    "backup": Verb("tui_eval.cli.upkeep:backup", "Copy the whole history, also while runs are live."),
    "vacuum": Verb("tui_eval.cli.upkeep:vacuum", "Give the space of deleted runs back to the disk."),
    "doctor": Verb("tui_eval.cli.doctor:doctor", "Check this installation, the terminal and the history."),
}

BEGIN = """\
tui-eval evaluates AI agents. How to begin:

  tui-eval                           in a terminal: the application
  tui-eval demo                      see it work: an embedded agent, no network, no key
  tui-eval demo --copy-samples DIR   plans to start from
  tui-eval validate PLAN             find every fault of a plan before the first call
  tui-eval run PLAN                  run it
  tui-eval show last                 see what failed, and why
  tui-eval --help                    everything else
"""


class LazyVerbs(click.Group):
    """A group that knows its verbs by name and imports the module of the one that is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            name = error.option_name
            raise click.UsageError(
                f"There is no option {name} here: options follow their command, as in `tui-eval runs {name} …`.", ctx
            ) from None

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        verb = VERBS.get(cmd_name)
        if verb is None:
            return None
        module, _, name = verb.target.partition(":")
        command = getattr(importlib.import_module(module), name)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in VERBS and not args[0].startswith("-"):
            raise click.UsageError(_unknown_verb(args[0]), ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, verb.summary) for name, verb in VERBS.items()])


def _unknown_verb(name: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, VERBS, n=1)
    hint = f"Did you mean `{near[0]}`?" if near else f"The commands are {', '.join(VERBS)}."
    return f"There is no command `{name}`. {hint}"


@click.group(
    cls=LazyVerbs,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit status: 0 success, 1 something failed, 2 nothing could be run, 3 the history cannot be used, 130 "
    "interrupted. `tui-eval COMMAND --help` has examples.",
)
@click.version_option(__version__, "-V", "--version", prog_name="tui-eval", message="%(prog)s %(version)s")
@click.pass_context
def command_line(ctx: click.Context) -> int:
    """Evaluate AI agents: plans, live runs, a history that loses nothing, and re-runs of only what failed.

    Without a command it opens the application.
    """
    if ctx.invoked_subcommand is None:
        if sys.stdin is not None and sys.stdin.isatty() and sys.stdout is not None and sys.stdout.isatty():
            from tui_eval.tui.app import main

            return main()
        out(BEGIN, end="")
    return 0
