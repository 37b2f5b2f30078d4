"""``tui-eval schema``: the JSON Schema of plan files."""

from __future__ import annotations

import click

from tui_eval.cli.options import examples
from tui_eval.cli.terminal import out_json


@click.command(epilog=examples("tui-eval schema > plan.schema.json"))
def schema() -> None:
    """Print the JSON Schema (draft 2020-12) of plan files.

    For an editor with the YAML language server: save it as plan.schema.json beside the plan, whose first line is
    `# yaml-language-server: $schema=plan.schema.json`.
    """
    from tui_eval.spec.json_schema import plan_schema

    out_json(plan_schema())
