from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.platforms.agentloop.conftest import KEYS
from tests.platforms.agentloop.fake import Asked, FakePlatform, rows
from tests.platforms.agentloop.plans import plan_data, plan_text
from tui_eval.cli.checking import Checked, check
from tui_eval.errors import PlatformError
from tui_eval.platforms.agentloop.client import AgentLoop
from tui_eval.platforms.agentloop.nouns import PlatformPlan
from tui_eval.platforms.agentloop.rows import load_rows

PLAN = PlatformPlan("plan-demo", type="offline", dataset="arith_ds")


def ids(found: list[dict[str, Any]]) -> list[str]:
    return [row["id"] for row in found]


async def test_rows_are_read_to_the_end_whatever_the_pages_are(fake: FakePlatform, client: AgentLoop) -> None:
    fake.rows = rows(250)
    for size in (100, 30):
        fake.page_size = size
        loaded = await load_rows(client, PLAN)
        assert ids(loaded.rows) == ids(fake.rows)
        assert (loaded.there, loaded.more) == (250, False)


async def test_a_cap_says_how_many_rows_there_are(fake: FakePlatform, client: AgentLoop) -> None:
    fake.rows = rows(250)
    loaded = await load_rows(client, PLAN, most=120)
    assert (len(loaded.rows), loaded.there, loaded.more) == (120, 250, True)
    exactly = await load_rows(client, PLAN, most=250)
    assert (len(exactly.rows), exactly.there, exactly.more) == (250, 250, False)


async def test_more_than_a_hundred_selected_rows_are_all_there(fake: FakePlatform, client: AgentLoop) -> None:
    fake.rows = [*rows(300), {**rows(1)[0], "id": "it's"}]
    wanted = [*ids(fake.rows)[:150], "it's"]
    loaded = await load_rows(client, PlatformPlan("p", dataset="arith_ds", selected_ids=tuple(wanted)))
    assert set(ids(loaded.rows)) == set(wanted)
    assert len(loaded.rows) == 151


async def test_a_selected_row_that_is_not_there_is_an_error(client: AgentLoop) -> None:
    plan = PlatformPlan("p", dataset="arith_ds", selected_ids=("item-0000", "gone"))
    with pytest.raises(
        PlatformError, match="1 of the 2 rows that the plan selects are not in the dataset arith_ds: gone"
    ):
        await load_rows(client, plan)


@pytest.mark.parametrize("condition", ["category = 'math'", " WHERE category = 'math' ", "category = 'math';"])
async def test_a_condition_is_a_where_clause(fake: FakePlatform, client: AgentLoop, condition: str) -> None:
    loaded = await load_rows(client, PlatformPlan("p", dataset="arith_ds", query_sql=condition))
    assert ids(loaded.rows) == ["item-0001", "item-0003"]
    sql = fake.ops("ExecuteQuery")[0].body["query"]
    assert sql == "* | select * from `arith_ds` WHERE (category = 'math') ORDER BY id LIMIT 0, 100"


async def test_a_whole_query_becomes_a_table_of_its_own(fake: FakePlatform, client: AgentLoop) -> None:
    await load_rows(client, PlatformPlan("p", dataset="arith_ds", query_sql="* | select id, input from `arith_ds`"))
    assert (
        "from (select id, input from `arith_ds`) ORDER BY id LIMIT 0, 100" in fake.ops("ExecuteQuery")[0].body["query"]
    )


async def test_a_page_that_fails_fails_the_whole(fake: FakePlatform, client: AgentLoop) -> None:
    fake.rows = rows(250)

    def second_page(asked: Asked) -> Any:
        return (400, {"code": "Bad", "message": "boom"}) if "LIMIT 100," in str(asked.body) else None

    fake.intercept = second_page
    with pytest.raises(PlatformError, match="boom"):
        await load_rows(client, PLAN)


async def test_a_name_cannot_end_the_quotes_of_a_query(client: AgentLoop) -> None:
    with pytest.raises(PlatformError, match="cannot be the name of a dataset"):
        await load_rows(client, PlatformPlan("p", dataset="x` or `y"))


# In a plan.


def checked(tmp_path: Path, text: str, environment: dict[str, str] | None = None) -> Checked:
    path = tmp_path / "plan.yaml"
    path.write_text(text, encoding="utf-8")
    return check(path, environment=KEYS if environment is None else environment)


def test_a_plan_takes_the_platforms_rows_and_says_how_many(tmp_path: Path, fake: FakePlatform) -> None:
    found = checked(tmp_path, plan_text(fake, section="max_rows: 2"))
    assert found.faults == []
    assert found.preflight is not None
    assert found.preflight.tasks == 2
    assert "2 rows were loaded, there are 4 (max_rows)" in [warning.message for warning in found.warnings]


def test_a_request_may_have_a_dataset_of_its_own_and_a_sample_of_the_platforms(fake: FakePlatform) -> None:
    data = plan_data(fake)
    own = {**data["requests"][0], "name": "own", "dataset": {"cases": [{"id": "a", "input": "x"}]}}
    sampled = {**data["requests"][0], "name": "sampled", "dataset": {"sample": {"limit": 1}}}
    data["requests"] += [own, sampled]
    found = check(data, environment=KEYS)
    assert found.faults == []
    assert found.preflight is not None
    assert [entry.tasks for entry in found.preflight.requests] == [4, 1, 1]


