"""The ``command`` solution: what the program gets, and what becomes of what it prints."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tui_eval.domain import Answer
from tui_eval.errors import Resend, SolutionError, SpecError
from tui_eval.net.trace import TraceContext
from tui_eval.solutions.base import CallContext, Limits, SolutionSetup
from tui_eval.solutions.command import CommandSolution
from tui_eval.spec.rendered import Rendered
from tui_eval.spec.solution_options import CommandOptions

TRACE = TraceContext("1" * 32, "2" * 16)
PYTHON = sys.executable


class Caller:
    """Makes the solution and calls it once; what is rendered is what the options say."""

    def __init__(self, folder: Path, environment: dict[str, str] | None = None) -> None:
        self.folder = folder
        self.environment = {**os.environ, **(environment or {})}
        self.phases: list[str] = []

    def prepare(self, options: dict[str, Any], case: dict[str, Any]) -> tuple[CommandSolution, Rendered]:
        checked = CommandOptions(**options)
        setup = SolutionSetup(folder=self.folder, environment=self.environment)
        fields = {name: options[name] for name in ("argv", "env", "cwd", "stdin_text") if name in options}
        return CommandSolution(checked, setup), Rendered(fields, fields, str(case.get("id", "c1")), case)

    async def __call__(
        self, *argv: Any, case: dict[str, Any] | None = None, limits: Limits | None = None, **options: Any
    ) -> Answer:
        if argv:
            options["argv"] = list(argv)
        solution, request = self.prepare(options, case or {"id": "c1"})
        limits = limits or Limits(total=20, grace=0.3)
        return await solution.call(request, CallContext(limits, TRACE, self.phases.append))

    async def refused(self, *argv: Any, **options: Any) -> SolutionError:
        with pytest.raises(SolutionError) as caught:
            await self(*argv, **options)
        return caught.value


@pytest.fixture
def call(tmp_path: Path) -> Caller:
    return Caller(tmp_path)


SHOW_ARGUMENTS = "import sys; sys.stdout.buffer.write(ascii(sys.argv[1:]).encode())"


async def test_case_texts_arrive_as_one_argument_each_and_no_shell_reads_them(cases: Path, call: Caller) -> None:
    lines = (cases / "34-cmd-args/data.jsonl").read_text().splitlines()
    for case in map(json.loads, lines):
        if case["id"] == "q7":
            error = await call.refused(PYTHON, "-c", SHOW_ARGUMENTS, "--input", case["q"], case=case)
            assert error.kind == "argument"
            assert error.message.startswith("a command argument cannot contain NUL")
            assert error.resend is Resend.NEVER
        else:
            answer = await call(PYTHON, "-c", SHOW_ARGUMENTS, "--input", case["q"], case=case)
            assert answer.output == ascii(["--input", case["q"]])
    assert list(call.folder.iterdir()) == []


async def test_a_text_too_long_for_an_argument_comes_with_the_advice_to_use_stdin(call: Caller) -> None:
    error = await call.refused("echo", "x" * 200_000)
    assert error.kind == "argument"
    assert "stdin" in error.message
    assert "200000" in error.message
    answer = await call("wc", "-c", stdin="text", stdin_text="x" * 200_000)
    assert answer.output.strip() == "200000"


async def test_values_that_are_no_texts_arrive_as_their_json(call: Caller) -> None:
    solution, _ = call.prepare({"argv": ["echo", "x"]}, {"id": "c"})
    fields = {"argv": ["printf", "%s|", 5, 1.5, True, None, ["a", 1], {"k": "é"}]}
    answer = await solution.call(Rendered(fields, fields, "c", {}), CallContext(Limits(), TRACE))
    assert answer.output == '5|1.5|true|null|["a", 1]|{"k": "é"}|'


async def test_the_case_comes_on_stdin_as_json_with_its_id(call: Caller) -> None:
    read = "import json, sys; case = json.load(sys.stdin); print(ascii(case))"
    case = {"q": "a\x00b\u2028é", "n": 1.5, "half": "\ud800"}
    answer = await call(PYTHON, "-c", read, stdin="json", case=case)
    assert answer.output == ascii({"id": "c1", **case})
    answer = await call("sh", "-c", "read -r line && echo got", stdin="json", case={"q": 1})
    assert answer.output == "got"  # the line is ended, so that line-wise readers see it


async def test_a_program_that_asks_gets_no_answer_instead_of_our_keyboard(call: Caller) -> None:
    assert (await call("cat")).output == ""


async def test_the_program_is_told_to_print_plainly_and_which_trace_it_is_in(tmp_path: Path) -> None:
    inherited = {"TERM": "xterm-256color", "TRACESTATE": "a=b", "TRACEPARENT": "old", "KEPT": "kept"}
    call = Caller(tmp_path, inherited)
    show = 'echo "$NO_COLOR $TERM $TRACEPARENT $TRACESTATE $KEPT $ADDED"'
    answer = await call("sh", "-c", show, env={"ADDED": "added"})
    assert answer.output == f"1 dumb 00-{'1' * 32}-{'2' * 16}-01 a=b kept added"
    assert answer.trace_id == TRACE.trace_id
    own = f"00-{'a' * 32}-{'b' * 16}-01"
    answer = await call("sh", "-c", show, env={"TERM": "vt100", "NO_COLOR": "", "TRACEPARENT": own})
    assert answer.output.split() == ["vt100", own, "a=b", "kept"]
    assert answer.trace_id == "a" * 32


async def test_the_working_folder_is_the_plans_and_relative_programs_start_there(call: Caller) -> None:
    inner = call.folder / "inner"
    inner.mkdir()
    script = inner / "agent"
    script.write_text("#!/bin/sh\npwd\n")
    script.chmod(0o755)
    assert (await call("inner/agent")).output == str(call.folder)
    assert (await call("./agent", cwd="inner")).output == str(inner)


async def test_a_shell_text_is_run_by_a_shell_only_when_asked_for(call: Caller) -> None:
    answer = await call(shell=True, command='echo "$A" | tr a-z A-Z', env={"A": "; touch PWNED"})
    assert answer.output == "; TOUCH PWNED"
    assert not (call.folder / "PWNED").exists()


class TestOutput:
    async def test_line_ends_at_the_end_go_and_nothing_else(self, call: Caller) -> None:
        assert (await call("printf", " a \\n\\nb \\n\\n")).output == " a \n\nb "
        assert (await call("printf", "a\\r\\n")).output == "a"
        assert (await call("true")).output == ""

    async def test_messages_on_stderr_are_kept_apart(self, cases: Path) -> None:
        answer = await Caller(cases / "31-cmd-exit-and-noise")(PYTHON, "ok-with-stderr.py")
        assert (answer.output, answer.stderr, answer.exit_code) == ("blue", "warning: deprecated option\n", 0)

    async def test_stderr_can_be_the_output(self, call: Caller) -> None:
        answer = await call("sh", "-c", "echo no; printf 'yes\\n' >&2", output="stderr")
        assert (answer.output, answer.raw) == ("yes", "no\n")
        long = await call("sh", "-c", "head -c 100000 /dev/zero | tr '\\0' x >&2", output="stderr")
        assert long.output == "x" * 100_000

    async def test_terminal_codes_are_removed_for_evaluators_and_kept_in_the_raw_text(
        self, cases: Path, call: Caller
    ) -> None:
        data = cases / "32-cmd-ansi/stdout.bin"
        answer = await call("cat", str(data))
        assert answer.output.split("\n") == ["IDLE", "donelink!"]
        assert answer.raw.encode() == data.read_bytes()
        assert answer.detail["strip_terminal_codes"] is True
        kept = await call("cat", str(data), strip_terminal_codes=False)
        assert kept.output == answer.raw.removesuffix("\n")

    @pytest.mark.parametrize(
        ("printed", "expected"),
        [('""', ""), ("0", 0), ("false", False), ("[]", []), ("{}", {}), ('{"a": [1]}', {"a": [1]}), ('"é"', "é")],
    )
    async def test_any_json_value_is_an_output(self, call: Caller, printed: str, expected: Any) -> None:
        answer = await call("printf", "%s\\n", printed, output="json")
        assert answer.output == expected
        assert type(answer.output) is type(expected)

    async def test_the_extractor_tells_missing_from_null_and_from_empty(self, call: Caller) -> None:
        async def extract(document: Any, **options: Any) -> Any:
            printed = json.dumps(document)
            return (await call("printf", "%s", printed, output="json", output_extractor="a.b", **options)).output

        assert await extract({"a": {"b": ""}}) == ""
        assert await extract({"a": {"b": 0}}) == 0
        assert await extract({"a": {"b": None}}, allow_null=True) is None
        with pytest.raises(SolutionError, match="null"):
            await extract({"a": {"b": None}})
        with pytest.raises(SolutionError, match="has no `b`"):
            await extract({"a": {"c": 1}}, allow_null=True)

    async def test_a_key_that_is_there_twice_is_noted(self, call: Caller) -> None:
        answer = await call("printf", "%s", '{"a": 1, "a": 2}', output="json", output_extractor="a")
        assert (answer.output, len(answer.notes)) == (2, 1)

    @pytest.mark.parametrize(
        "printed", ["", "  \\n", "loading\\n{}", "{} {}", "NaN", "[1e999]", "{'a': 1}", '"\\\\xff"']
    )
    async def test_what_is_not_one_json_value_is_an_error_that_keeps_it(self, call: Caller, printed: str) -> None:
        error = await call.refused("printf", printed, output="json")
        assert error.kind == "bad_answer"
        assert error.partial is not None
        assert "stdout" in error.message

    async def test_deeply_nested_json_is_an_error_and_no_crash(self, call: Caller) -> None:
        error = await call.refused("sh", "-c", "head -c 200000 /dev/zero | tr '\\0' '['", output="json")
        assert "nested too deeply" in error.message

    async def test_bytes_that_are_not_utf8_stay_recognisable_and_are_noted(self, call: Caller) -> None:
        answer = await call("printf", "caf\\351 \\303\\251")
        assert answer.output == "caf\\xe9 é"
        assert "1 of its 7 bytes" in answer.notes[0]
        assert "\ufffd" not in answer.output
        assert "UTF-16" in (await call("printf", "\\377\\376a\\0")).notes[0]
        assert "not UTF-8" in (await call.refused("printf", '"\\351"', output="json")).message

    async def test_a_byte_order_mark_is_no_part_of_the_output(self, call: Caller) -> None:
        assert (await call("printf", "\\357\\273\\277IDLE")).output == "IDLE"
        assert (await call("printf", "\\357\\273\\2771", output="json")).output == 1

    async def test_the_first_byte_is_timed_and_told(self, call: Caller) -> None:
        answer = await call("sh", "-c", "sleep 0.2; echo a; sleep 0.1; echo b")
        assert answer.first_byte_seconds is not None
        assert answer.first_byte_seconds > 0.15
        assert call.phases == ["calling", "streaming"]


class TestFailures:
    async def test_another_exit_code_than_0_is_an_error_whatever_was_printed(self, cases: Path) -> None:
        error = await Caller(cases / "31-cmd-exit-and-noise").refused(PYTHON, "noise.py")
        assert error.kind == "exit_code"
        assert error.message == "exit 3: Traceback (most recent call last): KeyError"
        assert error.resend is Resend.MAYBE_RECEIVED
        assert error.partial is not None
        assert "9691" in error.partial.raw
        assert error.partial.exit_code == 3

    async def test_a_signal_is_named(self, cases: Path) -> None:
        error = await Caller(cases / "31-cmd-exit-and-noise").refused("./signal.sh")
        assert (error.kind, error.message) == ("exit_code", "killed by SIGSEGV")

    async def test_a_signal_is_named_also_when_a_shell_stands_between(self, cases: Path) -> None:
        error = await Caller(cases / "31-cmd-exit-and-noise").refused("sh", "-c", "./signal.sh; exit $?")
        assert error.message.startswith("exit 139 (what a shell says when SIGSEGV killed its program)")
        assert "(" not in (await Caller(cases).refused("sh", "-c", "exit 250")).message

    async def test_what_cannot_be_started_names_path_and_reason_and_is_not_tried_again(self, cases: Path) -> None:
        folder = cases / "31-cmd-exit-and-noise"
        call = Caller(folder)
        for error in (
            await call.refused("./not-executable.sh"),
            await call.refused("./missing.sh"),
            await call.refused("true", cwd="missing"),
        ):
            assert error.kind == "start"
            assert str(folder) in error.message
            assert error.resend is Resend.NEVER

    async def test_a_time_limit_says_which_and_keeps_what_came(self, call: Caller) -> None:
        limits = Limits(total=0.3, grace=0.2)
        error = await call.refused("sh", "-c", "echo half; echo why >&2; sleep 60", limits=limits)
        assert error.kind == "timed_out"
        assert "0.3 s (attempt_timeout_seconds)" in error.message
        assert error.message.endswith(": why")
        assert error.resend is Resend.MAYBE_RECEIVED
        assert error.partial is not None
        assert error.partial.output == "half"
        error = await call.refused("sleep", "60", limits=Limits(total=20, idle=0.2, grace=0.2))
        assert "no output for 0.2 s (idle_timeout_seconds)" in error.message

    async def test_a_flood_is_an_error(self, call: Caller) -> None:
        error = await call.refused("yes", max_output_bytes=2048)
        assert "more than 2048 bytes" in error.message
        assert error.partial is not None
        assert error.partial.raw_truncated
        assert len(error.partial.raw) == 2048

    async def test_leftovers_are_mentioned_with_the_accepted_answer(self, cases: Path) -> None:
        answer = await Caller(cases / "30-cmd-grandchild")("./done-but-held.sh", drain_seconds=0.1)
        assert answer.output == "complete answer"
        assert "left processes behind" in answer.notes[0]

    async def test_the_last_words_are_shown_without_terminal_codes(self, call: Caller) -> None:
        error = await call.refused("sh", "-c", "printf '\\033[31mred\\033[0m\\n' >&2; exit 1")
        assert error.message == "exit 1: red"

    async def test_an_extractor_that_is_no_jmespath_is_refused_when_the_solution_is_made(self, call: Caller) -> None:
        with pytest.raises(SpecError, match="JMESPath"):
            call.prepare({"argv": ["true"], "output": "json", "output_extractor": "a["}, {})

    async def test_half_a_surrogate_pair_on_stdin_is_an_argument_error(self, call: Caller) -> None:
        assert (await call.refused("cat", stdin="text", stdin_text="a\ud800")).kind == "argument"


async def test_a_hung_task_does_not_hold_the_others(cases: Path) -> None:
    lines = (cases / "39-one-hung-case/data.jsonl").read_text().splitlines()
    call = Caller(cases / "39-one-hung-case")
    finished: list[str] = []
    slots = asyncio.Semaphore(2)

    async def one(case: dict[str, Any]) -> None:
        async with slots:
            try:
                await call(PYTHON, "agent.py", stdin="json", case=case, limits=Limits(total=2, grace=0.3))
            except SolutionError as error:
                finished.append(f"{error.kind} {case['id']}")
            else:
                finished.append(case["id"])

    begun = time.monotonic()
    await asyncio.gather(*(one(json.loads(line)) for line in lines))
    assert finished == ["w1", "w3", "w4", "w5", "w6", "timed_out w2"]
    assert time.monotonic() - begun < 3


async def test_the_preview_is_what_is_sent_with_secrets_still_references(call: Caller) -> None:
    options = {"argv": ["agent", "${KEY}"], "env": {"TOKEN": "${KEY}"}, "stdin": "json", "cwd": "sub"}
    solution, request = call.prepare(options, {"id": "c1", "q": "é"})
    sent = {"argv": ["agent", "secret"], "env": {"TOKEN": "secret"}, "cwd": "sub"}
    preview = solution.preview(Rendered(sent, request.shown, "c1", {"q": "é"}))
    assert preview == {
        "argv": ["agent", "${KEY}"],
        "cwd": str(call.folder / "sub"),
        "stdin": '{"id": "c1", "q": "é"}\n',
        "env": {
            "NO_COLOR": "1",
            "TERM": "dumb",
            "TRACEPARENT": "(made for each attempt)",
            "TOKEN": "${KEY}",
        },
    }
    assert json.loads(json.dumps(preview)) == preview


async def test_values_handed_over_in_env_never_show_on_a_command_line(call: Caller) -> None:
    secret = "tok-7Qz-made-up"
    show = "cat /proc/$$/cmdline /proc/$PPID/cmdline | tr '\\0' ' '; echo; test -n \"$TOKEN\" && echo there"
    answer = await call("sh", "-c", show, env={"TOKEN": secret})
    assert answer.output.endswith("there")
    assert secret not in answer.output
