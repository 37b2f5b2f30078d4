"""Orchestration files: whatever AgentCompass refuses is refused, and more, all at once and with its place."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.platforms.agentcompass.files import RECORDED, changed, good_file, write
from tui_eval.errors import SpecError
from tui_eval.platforms.agentcompass.catalog import embedded_catalog
from tui_eval.platforms.agentcompass.loading import Checks, LoadedOrchestration, load_orchestration

ENVIRONMENT = {"KEY": "a-key-of-tests", "N": "5", "HOME": "/nonexistent"}
REQUEST = good_file()["requests"][0]
SECOND = {**REQUEST, "name": "b"}
MODEL = "defaults.model"

# What was written in each case that AgentCompass was asked about; its answers are in recorded/validation.jsonl.
FILES: dict[str, Any] = {
    "valid": good_file(),
    "duplicate names": changed(("requests.1", {**SECOND, "name": "a"})),
    "names colliding only after path sanitising (a b / a_b)": changed(
        ("requests.0.name", "a b"), ("requests.1", {**SECOND, "name": "a_b"})
    ),
    "name '..'": changed(("requests.0.name", "..")),
    "missing name": changed(("requests.0.name", ...)),
    "numeric name": changed(("requests.0.name", 7)),
    "unknown top-level field": changed(("foo", 1)),
    "unknown request field": changed(("requests.0.foo", 1)),
    "unknown model field": changed((f"{MODEL}.temperature", 0)),
    "unknown runtime field": changed(("runtime.foo", 1)),
    "unknown execution field": changed(("requests.0.execution.foo", 1)),
    "execution.task_concurrency": changed(("requests.0.execution.task_concurrency", 3)),
    "component params layer": changed(("requests.0.benchmark.params", {"dataset_dir": "data"})),
    "unknown benchmark config key": changed(("requests.0.benchmark.nope", 1)),
    "empty requests": changed(("requests", [])),
    "no requests key": changed(("requests", ...)),
    "requests mapping": changed(("requests", {"a": REQUEST})),
    "missing model": changed((MODEL, ...)),
    "model without id": changed((f"{MODEL}.id", ...)),
    "model null in request": changed(("requests.0.model", None)),
    "missing environment": changed(("defaults.environment", ...)),
    "unknown benchmark id": changed(("requests.0.benchmark.id", "nope")),
    "version 2": changed(("version", 2)),
    "version '1' (string)": changed(("version", "1")),
    "version 1.0": changed(("version", 1.0)),
    "no version": changed(("version", ...)),
    "task_concurrency 0": changed(("task_concurrency", 0)),
    "task_concurrency -1": changed(("task_concurrency", -1)),
    "task_concurrency 1.5": changed(("task_concurrency", 1.5)),
    "task_concurrency true": changed(("task_concurrency", True)),
    "task_concurrency '4'": changed(("task_concurrency", "4")),
    "task_concurrency x": changed(("task_concurrency", "x")),
    "task_concurrency null": changed(("task_concurrency", None)),
    "no task_concurrency (default)": changed(("task_concurrency", ...)),
    "timeout -1": changed(("runtime.timeout_seconds", -1)),
    "timeout 0": changed(("runtime.timeout_seconds", 0)),
    "provider_limits negative": changed(("runtime.provider_limits", {"docker": -1})),
    "provider_limits text": changed(("runtime.provider_limits", {"docker": "many"})),
    "progress bogus": changed(("runtime.progress", "bogus")),
    "env ref unset": changed((f"{MODEL}.api_key", "${UNSET_KEY}")),
    "env ref set": changed((f"{MODEL}.api_key", "${KEY}")),
    "env ref embedded": changed((f"{MODEL}.api_key", "Bearer ${KEY}")),
    "env ref with default": changed((f"{MODEL}.api_key", "${KEY:-d}")),
    "env ref in concurrency": changed(("task_concurrency", "${UNSET_N}")),
    "env ref in concurrency set to 5": changed(("task_concurrency", "${N}")),
    "reuse not bool": changed(("requests.0.runtime.reuse", "yes please")),
    "reuse_run_id missing dir": changed(("requests.0.runtime.reuse_run_id", "20000101000000")),
    "model list merge: params deep merge": changed(
        (f"{MODEL}.params", {"a": {"b": 1}}), ("requests.0.model", {"params": {"a": {"c": 2}}})
    ),
    "list replaced": changed(
        ("defaults.execution.retry_pattern_list", ["y", "z"]), ("requests.0.execution.retry_pattern_list", ["x"])
    ),
    "bad regex": changed(("requests.0.execution.retry_pattern_list", ["("])),
    "benchmark id overridden keeps default params": changed(
        ("defaults.benchmark", {"id": "browsecomp_zh", "dataset_dir": "data", "version": "good"}),
        ("requests.0.benchmark", {"id": "special_pattern_check"}),
    ),
    "max_retries -1": changed(("requests.0.execution.max_retries", -1)),
    "yaml syntax": "requests: [\n",
    "top-level list": [1, 2],
}
STRICTER = {"env ref unset", "unknown benchmark config key"}
"""What AgentCompass lets pass: an empty key is sent, a misspelt parameter ends every request of the launch."""
RECORD = [json.loads(line) for line in (RECORDED / "validation.jsonl").read_text(encoding="utf-8").splitlines()]


def load(folder: Path, data: Any, **options: Any) -> LoadedOrchestration:
    return load_orchestration(write(folder, data), environment=ENVIRONMENT, folder=folder, **options)


def refused(folder: Path, data: Any, **options: Any) -> list[str]:
    """The faults of a file that cannot be launched."""
    with pytest.raises(SpecError) as caught:
        load(folder, data, **options)
    return [str(fault) for fault in caught.value.faults]


def test_every_recorded_case_is_tried() -> None:
    assert {entry["case"] for entry in RECORD} == FILES.keys()


@pytest.mark.parametrize("entry", RECORD, ids=lambda entry: entry["case"])
def test_whatever_agentcompass_refuses_is_refused(entry: dict[str, Any], tmp_path: Path) -> None:
    data = FILES[entry["case"]]
    if entry["outcome"].startswith("OK") and entry["case"] not in STRICTER:
        loaded = load(tmp_path, data)
        assert (
            f"conc={loaded.task_concurrency} names={[request.name for request in loaded.requests]}" in entry["outcome"]
        )
        for name, (model, *_) in entry["extra"].items():
            assert next(request.model for request in loaded.requests if request.name == name) == model
    else:
        assert refused(tmp_path, data)


def test_all_faults_are_told_at_once_with_their_places(tmp_path: Path) -> None:
    text = """\
