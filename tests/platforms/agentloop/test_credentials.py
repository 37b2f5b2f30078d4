"""Which access key is used, of all the places that can name one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tui_eval.errors import UsageError
from tui_eval.platforms.agentloop.credentials import Credentials, find_credentials

AGENTLOOP = {"AGENTLOOP_AK": "a-key", "AGENTLOOP_SK": "a-secret"}
ALIBABA = {"ALIBABA_CLOUD_ACCESS_KEY_ID": "c-key", "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "c-secret"}


def pair(found: Credentials) -> tuple[str, str, str]:
    return found.access_key_id, found.access_key_secret, found.security_token


def profiles(path: Path, *entries: dict[str, Any], current: str = "default") -> dict[str, str]:
    path.write_text(json.dumps({"current": current, "profiles": list(entries)}), encoding="utf-8")
    return {"ALIBABA_CLOUD_CREDENTIALS_FILE": str(path)}


PLAIN = {"name": "default", "mode": "AK", "access_key_id": "p-key", "access_key_secret": "p-secret"}
SESSION = {**PLAIN, "name": "session", "mode": "StsToken", "sts_token": "p-token"}


def test_arguments_come_before_agentloops_variables_before_alibabas_before_the_profile(tmp_path: Path) -> None:
    file = profiles(tmp_path / "config.json", PLAIN)
    everything = {**AGENTLOOP, **ALIBABA, **file}
    given = {"access_key_id": "g-key", "access_key_secret": "g-secret"}
    assert pair(find_credentials(everything, **given)) == ("g-key", "g-secret", "")
    assert pair(find_credentials(everything)) == ("a-key", "a-secret", "")
    assert pair(find_credentials({**ALIBABA, **file})) == ("c-key", "c-secret", "")
    assert pair(find_credentials(file)) == ("p-key", "p-secret", "")


def test_halves_are_mixed_only_when_no_place_has_both(tmp_path: Path) -> None:
    half = {"AGENTLOOP_AK": "a-key"}
    assert pair(find_credentials({**half, **ALIBABA})) == ("c-key", "c-secret", "")
    mixed = find_credentials({**half, "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "c-secret"})
    assert pair(mixed) == ("a-key", "c-secret", "")
    assert mixed.source.startswith("mixed")
    assert pair(find_credentials(AGENTLOOP, access_key_id="g-key")) == ("g-key", "a-secret", "")


def test_a_security_token_goes_with_its_key() -> None:
    token = {"ALIBABA_CLOUD_SECURITY_TOKEN": "c-token"}
    assert pair(find_credentials({**ALIBABA, **token})) == ("c-key", "c-secret", "c-token")
    assert pair(find_credentials({**AGENTLOOP, **token})) == ("a-key", "a-secret", "")


@pytest.mark.parametrize(
    ("variables", "current", "wanted"),
    [
        ({}, "default", ("p-key", "p-secret", "")),
        ({}, "session", ("p-key", "p-secret", "p-token")),
        ({"ALIYUN_PROFILE": "session"}, "default", ("p-key", "p-secret", "p-token")),
        ({"ALIYUN_PROFILE": "session", "ALIBABA_CLOUD_PROFILE": "default"}, "session", ("p-key", "p-secret", "")),
    ],
)
def test_the_profile_is_the_one_that_is_named(
    tmp_path: Path, variables: dict[str, str], current: str, wanted: tuple[str, str, str]
) -> None:
    file = profiles(tmp_path / "config.json", PLAIN, SESSION, current=current)
    before = (tmp_path / "config.json").read_bytes()
    assert pair(find_credentials({**file, **variables})) == wanted
    assert (tmp_path / "config.json").read_bytes() == before


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({**PLAIN, "mode": "RamRoleArn"}, "mode `RamRoleArn`"),
        ({**SESSION, "name": "default", "sts_token": ""}, "no sts_token"),
    ],
)
def test_a_profile_that_cannot_be_used_says_why(tmp_path: Path, entry: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        find_credentials(profiles(tmp_path / "config.json", entry))


def test_without_a_key_the_message_says_what_to_set(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="set AGENTLOOP_AK and AGENTLOOP_SK"):
        find_credentials({"HOME": str(tmp_path)})
    with pytest.raises(UsageError, match="only one half of AGENTLOOP_AK"):
        find_credentials({"HOME": str(tmp_path), "AGENTLOOP_AK": "a-key"})
    with pytest.raises(UsageError, match="no profile `other`"):
        find_credentials({**profiles(tmp_path / "config.json", PLAIN), "ALIBABA_CLOUD_PROFILE": "other"})
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(UsageError, match="not JSON"):
        find_credentials({"ALIBABA_CLOUD_CREDENTIALS_FILE": str(tmp_path / "config.json")})


def test_a_key_is_never_shown(tmp_path: Path) -> None:
    found = find_credentials(AGENTLOOP)
    assert "a-secret" not in repr(found)
    assert "a-key" not in repr(found)
