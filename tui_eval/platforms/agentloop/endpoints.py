"""Which hosts to talk to: from the region, its VPC form, or hosts that the user names (contract, section 1.3)."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from tui_eval.errors import UsageError

_REGION = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)+")
_PROJECT = re.compile(r"[a-z0-9][a-z0-9_-]*")
_HOST = re.compile(r"[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]")


@dataclass(frozen=True, slots=True)
class Address:
    """Where a call is sent (``base``: ``https://host[:port]``), and the ``Host`` header it carries."""

    base: str
    host: str


@dataclass(frozen=True, slots=True)
class Endpoints:
    """``openapi`` and ``sls`` are ``scheme://host[:port]``; ``region`` is signed with every call to the logs."""

    region: str
    openapi: str
    sls: str

    @classmethod
    def of(cls, region: str, *, vpc: bool = False, openapi: str = "", sls: str = "") -> Endpoints:
        """The endpoints of a region. ``openapi`` and ``sls`` replace its hosts: ``host[:port]`` is reached by https,
        ``http://…`` as it says. Raises UsageError for what cannot be a region or an address."""
        if not _REGION.fullmatch(region):
            raise UsageError(f"`{region[:60]}` cannot be a region: expected one such as cn-hangzhou")
        service, inside = ("agentloop-vpc", "-intranet") if vpc else ("agentloop", "")
        return cls(
            region,
            _base(openapi, "the AgentLoop endpoint") if openapi else f"https://{service}.{region}.aliyuncs.com",
            _base(sls, "the SLS endpoint") if sls else f"https://{region}{inside}.log.aliyuncs.com",
        )

    def openapi_address(self) -> Address:
        return Address(self.openapi, urlsplit(self.openapi).netloc)

    def sls_address(self, project: str) -> Address:
        """The address of a project: its name before the host. A bare IP address is reached as it is, with the project
        in the ``Host`` header, as the official client does. Raises UsageError for what cannot be a project."""
        if not _PROJECT.fullmatch(project):
            raise UsageError(f"`{project[:60]}` cannot be the name of a log project")
        parts = urlsplit(self.sls)
        host = parts.hostname or ""
        if host == "localhost" or _is_ip(host):
            return Address(self.sls, f"{project}.{host}")
        return Address(f"{parts.scheme}://{project}.{parts.netloc}", f"{project}.{parts.netloc}")


def _is_ip(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _base(text: str, what: str) -> str:
    """``scheme://host[:port]`` of an address that a user wrote."""
    text = text.strip().rstrip("/")
    if "://" not in text:
        text = f"https://{text}"
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    host = parts.netloc.rpartition(":")[0] if port is not None else parts.netloc
    if parts.scheme not in ("http", "https") or not _HOST.fullmatch(host) or parts.path or parts.query:
        raise UsageError(f"{what} cannot be used: expected host[:port] or https://host[:port]")
    return f"{parts.scheme}://{parts.netloc}"