def test_columns_that_the_platform_does_not_have_are_faults(tmp_path: Path, fake: FakePlatform) -> None:
    text = plan_text(
        fake,
        solution=f'{{type: http, url: "{fake.agent}", body: "{{{{ inptu }}}}"}}',
        evaluators="[{id: contains, variable_mapping: {expected_output: dataset.expected}}]",
    )
    messages = " ".join(fault.message for fault in checked(tmp_path, text).faults)
    assert "`inptu` is not a column of the dataset" in messages
    assert "expected" in messages


def test_faults_of_the_section_have_their_line(tmp_path: Path, fake: FakePlatform) -> None:
    section = """\
    ground_truth_field: answer
    evaluators:
      - evaluator_ref: Builtin.agent_correctness
        variable_mapping: {input: experiment_input, output: experiment_output, x: dataset.nope}
      - evaluator_ref: Builtin.unknown
    """
    found = checked(tmp_path, plan_text(fake, section=section))
    assert [(fault.line, fault.path.removeprefix("agentloop."), fault.message) for fault in found.faults] == [
        (10, "ground_truth_field", "`answer` is not a column of the dataset"),
        (
            13,
            "evaluators.0.variable_mapping",
            "the variable `expected_output` of Builtin.agent_correctness is not mapped",
        ),
        (13, "evaluators.0.variable_mapping.x", "Builtin.agent_correctness has no variable `x`"),
        (13, "evaluators.0.variable_mapping.x", "`nope` is not a column of the dataset"),
        (14, "evaluators.1.evaluator_ref", "the platform has no evaluator `Builtin.unknown`"),
    ]


def test_evaluators_that_the_platform_will_ignore_are_told(tmp_path: Path, fake: FakePlatform) -> None:
    fake.evaluators = []
    section = """\
    evaluators:
      - evaluator_ref: Builtin.agent_correctness
        variable_mapping: {input: experiment_input, output: experiment_output, expected_output: dataset.expected_output}
    """
    found = checked(tmp_path, plan_text(fake, section=section))
    assert found.faults == []
    (told,) = [warning for warning in found.warnings if warning.path == "agentloop.evaluators"]
    assert "ignores those of this file that are not among them: Builtin.agent_correctness" in told.message
    assert "update-plan" in told.hint
    assert told.line == 10


def test_whether_anything_judges_is_said_where_it_is_known(tmp_path: Path, fake: FakePlatform) -> None:
    def words() -> list[str]:
        return [warning.message for warning in checked(tmp_path, plan_text(fake)).warnings]

    assert not any("evaluators" in text for text in words())
    fake.evaluators = []
    assert [text for text in words() if "evaluators" in text] == [
        "the platform's plan plan-demo has no evaluators: the platform will not judge the results"
    ]


@pytest.mark.parametrize(
    ("plan_id", "words"), [("plan-live", "is online, not offline"), ("missing", "PlanNotFound: no such plan")]
)
def test_a_plan_that_cannot_be_run_here_is_a_fault(
    tmp_path: Path, fake: FakePlatform, plan_id: str, words: str
) -> None:
    found = checked(tmp_path, plan_text(fake).replace("plan-demo", plan_id))
    assert any(words in fault.message for fault in found.faults)


def test_without_credentials_the_fault_says_what_to_set(tmp_path: Path, fake: FakePlatform) -> None:
    found = checked(tmp_path, plan_text(fake), {"HOME": str(tmp_path)})
    assert any("set AGENTLOOP_AK and AGENTLOOP_SK" in fault.message for fault in found.faults)
    assert fake.asked == []


def test_a_pipeline_that_is_not_run_here_is_told(tmp_path: Path, fake: FakePlatform) -> None:
    fake.plan["pipelineName"] = "enrich"
    found = checked(tmp_path, plan_text(fake))
    assert any("pipeline enrich, which is not run here" in warning.message for warning in found.warnings)


def test_no_rows_is_no_crash(tmp_path: Path, fake: FakePlatform) -> None:
    fake.rows = []
    found = checked(tmp_path, plan_text(fake))
    assert [fault.message for fault in found.faults] == ["0 of 0 cases selected: nothing to run"]


def test_settings_of_files_are_refused_for_a_platform(fake: FakePlatform) -> None:
    data = plan_data(fake)
    data["requests"][0]["dataset"] = {"delimiter": ";"}
    found = check(data, environment=KEYS)
    assert any("delimiter" in fault.message for fault in found.faults)


def test_a_platform_needs_its_section(fake: FakePlatform) -> None:
    data = plan_data(fake)
    del data["agentloop"]
    data["requests"][0]["dataset"] = {"platform": "agentloop"}
    assert any("the plan has no section `agentloop`" in fault.message for fault in check(data, environment=KEYS).faults)


def test_only_the_platforms_own_module_is_asked_and_only_when_it_is_named() -> None:
    import subprocess
    import sys

    code = (
        "import sys; from tui_eval.cli.checking import check; "
        "check({'version': 1, 'name': 'x', 'requests': [{'name': 'r', 'dataset': {'cases': [{'id': 'a'}]}, "
        "'solution': {'type': 'command', 'argv': ['true']}}]}); "
        "print([name for name in sys.modules if 'agentloop' in name])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"
