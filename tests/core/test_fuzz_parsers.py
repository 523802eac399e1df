"""A short slice of ``make fuzz``: every parser of the core on a few hundred damaged inputs: refusals, no tracebacks."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).parents[1] / "fuzz"


def load(name: str) -> ModuleType:
    specification = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module  # the runner imports the parsers by their name, in this process and in those it starts
    specification.loader.exec_module(module)
    return module


PARSERS, FUZZ = load("fuzzed"), load("fuzz")


@pytest.mark.parametrize("name", PARSERS.CORE)
def test_a_parser_survives_damage(name: str) -> None:
    inputs = 40 * PARSERS.CORE[name].share
    done = FUZZ.mutate(name, inputs)
    assert done.crash == ""
    assert done.inputs == inputs


def test_a_crash_is_counted_with_its_input(monkeypatch: pytest.MonkeyPatch) -> None:
    def parse(data: bytes) -> object:
        return [1][data.count(b"{")]

    monkeypatch.setattr(PARSERS, "all_parsers", lambda: {"weak": PARSERS.Parser(parse, (b"{}",))})
    done = FUZZ.mutate("weak", 500)
    assert done.inputs < 500
    assert "IndexError" in done.crash


def test_inputs_are_shared_out_whole() -> None:
    counts = FUZZ.shares(1_000_000, list(PARSERS.CORE))
    assert sum(counts.values()) >= 1_000_000
    assert min(counts.values()) > 1000


@pytest.mark.parametrize(
    ("name", "data"),
    [
        # A process of a layer without its number.
        ("trace_view.json", b'[{"ph":"M","name":"process_name","args":{"name":"Ascend Hardware"}}]'),
    ],
)
def test_what_once_crashed(name: str, data: bytes) -> None:
    PARSERS.survives(PARSERS.CORE[name], data)
