"""Tables in YAML that are part of drynpu."""

from __future__ import annotations

import functools
from importlib import resources
from typing import Any


@functools.cache
def packaged_yaml(package: str, name: str) -> dict[str, Any]:
    """Return a YAML file of one of drynpu's packages, read once per process; nobody changes the result."""
    document: dict[str, Any] = parse_yaml(resources.files(package).joinpath(name).read_text(encoding="utf-8"))
    return document


def parse_yaml(text: str) -> Any:
    """Return what a YAML text holds. Raises `yaml.YAMLError`."""
    import yaml  # takes long to import, and is not needed to say what a command does

    # The loader in Python takes ten times as long, and every recording waits for it.
    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
