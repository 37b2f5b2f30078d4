"""Where the access key comes from. The first place that has both halves wins.

1. What the caller was given (arguments of :class:`~tui_eval.platforms.agentloop.AgentLoopConfig`).
2. ``AGENTLOOP_AK`` and ``AGENTLOOP_SK``.
3. ``ALIBABA_CLOUD_ACCESS_KEY_ID`` and ``ALIBABA_CLOUD_ACCESS_KEY_SECRET`` (and ``ALIBABA_CLOUD_SECURITY_TOKEN``).
4. The profile of the ``aliyun`` command line: file ``ALIBABA_CLOUD_CREDENTIALS_FILE`` (``~/.aliyun/config.json``),
   profile ``ALIBABA_CLOUD_PROFILE``, ``ALIYUN_PROFILE``, the file's ``current``, ``default``; modes ``AK`` and
   ``StsToken``. It is only read.

The order is that of the AgentLoop contract, section 1.2. There each half is looked for on its own, so that a pair may
be mixed from two places; here that happens only when no place before the profile has both.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tui_eval.errors import UsageError

_VARIABLES = (
    ("AGENTLOOP_AK", "AGENTLOOP_SK", "AGENTLOOP_SECURITY_TOKEN"),
    ("ALIBABA_CLOUD_ACCESS_KEY_ID", "ALIBABA_CLOUD_ACCESS_KEY_SECRET", "ALIBABA_CLOUD_SECURITY_TOKEN"),
)
_LARGEST_FILE = 1024 * 1024
_HELP = (
    "set AGENTLOOP_AK and AGENTLOOP_SK (or ALIBABA_CLOUD_ACCESS_KEY_ID and ALIBABA_CLOUD_ACCESS_KEY_SECRET), or run "
    "`aliyun configure`"
)


@dataclass(frozen=True, slots=True)
class Credentials:
    """An access key. ``source`` says where it was found; the values are never shown."""

    access_key_id: str = field(repr=False)
    access_key_secret: str = field(repr=False)
    security_token: str = field(default="", repr=False)
    source: str = ""

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not be written anywhere."""
        return tuple(value for value in (self.access_key_secret, self.security_token) if value)


def find_credentials(
    environment: Mapping[str, str],
    *,
    access_key_id: str = "",
    access_key_secret: str = "",
    security_token: str = "",
) -> Credentials:
    """The access key; see the module for the order. Raises UsageError when there is none, naming what is half there."""
    given = ("the arguments", access_key_id.strip(), access_key_secret.strip(), security_token.strip())
    variables = [
        (f"{key} and {secret}", _value(environment, key), _value(environment, secret), _value(environment, token))
        for key, secret, token in _VARIABLES
    ]
    half_given = bool(given[1]) != bool(given[2])
    for source, key, secret, token in () if half_given else (given, *variables):
        if key and secret:
            return Credentials(key, secret, token, source)
    places = [given, *variables]
    keys = [place for place in places if place[1]]
    secrets = [place for place in places if place[2]]
    if keys and secrets:
        return Credentials(keys[0][1], secrets[0][2], secrets[0][3], f"mixed: {keys[0][0]}; {secrets[0][0]}")
    found = _from_profile(environment)
    if found is not None:
        return found
    halves = [place[0] for place in (*keys, *secrets)]
    half = f" (only one half of {' and of '.join(halves)} is set)" if halves else ""
    raise UsageError(f"there is no access key for AgentLoop{half}: {_HELP}")


def _value(environment: Mapping[str, str], name: str) -> str:
    return environment.get(name, "").strip()


def profile_file(environment: Mapping[str, str]) -> Path:
    """The file of the ``aliyun`` command line's profiles."""
    named = environment.get("ALIBABA_CLOUD_CREDENTIALS_FILE")
    if named:
        return Path(named).expanduser()
    return Path(environment.get("HOME") or Path.home()) / ".aliyun" / "config.json"


def _from_profile(environment: Mapping[str, str]) -> Credentials | None:
    path = profile_file(environment)
    document = _read(path, named=bool(environment.get("ALIBABA_CLOUD_CREDENTIALS_FILE")))
    if document is None:
        return None
    asked = environment.get("ALIBABA_CLOUD_PROFILE") or environment.get("ALIYUN_PROFILE")
    wanted = asked or document.get("current") or "default"
    profiles = [one for one in document.get("profiles") or [] if isinstance(one, dict)]
    profile = next((one for one in profiles if one.get("name") == wanted), None)
    if profile is None:
        if asked:
            names = ", ".join(str(one.get("name")) for one in profiles) or "none"
            raise UsageError(f"{path} has no profile `{wanted}`; its profiles: {names}")
        return None
    return _of_profile(profile, path, str(wanted))


def _of_profile(profile: Mapping[str, Any], path: Path, name: str) -> Credentials | None:
    mode = str(profile.get("mode") or "AK")
    key, secret = _text(profile, "access_key_id"), _text(profile, "access_key_secret")
    token = _text(profile, "sts_token")
    if mode not in ("AK", "StsToken"):
        raise UsageError(
            f"profile `{name}` in {path} has mode `{mode}`, which is not supported (AK and StsToken are): {_HELP}"
        )
    if not key or not secret:
        return None
    if mode == "StsToken" and not token:
        raise UsageError(
            f"profile `{name}` in {path} has mode StsToken but no sts_token; renew it with `aliyun configure`"
        )
    return Credentials(key, secret, token if mode == "StsToken" else "", f"profile `{name}` in {path}")


def _text(profile: Mapping[str, Any], name: str) -> str:
    value = profile.get(name)
    return value.strip() if isinstance(value, str) else ""


def _read(path: Path, *, named: bool) -> dict[str, Any] | None:
    """The file's content; None when there is none and nobody named it."""
    try:
        if not path.is_file():
            raise FileNotFoundError
        with path.open("rb") as stream:
            document = json.loads(stream.read(_LARGEST_FILE).decode("utf-8-sig"))
    except FileNotFoundError:
        if named:
            raise UsageError(f"{path} (ALIBABA_CLOUD_CREDENTIALS_FILE) is not there") from None
        return None
    except OSError as error:
        if named:
            raise UsageError(f"{path} cannot be read: {error.strerror}") from error
        return None
    except ValueError as error:
        raise UsageError(f"{path} is not JSON: repair it, or {_HELP}") from error
    return document if isinstance(document, dict) else None
