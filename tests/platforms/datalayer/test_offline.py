"""Outputs that are there already, graded against an evalset: from Python, from the command line, and there and back."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.support.product import Product
from tui_eval.errors import SpecError, UsageError
from tui_eval.platforms.datalayer import (
    EvalsetRefused,
    async_evaluate_evalset,
    evaluate_evalset,
    load_evalset_spec,
    run_and_evaluate_evalset,
)

EVALSETS = Path(__file__).parent / "evalsets"
SPEC: dict[str, Any] = {
    "name": "sums",
    "evalset_evaluators": [{"name": "equals_expected"}],
    "report_evaluators": [{"name": "pass_rate_threshold", "arguments": {"min_pass_rate": 0.5}}],
    "cases": [
        {"name": "one", "inputs": {"prompt": "1 + 1"}, "expected_output": {"text": "2"}},
        {"name": "two", "inputs": {"prompt": "2 + 2"}, "expected_output": "4"},
        {"name": "free", "inputs": "say something", "expected_output": {"label": "any"}},
    ],
}


def outcomes(metrics: dict[str, Any]) -> list[str]:
    return [case["outcome"] for case in metrics["case_results"]]


def test_outputs_are_graded_without_an_agent() -> None:
    metrics = evaluate_evalset(SPEC, ["2", {"text": "5"}, "hi"])
    assert outcomes(metrics) == ["passed", "failed", "unscored"]
    assert (metrics["pass_rate"], metrics["passed"], metrics["failed"], metrics["unscored"]) == (0.5, 1, 1, 1)
    assert metrics["evaluator_results"][-1]["passed"] is True


def test_compat_gives_the_figures_of_the_reference() -> None:
    metrics = evaluate_evalset(SPEC, ["2", None], statuses=["completed", "", "failed"], grading="compat")
    assert outcomes(metrics) == ["passed", "failed", "error"]
    assert (metrics["pass_rate"], metrics["failed"]) == (pytest.approx(1 / 3), 2)
    assert evaluate_evalset(SPEC, ["2", "4"], grading="compat")["pass_rate"] == 1.0


def test_outputs_may_be_named_by_their_cases_and_a_missing_one_is_an_error() -> None:
    metrics = evaluate_evalset(SPEC, {"two": "4"})
    assert outcomes(metrics) == ["error", "passed", "error"]
    assert metrics["case_results"][0]["explanation"] == "there is no output for this case"


def test_a_status_that_says_so_makes_a_case_an_error_whatever_its_output() -> None:
    assert outcomes(evaluate_evalset(SPEC, ["2", "4", "x"], statuses=["FAILED", None, "completed"])) == [
        *("error", "passed", "unscored")
    ]


@pytest.mark.parametrize(
    "outputs", [["1"] * 4, {"three": "x"}, "2", 7], ids=["too many", "unknown name", "a text", "a number"]
)
def test_outputs_that_fit_no_case_are_refused(outputs: Any) -> None:
    with pytest.raises(EvalsetRefused, match=r"output|called"):
        evaluate_evalset(SPEC, outputs)
    with pytest.raises(SpecError):
        evaluate_evalset({"name": "x", "cases": []}, [])


def test_a_program_answers_every_case_and_what_it_raises_costs_only_its_case() -> None:
    seen = []

    def run_case(case: dict[str, Any], index: int) -> Any:
        seen.append((case["name"], index))
        if index == 1:
            raise KeyError("boom")
        return {"output": {"text": "2"}, "status": "completed"} if index == 0 else "anything"

    metrics = run_and_evaluate_evalset(SPEC, run_case)
    assert seen == [("one", 0), ("two", 1), ("free", 2)]
    assert outcomes(metrics) == ["passed", "error", "unscored"]
    assert metrics["case_results"][1]["explanation"] == "error: KeyError: 'boom'"


async def test_inside_an_event_loop_the_async_form_is_asked_for() -> None:
    with pytest.raises(UsageError, match="await async_evaluate_evalset"):
        evaluate_evalset(SPEC, ["2"])
    assert outcomes(await async_evaluate_evalset(SPEC, ["2"]))[0] == "passed"


# -- on the command line --


@pytest.fixture
def product(tmp_path: Path) -> Product:
    (tmp_path / "sums.evalset.json").write_text(json.dumps(SPEC))
    return Product(tmp_path)


def test_the_command_line_grades_and_the_pass_rate_asked_for_decides(product: Product) -> None:
    (product.folder / "good.json").write_text('{"outputs": ["2", "4", "x"], "statuses": ["", "failed"]}')
    done = product.run("datalayer", "evaluate", "sums.evalset.json", "--outputs", "good.json", "--output", "m.json")
    assert done.returncode == 0, done.stderr
    assert "3 cases: 1 passed, 0 failed, 1 without an answer, 1 unscored; pass rate 100.0%" in done.stdout
    assert json.loads((product.folder / "m.json").read_text())["total_cases"] == 3
    (product.folder / "bad.json").write_text('{"one": "3", "two": "4 "}')
    (product.folder / "statuses.json").write_text('["completed", "failed"]')
    bad = product.run(
        *(
            "datalayer",
            "evaluate",
            "sums.evalset.json",
            "--outputs",
            "bad.json",
            "--statuses",
            "statuses.json",
            "--json",
        )
    )
    assert bad.returncode == 1
    assert outcomes(json.loads(bad.stdout)) == ["failed", "error", "error"]


@pytest.mark.parametrize(
    ("text", "told"), [("[1,", "no valid JSON"), ('"x"', "expected a list"), ('{"outputs": 1}', "`outputs` must be")]
)
def test_a_file_that_holds_no_outputs_is_told_with_its_place(product: Product, text: str, told: str) -> None:
    (product.folder / "o.json").write_text(text)
    done = product.run("datalayer", "evaluate", "sums.evalset.json", "--outputs", "o.json")
    assert (done.returncode, told in done.stderr, "o.json" in done.stderr) == (2, True, True), done.stderr


def test_the_outputs_of_a_run_are_written_and_graded_again_to_the_same(product: Product) -> None:
    plan = """\
        version: 1
        name: sums
        defaults:
          dataset: {path: sums.evalset.json, format: evalset}
          evaluators:
            - id: datalayer
              variable_mapping: {expected_output: dataset.expected_output, evaluators: dataset.evaluators}
          execution: {n_repeat: 2}
        requests:
          - name: a shell
            solution: {type: command, argv: [sh, -c, 'test "$0" != "2 + 2" || exit 3; echo 2', "{{ prompt }}"]}
    """
    product.write_plan("\n".join(line.removeprefix(" " * 8) for line in plan.splitlines()))
    assert product.run("run", "plan.yaml", "--run-id", "one", "--progress", "none").returncode == 1
    written = product.json("datalayer", "outputs", "one", "--into", "out")
    assert [Path(path).name for path in written] == [
        *("outputs-one-a_shell-1.json", "outputs-one-a_shell-2.json"),
    ]
    data = json.loads((product.folder / written[0]).read_text())
    assert (data["cases"], data["statuses"]) == (["one", "two", "free"], ["completed", "failed", "completed"])
    assert data["outputs"][1] is None
    again = product.json("datalayer", "evaluate", "sums.evalset.json", "--outputs", written[0])
    assert outcomes(again) == ["passed", "error", "unscored"]


# -- the judge --


@pytest.fixture
def judge() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    asked: list[dict[str, Any]] = []

    class Model(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            text = json.dumps({"reason": "half of it", "score": 0.2, "failure_mode": "Incomplete"})
            raw = json.dumps({"choices": [{"message": {"role": "assistant", "content": text}}]}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *arguments: Any) -> None:
            """Nothing on standard error."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/v1", asked
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_judge_is_asked_by_the_model_of_the_case_and_names_the_way_of_the_failure(
    judge: tuple[str, list[dict[str, Any]]],
) -> None:
    url, asked = judge
    judged = [
        {"name": "own model", "inputs": "x", "evaluators": [{"name": "llm_judge", "arguments": {"model": "other"}}]},
        {"name": "plain", "inputs": "x", "evaluators": [{"name": "llm_judge", "arguments": {"rubric": "is it kind?"}}]},
    ]
    spec = {**SPEC, "report_evaluators": [], "cases": judged}
    metrics = evaluate_evalset(spec, ["a", "b"], judge={"base_url": url, "model": "usual"})
    assert outcomes(metrics) == ["failed", "failed"]
    assert [case["failure_mode"] for case in metrics["case_results"]] == ["incomplete", "incomplete"]
    assert sorted(one["model"] for one in asked) == ["other", "usual"]
    by_model = {one["model"]: str(one["messages"]) for one in asked}
    assert "strict about numbers" in by_model["other"]  # the reference's own rubric, where the case names none
    assert "is it kind?" in by_model["usual"]
    assert all("failure_mode" in text for text in by_model.values())


def test_the_shipped_evalsets_can_be_graded() -> None:
    for path in EVALSETS.glob("*.evalset.json"):
        spec = load_evalset_spec(path)
        outputs = [case.get("expected_output") for case in spec["cases"]]
        metrics = evaluate_evalset(spec, outputs, grading="compat")
        assert metrics["total_cases"] == len(spec["cases"])
