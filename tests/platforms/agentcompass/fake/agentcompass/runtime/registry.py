"""The components of the stand-in: those it knows, and one benchmark that no other version has."""

from dataclasses import dataclass, field
from types import SimpleNamespace


@dataclass
class PatternConfig:
    model: str
    sample_ids: list = None
    version: str = field(default="", metadata={"description": "Which tasks."})


@dataclass
class BrandNewConfig(PatternConfig):
    colour: str = field(default="blue", metadata={"description": "A parameter of the future."})


def component(text, config):
    return SimpleNamespace(component_cls=type("Component", (), {"description": text, "config_class": config}))


BENCHMARKS = {
    "special_pattern_check": component("The stand-in's tasks.", PatternConfig),
    "brand_new": component("A benchmark of the future.", BrandNewConfig),
}
HARNESSES = {"openai_chat": component("Calls the model.", None)}
ENVIRONMENTS = {"host_process": component("Here.", None)}


def load_builtin_components():
    pass
