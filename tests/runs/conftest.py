"""An agent and a product for whole runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.product import Agent, Product, agent_process


@pytest.fixture
def product(tmp_path: Path) -> Product:
    return Product(tmp_path)


@pytest.fixture
def agent() -> Iterator[Agent]:
    with agent_process() as running:
        yield running
