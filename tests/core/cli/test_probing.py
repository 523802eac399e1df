"""``drynpu doctor`` runs a tiny program on each surface that is there, and says what came of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from drynpu.cli import _probing
from drynpu.cli._probing import Probed, run_probes
from drynpu.plugins import Probe

ABORT = r"""
import os, sys
sys.stderr.write("terminate called after throwing an instance of 'c10::Error'\n")
sys.stderr.write("  what():  Duplicated key 'pinned'\nException raised from loadConfig\n")
sys.stderr.flush()
os.abort()
"""
PROGRAMS = {
    "": ("works", "works"),
    "print('without: models')\nprint('without: half')": ("works", "works without models, half"),
    "raise ValueError('no room')": ("broken", "broken: ValueError: no room; do this"),
    "import no_such_module": ("broken", "broken: ModuleNotFoundError: No module named 'no_such_module'; do this"),
    "import sys; sys.exit(3)": ("broken", "broken: ended with status 3; do this"),
    "import os; os.abort()": ("broken", "broken: ended by SIGABRT; do this"),
    ABORT: ("broken", "broken: Duplicated key 'pinned'; do this"),
}


@pytest.mark.parametrize("code", PROGRAMS)
def test_each_end_of_a_program(code: str) -> None:
    state, text = PROGRAMS[code]
    assert run_probes([Probe(surface="x", code=code, advice="do this")]) == [
        Probed(surface="x", state=state, text=text)
    ]


def test_a_program_that_does_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_probing, "_LIMIT_S", 3)
    (probed,) = run_probes([Probe(surface="x", code="import time; time.sleep(600)", advice="do this")])
    assert (probed.state, probed.text) == ("broken", "broken: no end within 3 s; do this")


def test_what_is_not_there_is_not_run() -> None:
    no_framework = Probe(surface="x", code="1 / 0", framework="no_such_framework", extra="x", advice="")
    not_built = Probe(surface="x", code="1 / 0", advice="", missing=lambda: "not built: build it")
    assert [(each.state, each.text) for each in run_probes([no_framework, not_built])] == [
        ("absent", "not installed: pip install 'drynpu[x]'"),
        ("absent", "not built: build it"),
    ]


FRAMEWORKS = {
    "torch": "raise ImportError('libcudart.so.12: cannot open shared object file')",
    "tensorflow": ABORT,
    "mindspore": "raise RuntimeError('half imported')",
}


def test_the_command_names_what_is_broken(process: Callable[..., Any], tmp_path: Path) -> None:
    """The frameworks fail as installed ones have failed."""
    for name, code in FRAMEWORKS.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(code, encoding="utf-8")
    ended = process("doctor", "--json", environment={"PYTHONPATH": str(tmp_path)})
    assert ended.code == 1
    surfaces = {each["surface"]: each for each in json.loads(ended.out)["surfaces"]}
    assert surfaces["pyACL"]["state"] == "works"
    reasons = {
        "PyTorch, sink": "ImportError: libcudart.so.12: cannot open shared object file",
        "TensorFlow": "Duplicated key 'pinned'",
        "MindSpore": "RuntimeError: half imported",
    }
    for surface, reason in reasons.items():
        assert surfaces[surface]["text"].startswith(f"broken: {reason}; "), surface
        assert "drynpu" in surfaces[surface]["text"].partition("; ")[2]


def broken_package() -> str:
    raise ModuleNotFoundError("no metadata of torch")


def test_what_fails_before_its_program_starts_is_broken() -> None:
    probe = Probe(surface="x", code="", advice="do this", missing=broken_package)
    (probed,) = run_probes([probe])
    assert (probed.state, probed.text) == ("broken", "broken: ModuleNotFoundError: no metadata of torch; do this")


def test_no_place_for_temporary_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(_probing.tempfile, "tempdir", str(tmp_path / "nowhere"))
    (probed,) = run_probes([Probe(surface="x", code="", advice="do this")])
    assert probed.state == "broken"
    assert probed.text.endswith("; do this")


def test_the_command_names_packages_that_are_too_old(
    drynpu: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = metadata.version
    there = {"numpy": "1.21.6", "polars": "1.20.0", "rich": "13.10"}
    monkeypatch.setattr("importlib.metadata.version", lambda name: there.get(name) or real(name))
    ended = drynpu("doctor", "--quick", "--json")
    assert ended.code == 1
    assert json.loads(ended.out)["problems"] == ["numpy 1.21.6: drynpu needs 1.24 or newer: pip install 'numpy>=1.24'"]
