"""What a whole body means: JSON, text, and what is neither."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from tests.solutions.http_calls import answer_of, error_of
from tests.support.player import CASES, answer, play
from tui_eval.domain import Usage, as_text
from tui_eval.errors import Resend, SolutionError, SpecError
from tui_eval.solutions.http import HttpSolution


async def said(body: str | bytes, content_type: str = "application/json", headers: str = "", **options: Any) -> Any:
    async with play({"paths": {"/": answer(body, content_type, headers=headers)}}) as server:
        return await answer_of(server.url("/"), **options)


async def refused(
    body: str | bytes, content_type: str = "application/json", headers: str = "", **options: Any
) -> SolutionError:
    async with play({"paths": {"/": answer(body, content_type, headers=headers)}}) as server:
        return await error_of(server.url("/"), **options)


REPLIES = {
    line["n"]: line for line in map(json.loads, (CASES / "11-falsy-output/replies.jsonl").read_text().splitlines())
}


@pytest.mark.parametrize(("number", "output"), [(1, False), (2, 0), (3, ""), (6, {"a": [1, 2]}), (7, [])])
async def test_false_zero_empty_and_structured_values_are_outputs(number: int, output: Any) -> None:
    reply = REPLIES[number]
    found = (await said(json.dumps(reply["body"]), output_extractor=reply["path"])).output
    assert found == output
    assert type(found) is type(output)
    if number == 6:
        assert as_text(found) == '{"a": [1, 2]}'


async def test_null_is_an_error_unless_it_is_allowed() -> None:
    error = await refused('{"text": null}', output_extractor="text")
    assert (error.kind, str(error)) == ("bad_answer", "text is null")
    assert (await said('{"text": null}', output_extractor="text", allow_null=True)).output is None
    assert str(await refused("null")) == "the body is null"


async def test_a_key_that_is_there_twice_keeps_its_last_value_and_is_noted() -> None:
    found = await said('{"text": "first", "text": "last", "more": {"x": 1}}', output_extractor="text")
    assert found.output == "last"
    assert found.notes == ["an object of the answer has a key more than once (`text`): its last value counts"]
    many = await said("{" + ", ".join(f'"k{at}": 1, "k{at}": 2' for at in range(5)) + "}")
    assert "(`k0`, `k1`, `k2` and 2 more)" in many.notes[0]


@pytest.mark.parametrize(
    ("body", "path", "reason"),
    [
        ('{"other": 1}', "text", "response has no `text`; its keys are: other"),
        ("{}", "text", "response has no `text`; it has no keys at all"),
        ('{"a": {"x": 1}}', "a.b", "`a` has no `b`; its keys are: x"),
        ('{"a": null}', "a.b", "`a` is null and has no `b`"),
        ('{"a": []}', "a[0].b", "`a` has no item 0: it has 0 items"),
        ('{"a": [1]}', "a[0].b", "`a[0]` is a number and has no `b`"),
        ('{"a": "x"}', "a[0]", "`a` is a text and has no item 0"),
        ("[1]", "text", "response is a list and has no `text`"),
        ('"x"', "text", "response is a text and has no `text`"),
        ('{"c": 1}', "a || b", "response has no `b`; its keys are: c"),
        ('{"c": 1}', "a | b", "response has no `a`; its keys are: c"),
        ('{"c": 1}', "length(d)", "`length(d)` cannot be applied"),
        ('{"c": 1}', "d[*].e", "`d[*].e` matched nothing in the response; its keys are: c"),
    ],
)
async def test_a_missing_value_says_where_and_which_keys_there_are(body: str, path: str, reason: str) -> None:
    error = await refused(body, output_extractor=path, allow_null=True)
    assert error.kind == "bad_answer"
    assert str(error).startswith(reason)


async def test_many_keys_are_not_all_listed() -> None:
    error = await refused(json.dumps({f"key{n}" + "x" * 500: n for n in range(50)}), output_extractor="text")
    assert "and 30 more" in str(error)
    assert len(str(error)) < 2000


async def test_without_an_extractor_the_whole_json_is_the_output() -> None:
    found = await said('{"a": [1, 2.5, "x"]}', "application/problem+json; charset=utf-8")
    assert found.output == {"a": [1, 2.5, "x"]}
    assert found.raw == '{"a": [1, 2.5, "x"]}'
    assert found.content_type == "application/problem+json; charset=utf-8"


async def run_case(path: str, **options: Any) -> Any:
    async with play("18-http-200-error-body") as server:
        return await answer_of(server.url(path), output_extractor="text", **options)


async def error_of_case(path: str) -> SolutionError:
    async with play("18-http-200-error-body") as server:
        return await error_of(server.url(path), output_extractor="text")


async def test_an_error_body_with_status_200_is_the_agents_error() -> None:
    error = await error_of_case("/error-key")
    assert (error.kind, error.resend) == ("agent_error", Resend.NEVER)
    assert "try later" in str(error)
    assert error.partial is not None
    assert "try later" in error.partial.raw


async def test_a_null_text_beside_an_error_shows_the_error() -> None:
    error = await refused('{"text": null, "error": "try later"}', output_extractor="text")
    assert (error.kind, str(error)) == ("agent_error", "the agent says: try later (text is null)")


async def test_an_empty_error_beside_a_text_is_no_error() -> None:
    assert (await said('{"text": "x", "error": null}', output_extractor="text")).output == "x"


async def test_html_where_json_is_expected_is_quoted() -> None:
    error = await error_of_case("/html")
    assert str(error) == "expected JSON, got text/html: <html><title>Sign in</title></html>"
    long = await refused("<p>" + "x" * 5000, "text/html", output_extractor="text")
    assert len(str(long)) < 300


@pytest.mark.parametrize("path", ["/empty", "/no-content"])
async def test_an_empty_body_is_not_an_empty_answer(path: str) -> None:
    error = await error_of_case(path)
    assert error.kind == "bad_answer"
    assert str(error).startswith("empty body")


@pytest.mark.parametrize(
    ("body", "content_type"), [(" \r\n", "application/json"), ("", "text/plain"), ("\ufeff", "application/json")]
)
async def test_white_space_is_no_json_and_nothing_is_no_text(body: str, content_type: str) -> None:
    assert str(await refused(body, content_type)).startswith("empty body")


async def test_json_with_the_type_of_text_is_accepted_where_json_is_expected() -> None:
    found = await run_case("/text-json")
    assert (found.output, found.content_type) == ("json with a text type", "text/plain")


async def test_a_bom_before_json_is_accepted() -> None:
    assert (await run_case("/json-bom")).output == "ok"


async def test_broken_json_is_explained_and_kept() -> None:
    error = await error_of_case("/not-json")
    assert str(error) == "invalid JSON, text not closed at character 9"
    assert error.partial is not None
    assert error.partial.raw == '{"text": "cut'
    assert "extra data after the first value" in str(await error_of_case("/two-docs"))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("{", "a key in double quotes was expected"),
        ('{"a":', "it ends where a value was expected, at character 5"),
        ("[1,", "it ends where a value was expected, at character 3"),
        ("[1 2]", "a comma or a closing bracket was expected at character 3"),
        ('{"a" 1}', "a colon was expected"),
        ('"a\nb"', "a control character inside a text at character 2"),
        ('{"a": NaN}', "NaN is not a JSON number"),
        ('{"a": -Infinity}', "-Infinity is not a JSON number"),
        ("1e999", "a number is too large"),
        ("9" * 5000, "a number has too many digits"),
        ("[" * 100_000, "nested too deeply"),
        ("[" * 300 + "]" * 300, "nested too deeply (more than 256 levels)"),
        ('{"a":' * 300 + "1" + "}" * 300, "nested too deeply (more than 256 levels)"),
        ("'a'", "a value was expected at character 0"),
    ],
)
async def test_what_is_not_json_is_explained(body: str, words: str) -> None:
    error = await refused(body, output_extractor="a")
    assert error.kind == "bad_answer"
    assert words in str(error)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32", "utf-8-sig"])
async def test_json_in_another_unicode_encoding_is_read(encoding: str) -> None:
    assert (await said('{"text": "né"}'.encode(encoding), output_extractor="text")).output == "né"


async def test_json_in_the_charset_it_names_is_read() -> None:
    body = '{"text": "né"}'.encode("latin-1")
    assert (await said(body, "application/json; charset=ISO-8859-1", output_extractor="text")).output == "né"
    error = await refused(body, output_extractor="text")
    assert str(error) == "invalid JSON, byte 11 is not utf-8"


async def test_deep_json_is_read_and_many_brackets_are_not_depth() -> None:
    body = "[" * 250 + r'"\ud83d"' + "]" * 250
    assert (
        json.dumps((await said(body)).output, ensure_ascii=False).encode()
        == b"[" * 250 + '"\ufffd"'.encode() + b"]" * 250
    )
    assert len((await said("[" + "[]," * 1000 + "[]]")).output) == 1001


async def test_half_an_emoji_becomes_a_mark_that_can_be_stored() -> None:
    found = (await said(r'{"text": "a\ud83d b\ud83c\udf88", "\ud800": 1}', output_extractor="@")).output
    assert found == {"text": "a\ufffd b🎈", "\ufffd": 1}
    json.dumps(found, ensure_ascii=False).encode()


async def test_text_is_an_output_when_nothing_asks_for_json() -> None:
    assert (
        await said('data: {"text": "not a stream"}\n\n', "text/plain")
    ).output == 'data: {"text": "not a stream"}\n\n'
    assert (await said("<b>hi</b>", "text/html")).output == "<b>hi</b>"
    assert (await said('{"a": 1}', response="text")).output == '{"a": 1}'
    assert (await said(" ", "text/plain")).output == " "


async def test_a_body_that_looks_like_events_is_no_stream_without_the_content_type() -> None:
    error = await refused('data: {"t": "x"}\n\n', "text/plain", chunk_extractor="t")
    assert str(error).startswith("expected text/event-stream, got text/plain: data:")


async def test_json_where_events_were_expected_is_not_taken_for_an_answer() -> None:
    error = await refused('{"t": "x"}', chunk_extractor="t")
    assert "expected text/event-stream, got application/json" in str(error)
    assert "output_extractor" in str(error)
    error = await refused('{"error": "busy"}', chunk_extractor="t")
    assert (error.kind, "busy" in str(error)) == ("agent_error", True)


async def test_text_in_the_charset_it_names_is_read_and_wrong_bytes_are_noted() -> None:
    assert (await said("né".encode("cp1252"), "text/plain; charset=windows-1252")).output == "né"
    found = await said(b"a\xffb", "text/plain")
    assert found.output == "a\ufffdb"
    assert found.notes == ["1 place in the body cannot be read as text and stand as \ufffd"]
    assert (await said("\ufffd", "text/plain")).notes == []
    assert (await said("x", "text/plain; charset=zip")).output == "x"


async def test_a_picture_is_not_text() -> None:
    assert str(await refused(b"\x89PNG", "image/png")) == "expected JSON or text, got image/png (4 bytes)"


async def test_error_when_makes_an_answer_the_agents_error() -> None:
    error = await refused('{"text": "x", "status": "failed"}', output_extractor="text", error_when="status == 'failed'")
    assert error.kind == "agent_error"
    assert "status == 'failed'" in str(error)
    error = await refused('{"code": 5, "error": {"message": "no"}}', output_extractor="text", error_when="code")
    assert str(error) == "the agent says: no"
    error = await refused('{"fault": {"detail": "why"}}', error_when="fault")
    assert str(error) == "the agent says: why"


@pytest.mark.parametrize("value", ["null", "false", "0", '""', "[]", "{}"])
async def test_error_when_is_not_true_for_null_false_zero_and_empty(value: str) -> None:
    found = await said(f'{{"text": "x", "code": {value}}}', output_extractor="text", error_when="code")
    assert found.output == "x"


async def test_token_counts_are_taken_where_they_are() -> None:
    body = '{"text": "x", "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}, "u": {"input_tokens": 9}}'
    assert (await said(body, output_extractor="text")).usage == Usage(3, 4, 7)
    assert (await said(body, output_extractor="text", usage_extractor="u")).usage == Usage(9)
    assert (await said('{"usage": {"prompt_tokens": true, "cost": -1}}')).usage is None
    assert (await said('{"usage": "many"}')).usage is None


async def test_a_gzip_body_that_lies_or_is_cut_is_never_passed_off_as_whole() -> None:
    lie = await refused('{"text": "x"}', headers="content-encoding: gzip\r\n", output_extractor="text")
    assert "content-encoding: gzip" in str(lie)
    assert lie.partial is not None
    assert lie.partial.raw == '{"text": "x"}'
    packed = gzip.compress(json.dumps({"text": "x" * 300}).encode())
    whole = await said(packed, headers="content-encoding: gzip\r\n", output_extractor="text")
    assert (whole.output, whole.notes) == ("x" * 300, [])
    cut = await said(packed[:-4], headers="content-encoding: gzip\r\n", output_extractor="text")
    assert (cut.output, "before its end" in cut.notes[0]) == ("x" * 300, True)
    short = await refused(packed[:25], headers="content-encoding: gzip\r\n", output_extractor="text")
    assert "gzip" in str(short)
    text = await refused(gzip.compress(b"long text")[:-6], "text/plain", headers="content-encoding: gzip\r\n")
    assert (text.kind, "gzip" in str(text)) == ("incomplete", True)


async def test_encodings_named_in_two_headers_are_one_list() -> None:
    twice = gzip.compress(gzip.compress(b'{"text": "x"}'))
    found = await said(twice, headers="content-encoding: gzip\r\n" * 2, output_extractor="text")
    assert found.output == "x"
    once = await refused(gzip.compress(b'{"text": "x"}'), headers="content-encoding: gzip\r\n" * 2)
    assert "content-encoding: gzip" in str(once)


@pytest.mark.parametrize("packed", [False, True])
async def test_a_flood_and_a_bomb_stop_at_the_limit(packed: bool) -> None:
    body = b"x" * 3_000_000
    headers = "content-encoding: gzip\r\n" if packed else ""
    data = gzip.compress(body) if packed else body
    error = await refused(data, "text/plain", headers=headers, max_response_bytes=100_000)
    assert "max_response_bytes (100000)" in str(error)
    assert error.partial is not None
    assert error.partial.raw_truncated
    assert len(error.partial.raw) <= 100_000


def test_an_expression_that_is_not_jmespath_is_refused_when_the_solution_is_made() -> None:
    from tests.solutions.http_calls import SETUP
    from tui_eval.spec.solution_options import HttpOptions

    with pytest.raises(SpecError, match="output_extractor"):
        HttpSolution(HttpOptions(url="http://h", output_extractor="a[[", method="GET"), SETUP)
