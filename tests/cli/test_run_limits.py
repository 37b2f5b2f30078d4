"""Limits by host that the command line puts over those of a plan."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.product import Product

PLAN = """\
version: 1
name: limited
runtime: {provider_limits: {"api.example.com:8443": 2, other: 3}, qps: {other: 5}}
requests:
  - name: r
    dataset: {cases: [{id: a}]}
    solution: {type: command, argv: [echo, x]}
"""


def test_a_limit_for_one_host_leaves_those_of_the_others(tmp_path: Path) -> None:
    product = Product(tmp_path)
    product.write_plan(PLAN)
    done = product.run(
        *("run", "plan.yaml", "--progress", "none", "--provider-limit", "other=1", "--provider-limit", "new.host=4"),
        *("--qps", "api.example.com:8443=0.5"),
    )
    assert done.returncode == 1, done.stderr  # nothing judges it
    runtime: Any = json.loads(product.query("SELECT plan FROM runs")[0][0])["runtime"]
    assert runtime["provider_limits"] == {"api.example.com:8443": 2, "other": 1, "new.host": 4}
    assert runtime["qps"] == {"other": 5, "api.example.com:8443": 0.5}
