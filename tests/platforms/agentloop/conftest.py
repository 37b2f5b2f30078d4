"""A fake platform, a client of it, and the product with its credentials in the environment."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.cli.conftest import call  # noqa: F401 (a fixture)
from tests.platforms.agentloop.fake import KEY, SECRET, FakePlatform, platform
from tests.support.product import Product
from tui_eval.platforms.agentloop.calls import Caller
from tui_eval.platforms.agentloop.client import AgentLoop
from tui_eval.platforms.agentloop.credentials import Credentials
from tui_eval.platforms.agentloop.endpoints import Endpoints

KEYS = {"AGENTLOOP_AK": KEY, "AGENTLOOP_SK": SECRET}


@pytest.fixture
def fake() -> Iterator[FakePlatform]:
    with platform() as running:
        yield running


def client_of(fake: FakePlatform, **credentials: str) -> AgentLoop:
    endpoints = Endpoints.of("cn-hangzhou", openapi=fake.url, sls=fake.url)
    found = Credentials(**{"access_key_id": KEY, "access_key_secret": SECRET, **credentials})

    async def no_pause(seconds: float) -> None:
        return

    return AgentLoop(Caller(found, endpoints, environment={}, pause=no_pause), "demo-space")


@pytest_asyncio.fixture
async def client(fake: FakePlatform) -> AsyncIterator[AgentLoop]:
    made = client_of(fake)
    yield made
    await made.aclose()


@pytest.fixture
def product(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Product]:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    made = Product(tmp_path)
    yield made
    kill_reporters(made)


def kill_reporters(product: Product) -> None:
    """Kill the process that reports into this test's history, and no other."""
    for entry in os.listdir("/proc"):
        try:
            with open(f"/proc/{entry}/cmdline", "rb") as file:
                command = file.read()
            with open(f"/proc/{entry}/environ", "rb") as file:
                environment = file.read()
        except OSError:
            continue
        if b"agentloop.reporter" in command and str(product.history).encode() in environment:
            os.kill(int(entry), signal.SIGKILL)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What needs the official packages is left out unless it is asked for."""
    if "official" in (config.option.markexpr or ""):
        return
    wanted = [item for item in items if item.get_closest_marker("official") is None]
    left_out = [item for item in items if item.get_closest_marker("official") is not None]
    if left_out:
        items[:] = wanted
        config.hook.pytest_deselected(items=left_out)
