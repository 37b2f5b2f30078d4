"""Composing an orchestration without a screen: forms of the catalogue, changes of the data, the file that is written."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.platforms.agentcompass.files import RECORDED, good_file
from tui_eval.errors import Fault
from tui_eval.platforms.agentcompass import fields, forms
from tui_eval.platforms.agentcompass.catalog import embedded_catalog
from tui_eval.store.records import Counters, RunRecord, RunState
from tui_eval.tui import agentcompass_draft as drafts
from tui_eval.tui.agentcompass_draft import DEFAULTS, WHOLE, CompassDraft
from tui_eval.tui.agentcompass_reading import examine, section_faults
from tui_eval.tui.agentcompass_saving import text_of, with_references
from tui_eval.tui.projections import agentcompass as shown
from tui_eval.tui.projections.form_fields import FieldKind, fields_of
from tui_eval.tui.projections.run_summary import remark


def draft(data: Any = None) -> CompassDraft:
    value = good_file() if data is None else data
    return CompassDraft(Path("/nowhere"), None, value, value)


# -- forms --


def test_the_forms_have_every_key_that_agentcompass_takes() -> None:
    ignored = {"log_file", "task_concurrency"}  # one is never read there, the other not allowed
    for model, keys in (
        (forms.Runtime, fields.RUNTIME),
        (forms.Model, fields.MODEL),
        (forms.Execution, fields.EXECUTION),
        (forms.Reuse, fields.RUN_RUNTIME),
        (forms.Output, fields.OUTPUT),
    ):
        assert set(model.model_fields) == set(keys) - ignored


def test_every_component_of_the_catalogue_has_a_form_with_all_its_parameters() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind in ("benchmark", "harness", "environment"):
            known = embedded_catalog().of(kind)
            for component in known.values():
                found = fields_of(forms.component_model(known, component, {}))
                assert [each.name for each in found] == ["id", *component.parameters]


def test_a_parameter_is_asked_for_as_its_type_says() -> None:
    known = embedded_catalog().of("harness")
    found = {each.name: each for each in fields_of(forms.component_model(known, known["claude_code"], {}))}
    assert found["max_turns"].kind is FieldKind.NUMBER
    assert found["max_turns"].default == "400"
    assert [label for label, _ in found["install_strategy"].choices] == ["preinstalled", "install_if_missing", "upload"]
    assert found["binary"].kind is FieldKind.TEXT
    assert not found["max_turns"].required


def test_what_is_inherited_is_shown_as_the_default_and_not_required() -> None:
    model = forms.with_defaults(forms.Model, {"id": "mock", "params": {"temperature": 0}})
    found = {each.name: each for each in fields_of(model)}
    assert (found["id"].required, found["id"].default) == (False, "mock")
    assert "temperature" in found["params"].default
    nested = forms.with_defaults(forms.Execution, {"attempts": {"k": 4}})
    assert next(each.default for each in fields_of(nested) if each.name == "attempts.k") == "4"
    assert not any(each.required for each in fields_of(forms.with_defaults(forms.Model, {}, whole=False)))


# -- changes --


def test_a_section_that_is_emptied_is_gone_and_the_others_stay_in_their_order() -> None:
    changed = drafts.with_section(draft(), 0, "execution", {"max_retries": 1})
    assert list(changed.data["requests"][0]) == ["name", "benchmark", "execution"]
    assert drafts.with_section(changed, 0, "execution", {}).data == good_file()
    assert good_file() == draft().data, "a draft never changes in place"


def test_a_copied_request_has_no_run_id_of_another() -> None:
    before = drafts.with_section(draft(), 0, "output", {"run_id": "one", "run_name": "x"})
    copied = drafts.with_request(before, "b", 0).data["requests"][1]
    assert copied["output"] == {"run_name": "x"}
    assert copied["benchmark"] == before.data["requests"][0]["benchmark"]


@pytest.mark.parametrize("data", [{"requests": 3}, {"requests": [1, None, {"name": ["a"]}]}, {"defaults": []}, {}])
def test_a_file_of_any_shape_can_be_shown_and_changed(data: Any) -> None:
    for owner in shown.owners(draft(data)):
        shown.part_rows(draft(data), owner, [])
        drafts.with_section(draft(data), owner, shown.parts(owner)[-1], {"x": 1})
    shown.owner_rows(draft(data), [Fault("x", path="requests.0.benchmark")])
    drafts.with_request(draft(data), "new", DEFAULTS)


def test_a_fault_is_found_again_in_its_section() -> None:
    data = good_file()
    data["requests"][0]["name"] = "a.b"
    for path, place in (
        ("requests.a.b.benchmark.version", (0, "benchmark")),
        ("defaults.model.id", (DEFAULTS, "model")),
        ("runtime.log_level", (WHOLE, drafts.TOP_RUNTIME)),
        ("task_concurrency", (WHOLE, drafts.GENERAL)),
        ("foo", (WHOLE, "")),
    ):
        assert shown.part_of(data, Fault("x", path=path)) == place


def test_a_field_is_checked_by_the_rules_of_the_whole_file() -> None:
    def faults(owner: drafts.Owner, key: str, value: Any) -> list[str]:
        found = section_faults(draft(), owner, key, value, environment={}, catalog=embedded_catalog())
        return [fault.path for fault in found]

    assert faults(WHOLE, drafts.GENERAL, {"task_concurrency": 0}) == ["task_concurrency"]
    assert faults(WHOLE, drafts.GENERAL, {"task_concurrency": "${NOT_SET}"}) == []
    assert faults(0, "execution", {"attempts": {"k": 0}}) == ["attempts.k"]
    assert faults(DEFAULTS, "execution", {"retry_pattern_list": ["("]}) == ["retry_pattern_list.0"]
    assert faults(0, "benchmark", {"id": "special_pattern_check", "verison": "x"}) == ["verison"]


def test_a_variable_with_a_default_is_not_missing() -> None:
    data = good_file()
    data["defaults"]["environment"]["env_variables"] = {"A": "${WITH:-x}", "B": "${WITHOUT}"}
    examined = examine(draft(data), {}, embedded_catalog())
    assert examined.missing == ("WITHOUT",)
    assert examine(draft(data), {"WITHOUT": "1"}, embedded_catalog()).loaded is not None


# -- the file --

TEXTS = st.one_of(
    st.sampled_from(
        ["no", "1e3", "012", "20261129_112423", "2026-11-29", "null", "~", "a: b", "#x", "${KEY}", "=", "on"]
    ),
    st.text(max_size=20),
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.floats(-1e9, 1e9) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(TEXTS, VALUES, max_size=4))
def test_the_file_that_is_written_says_the_same_to_agentcompass(parameters: dict[str, Any]) -> None:
    data = {"version": 1, "requests": [{"name": "a", "benchmark": {"id": "x", **parameters}}]}
    assert yaml.safe_load(text_of(data, "x.yaml")) == data


@pytest.mark.parametrize("name", ["two_requests", "resume", "slow_ac", "browsecomp_zh"])
def test_a_recorded_file_is_written_again_as_the_same_orchestration(name: str, tmp_path: Path) -> None:
    source = RECORDED / "plans" / f"{name}.yaml"
    read = drafts.read_draft(source)
    path = tmp_path / "again.yaml"
    path.write_text(text_of(read.data, path.name))
    assert drafts.read_draft(path).data == read.data == yaml.safe_load(source.read_text())


def test_typed_keys_become_references_one_a_value() -> None:
    data = good_file()
    data["requests"][0]["model"] = {"api_key": "k"}
    data["requests"].append({"name": "b", "benchmark": {"id": "x"}, "model": {"api_key": "other"}})
    written, names = with_references(data)
    assert names == ["API_KEY", "API_KEY_2"]
    assert written["defaults"]["model"]["api_key"] == written["requests"][0]["model"]["api_key"] == "${API_KEY}"
    assert written["requests"][1]["model"]["api_key"] == "${API_KEY_2}"


def test_a_run_that_shows_nothing_yet_says_what_it_waits_for() -> None:
    run = RunRecord("one", "x", RunState.RUNNING, {}, "", "", 0.0, origin_detail={"platform": "agentcompass"})
    assert "AgentCompass is starting" in remark(run, RunState.RUNNING, Counters()).text
    assert remark(run, RunState.RUNNING, Counters(total=1)).text == ""
    assert remark(RunRecord("one", "x", RunState.RUNNING, {}, "", "", 0.0), RunState.RUNNING, Counters()).text == ""