version: 2
task_concurency: 3
defaults:
  harness: {id: openai_chta}
  environment: {id: host_process, verifier_network_policy: none}
  model: {id: m, api_key: "${UNSET_KEY}"}
requests:
  - name: one
    benchmark: {id: special_pattern_check, datset_dir: data}
  - name: two
    execution: {max_retry: 1}
    benchmark: {id: special_pattern_check}
"""
    faults = refused(tmp_path, text)
    for place, part in (
        (":1:1", "version must be the number 1, not 2"),
        (":2:1", "did you mean `task_concurrency`?"),
        (":4:", "did you mean `openai_chat`?"),
        (":5:", "it is `evaluation_network_policy` here"),
        (":6:", "`UNSET_KEY` is not set"),
        (":9:", "did you mean `dataset_dir`?"),
        (":11:", "did you mean `max_retries`?"),
    ):
        assert any(f"orchestration.yaml{place}" in fault and part in fault for fault in faults), (part, faults)


def test_a_run_id_that_yaml_takes_for_a_number_is_refused(tmp_path: Path) -> None:
    text = write(tmp_path, good_file()).read_text() + "    runtime: {reuse_run_id: 20261129_112423}\n"
    text = text.replace("- name: a", "- name: a\n  output: {run_id: 2026_1129}")
    text = text.replace("    runtime: {reuse", "  runtime: {reuse")
    faults = refused(tmp_path, text)
    assert any("reads the unquoted `20261129_112423` as 20261129112423" in fault for fault in faults)
    assert any('quote it: run_id: "2026_1129"' in fault for fault in faults)


@pytest.mark.parametrize(("one", "other"), [("评测一", "评测二"), ("a b", "a_b"), ("x/y", "x y"), ("é", "中")])
def test_names_that_would_share_a_folder_are_refused(one: str, other: str, tmp_path: Path) -> None:
    data = changed(("requests.0.name", one), ("requests.1", {**SECOND, "name": other}))
    assert any("would have the same folder" in fault for fault in refused(tmp_path, data))


def test_equal_names_under_another_run_name_are_no_collision(tmp_path: Path) -> None:
    data = changed(
        ("requests.0.name", "a b"), ("requests.1", {**SECOND, "name": "a_b", "output": {"run_name": "other"}})
    )
    assert len(load(tmp_path, data).requests) == 2


def test_a_config_file_above_is_told_and_one_with_models_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("execution: {max_retries: 2}\n")
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    loaded = load(below, good_file())
    assert any("config.yaml" in str(warning) and "merges this file" in str(warning) for warning in loaded.warnings)
    assert loaded.requests[0].max_retries == 2
    (tmp_path / "config.yaml").write_text("models: {m: {}}\n")
    assert any("AgentCompass refuses `models`" in fault for fault in refused(below, good_file()))


def test_a_typed_key_is_never_stored(tmp_path: Path) -> None:
    secret = "sk-live-0123456789"
    data = changed(
        (f"{MODEL}.api_key", secret),
        ("requests.0.benchmark", {"id": "browsecomp_zh", "judge_model": {"id": "j", "api_key": secret + "-judge"}}),
    )
    loaded = load(tmp_path, data)
    assert secret not in json.dumps(loaded.stored)
    assert secret not in repr(loaded)
    assert all(secret not in json.dumps(request.sections) for request in loaded.requests)
    assert loaded.secrets.redact(f"key {secret}") == "key ********"


def test_the_value_of_a_variable_is_never_stored(tmp_path: Path) -> None:
    loaded = load(tmp_path, changed((f"{MODEL}.api_key", "${KEY}"), (f"{MODEL}.base_url", "${KEY}")))
    assert ENVIRONMENT["KEY"] not in json.dumps(loaded.stored) + json.dumps(loaded.requests[0].sections)
    assert loaded.references == {"KEY"}


def test_variables_inside_an_environment_may_have_defaults(tmp_path: Path) -> None:
    load(tmp_path, changed(("defaults.environment.env_variables", {"A": "${UNSET:-x}", "B": "pre ${KEY} post"})))
    faults = refused(tmp_path, changed(("defaults.environment.env_variables", {"A": "x ${UNSET_KEY}"})))
    assert any("`UNSET_KEY` is not set" in fault for fault in faults)


def test_components_of_a_preloaded_module_are_only_warned_about(tmp_path: Path) -> None:
    data = changed(("requests.0.benchmark", {"id": "jsonl_contains", "path": "x.jsonl"}))
    assert any("no benchmark `jsonl_contains`" in fault for fault in refused(tmp_path, data))
    loaded = load(tmp_path, data, against=Checks(preloaded=True))
    assert any("a preloaded module must register it" in str(warning) for warning in loaded.warnings)


def test_reuse_without_retries_is_told_to_run_nothing_again(tmp_path: Path) -> None:
    loaded = load(tmp_path, changed(("defaults.runtime.reuse", True)))
    assert any("failed tasks are taken over as they are" in str(warning) for warning in loaded.warnings)


def test_a_taken_run_id_is_refused(tmp_path: Path) -> None:
    (tmp_path / "results" / "a" / "mine").mkdir(parents=True)
    assert any("is taken" in fault for fault in refused(tmp_path, changed(("requests.0.output.run_id", "mine"))))


def test_settings_of_the_command_line_are_put_over_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, good_file())
    settings = {("task_concurrency",): 9, ("runtime", "results_dir"): "elsewhere"}
    loaded = load_orchestration(path, settings=settings, environment=ENVIRONMENT, folder=tmp_path)
    assert loaded.task_concurrency == 9
    assert loaded.results_dir == tmp_path / "elsewhere"


def test_limits_of_the_command_line_leave_those_of_other_environments(tmp_path: Path) -> None:
    path = write(tmp_path, changed(("runtime.provider_limits", {"host_process": 2, "docker": 8})))
    settings = {("runtime", "provider_limits"): {"docker": 4}, ("runtime", "env_open_qps"): {"docker": 1.5}}
    loaded = load_orchestration(path, settings=settings, environment=ENVIRONMENT, folder=tmp_path)
    assert loaded.data["runtime"]["provider_limits"] == {"host_process": 2, "docker": 4}
    assert loaded.data["runtime"]["env_open_qps"] == {"docker": 1.5}


def test_a_setting_for_every_request_is_one_for_every_request_whatever_it_is_called(tmp_path: Path) -> None:
    data = good_file()
    data["requests"] = [{**data["requests"][0], "name": name} for name in ("1", "a", "0")]
    settings = {("requests", "*", "output", "run_id"): "mine", ("requests", "a", "execution", "max_retries"): 2}
    loaded = load_orchestration(write(tmp_path, data), settings=settings, environment=ENVIRONMENT, folder=tmp_path)
    assert [request.run_id for request in loaded.requests] == ["mine"] * 3
    assert [request.max_retries for request in loaded.requests] == [0, 2, 0]


def test_a_setting_for_a_request_that_is_not_there_is_a_fault(tmp_path: Path) -> None:
    settings = {("requests", "nope", "name"): "x", ("task_concurrency",): 0}
    with pytest.raises(SpecError) as caught:
        load_orchestration(write(tmp_path, good_file()), settings=settings, environment=ENVIRONMENT, folder=tmp_path)
    assert [str(fault) for fault in caught.value.faults if "nope" in str(fault)]
    assert [str(fault) for fault in caught.value.faults if "task_concurrency" in str(fault)]


def test_the_embedded_catalogue_knows_every_component() -> None:
    catalog = embedded_catalog()
    counts = [len(catalog.of(kind)) for kind in ("benchmark", "harness", "environment")]
    assert counts == [34, 12, 11]


JSON_DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
PLACES = st.sampled_from(
    "version name task_concurrency runtime defaults requests requests.0 requests.0.name requests.0.benchmark "  # noqa: SIM905
    "requests.0.model requests.0.execution requests.0.runtime requests.0.output defaults.harness defaults.model.id "
    "defaults.execution requests.0.benchmark.id runtime.provider_limits requests.0.execution.attempts".split()
)


@settings(deadline=None)
@given(place=PLACES, value=JSON_DATA)
def test_no_value_at_any_place_breaks_the_checks(place: str, value: Any) -> None:
    data = changed((place, value))
    with suppress(SpecError):
        load_orchestration(data, environment=ENVIRONMENT, folder=Path("/nonexistent"))
