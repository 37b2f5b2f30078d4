"""Which proxy a call goes through when the plan names none: HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY.

The variables and their meaning are those of curl and httpx; names in lower case win. NO_PROXY may also hold address
blocks (``10.0.0.0/8``). A loopback address never goes through a proxy of the environment.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def environment_proxy(scheme: str, host: str, port: int, environment: Mapping[str, str]) -> str | None:
    """The proxy's address for ``scheme://host:port``, None to connect directly. ``host`` is without brackets."""
    proxy = _variable(f"{scheme}_proxy", environment) or _variable("all_proxy", environment)
    host = host.lower().rstrip(".")
    if not proxy or _is_loopback(host) or _is_excepted(host, port, _variable("no_proxy", environment)):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _variable(name: str, environment: Mapping[str, str]) -> str:
    return (environment.get(name) or environment.get(name.upper()) or "").strip()


def _address(text: str) -> _Address | None:
    try:
        return ipaddress.ip_address(text.strip("[]"))
    except ValueError:
        return None


def _is_loopback(host: str) -> bool:
    address = _address(host)
    return address.is_loopback if address else host == "localhost" or host.endswith(".localhost")


def _is_excepted(host: str, port: int, no_proxy: str) -> bool:
    return any(_matches(host, port, entry.strip().lower()) for entry in no_proxy.split(","))


def _matches(host: str, port: int, entry: str) -> bool:
    if entry in ("", "*"):
        return entry == "*"
    entry = entry.rpartition("://")[2]
    address = _address(host)
    if "/" in entry:
        try:
            return address is not None and address in ipaddress.ip_network(entry, strict=False)
        except ValueError:
            return False
    if address is not None and _address(entry) is not None:
        return address == _address(entry)
    name, colon, number = entry.rpartition(":")
    if colon and number.isdigit():
        if int(number) != port:
            return False
        entry = name
    if address is not None:
        return address == _address(entry)
    entry = entry.removeprefix("*").lstrip(".")
    return bool(entry) and (host == entry or host.endswith(f".{entry}"))
