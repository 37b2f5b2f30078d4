"""Reads an orchestration as far as the stand-in needs it, ``${NAME}`` included."""

import os
import re
from types import SimpleNamespace

import yaml

REFERENCE = re.compile(r"\$\{(\w+)\}")


def fill(value):
    if isinstance(value, dict):
        return {key: fill(item) for key, item in value.items()}
    if isinstance(value, list):
        return [fill(item) for item in value]
    match = REFERENCE.fullmatch(value) if isinstance(value, str) else None
    return os.environ.get(match.group(1), "") if match else value


def load_orchestration_spec(path):
    with open(path) as stream:
        data = fill(yaml.safe_load(stream))
    if data.get("name") == "refuse me":
        raise ValueError("the stand-in refuses this name")
    defaults = data.get("defaults", {})
    model = defaults.get("model", {})
    os.environ["MODEL_KEY"] = str(model.get("api_key", ""))
    requests = [
        SimpleNamespace(
            name=one["name"],
            benchmark={**defaults.get("benchmark", {}), **one["benchmark"]},
            output={**defaults.get("output", {}), **one.get("output", {})},
            runtime={**defaults.get("runtime", {}), **one.get("runtime", {})},
        )
        for one in data["requests"]
    ]
    return SimpleNamespace(name=data.get("name", ""), runtime=data["runtime"], requests=requests)


def resolve_orchestration(spec, config_path=None):
    return spec


async def validate_orchestration(resolved):
    if any(request.benchmark.get("id") == "gaia" for request in resolved.requests):
        raise ValueError("the stand-in has no gaia")


def dump_resolved_orchestration(resolved):
    requests = [{"name": one.name, "benchmark": one.benchmark} for one in resolved.requests]
    return yaml.safe_dump({"resolved by": "the stand-in", "requests": requests}, sort_keys=False)
