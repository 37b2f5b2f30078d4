"""``--help``: its examples can be typed as they stand, and what few need does not stand between what all need."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import click
import pytest

from tests.cli.conftest import Call
from tui_eval.cli.app import VERBS, command_line


def commands(command: click.Command = command_line, *path: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command below ``command``, with the words that lead to it."""
    if not isinstance(command, click.Group):
        yield path, command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        below = command.get_command(context, name)
        assert below is not None
        yield from commands(below, *path, name)


ALL = {" ".join(path): command for path, command in commands()}


def examples_of(command: click.Command) -> list[list[str]]:
    lines = (command.epilog or "").splitlines()
    return [shlex.split(line, comments=True) for line in lines if line.strip().startswith("tui-eval ")]


EXAMPLES = [(name, words) for name, command in ALL.items() for words in examples_of(command)]


def own_words(words: list[str]) -> list[str]:
    """The words up to what a shell makes of the rest of the line."""
    return words[1 : next((at for at, word in enumerate(words) if word in (">", "|", "&&")), len(words))]


@pytest.mark.parametrize(("name", "words"), EXAMPLES, ids=[" ".join(words) for _, words in EXAMPLES])
def test_an_example_can_be_typed(
    name: str, words: list[str], tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names, options and values of options are right; the command itself is not carried out."""
    monkeypatch.setenv("HOME", str(tmp_path))
    typed = [word.replace("~/evals", str(tmp_path)) for word in own_words(words)]
    command: click.Command = command_line
    while isinstance(command, click.Group):
        below = command.get_command(click.Context(command), typed.pop(0))
        assert below is not None
        command = below
    command.make_context("x", typed).close()


@pytest.mark.parametrize(
    "verb", ["run", "rerun", "resume", "show", "runs", "try", "export", "compare", "cancel", "demo"]
)
def test_what_is_used_daily_has_examples_of_itself(verb: str) -> None:
    assert [words for words in examples_of(ALL[verb]) if words[1] == verb]


@pytest.mark.parametrize("name", list(ALL))
def test_help_is_in_words(call: Call, name: str) -> None:
    told = call(*name.split(), "--help")
    assert told.status == 0
    assert not re.search(r"RANGE|%[YmdHMS]", told.out), told.out


@pytest.mark.parametrize("group", ["", *(verb for verb in VERBS if verb in ("agentloop", "datalayer", "import"))])
def test_the_line_of_a_command_is_whole(call: Call, group: str) -> None:
    assert "..." not in call(*group.split(), "--help").out.partition("Commands:")[2]


def test_options_of_other_systems_stand_below_the_plans_own(call: Call) -> None:
    told = call("run", "--help").out
    own, evalsets, orchestrations = re.split(r"^(?:Datalayer evalsets|AgentCompass orchestrations):$", told, flags=re.M)
    assert "--task-concurrency" in own
    assert "--agentspec" in evalsets
    assert "--reuse" in orchestrations
    assert "--reuse" not in own
    assert "--agentspec NAME" not in own


def test_an_option_before_its_command_says_where_it_belongs(call: Call) -> None:
    ended = call("--history", "x.db", "runs")
    assert ended.status == 2
    assert "options follow their command" in ended.err
