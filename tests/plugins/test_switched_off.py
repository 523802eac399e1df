"""
What is there without plugins: every surface profiles and records the same kernels, a verb says which plugin it needs.

Plugins are switched off, or their folder is away.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner

from drynpu.cli import build_cli
from drynpu.plugins import ALWAYS_LOADED, PluginChoice, build_manager

ROOT = Path(__file__).parents[2]
SURFACES = {
    "torch": "torch/train_gpt.py",
    "tensorflow": "tf/train_session.py",
    "mindspore": "mindspore/train_schedule.py",
    "acl": "acl/profile_inference.py",
}
"""The module that a surface needs, and a script that profiles itself."""
NEEDS = {"acl": "onnx"}
PYTHONS = {"mindspore": ROOT / ".venv-mindspore" / "bin" / "python"}
"""Interpreters of surfaces that have an environment of their own."""
OURS = ("DRYNPU_", "ASCEND_", "PROFILING_", "RANK", "MS_", "PYTHONPATH")


def python_of(surface: str) -> Path:
    return PYTHONS.get(surface, Path(sys.executable))


def packages_of(surface: str) -> Path:
    (found,) = python_of(surface).parents[1].glob("lib/python3*/site-packages")
    return found


def kernels(surface: str, folder: Path, *, house: Path | None = None, **variables: str) -> Counter[str]:
    """Run the example of a surface and count its kernels by type; in a *house* without plugins, if one is passed."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    environment = {**clean, "DRYNPU_QUIET": "1", "TF_CPP_MIN_LOG_LEVEL": "2", "RANK_ID": "0", **variables}
    command = [str(python_of(surface)), "-m", "drynpu", "run", str(ROOT / "examples" / SURFACES[surface])]
    if house is not None:
        # -S: no .pth is read, which would bring the plugins of this checkout.
        adapters = sorted((house / "adapters").iterdir())
        environment["PYTHONPATH"] = os.pathsep.join(map(str, [house / "core", *adapters, packages_of(surface)]))
        command.insert(1, "-S")
    folder.mkdir()
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=280
    )
    assert done.returncode == 0, done.stderr
    files = sorted([*folder.rglob("op_summary_*.csv"), *folder.rglob("kernel_details.csv")])
    assert files, done.stdout
    texts = [file.read_text(encoding="utf-8").splitlines() for file in files]
    return Counter(row.get("OP Type") or row["Type"] for lines in texts for row in csv.DictReader(lines))


def verbs_with(choice: PluginChoice) -> set[str]:
    return set(build_cli(build_manager(choice=choice)).commands)


NONE = PluginChoice(only=frozenset())
PLUGIN_OF = {
    verb: plugin
    for plugin in sorted({*build_manager().names} - {*ALWAYS_LOADED})
    for verb in verbs_with(PluginChoice(only=frozenset({plugin}))) - verbs_with(NONE)
}
"""Verb -> the plugin that brings it."""


def test_plugins_bring_verbs() -> None:
    assert PLUGIN_OF.items() >= {"cluster": "cluster", "synth": "cluster"}.items()


@pytest.mark.parametrize("verb", PLUGIN_OF)
def test_a_verb_whose_plugin_is_off_names_it_in_one_line(verb: str) -> None:
    ended = CliRunner().invoke(build_cli(build_manager(choice=NONE)), [verb, "--help"])
    assert ended.exit_code == 2
    off = f"It is a verb of the plugin '{PLUGIN_OF[verb]}', which DRYNPU_PLUGINS switches off."
    assert ended.output.splitlines()[-1] == f"Error: No such command '{verb}'. {off}"


@pytest.mark.slow
@pytest.mark.parametrize("surface", SURFACES)
def test_a_surface_profiles_without_plugins(surface: str, tmp_path: Path) -> None:
    needed = NEEDS.get(surface, surface)
    if not (python_of(surface).is_file() and (packages_of(surface) / needed).is_dir()):
        pytest.skip(f"{needed} is not installed")
    every = kernels(surface, tmp_path / "on")
    assert sum(every.values()) > 10
    assert kernels(surface, tmp_path / "off", DRYNPU_PLUGINS="") == every
    house = tmp_path / "house"
    house.mkdir()
    for name in ("core", "adapters"):
        (house / name).symlink_to(ROOT / name)
    assert kernels(surface, tmp_path / "absent", house=house) == every
