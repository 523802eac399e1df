"""What plugins add to a facade costs nothing where it is broken, and names the plugin where it is off."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from drynpu.plugins import missing_part

PLUGIN = """
from pathlib import Path
from drynpu.plugins import FacadePart, hookimpl

@hookimpl
def drynpu_facade_parts():
    return (FacadePart(package="acl", folder=Path(__file__).with_name("parts"), names="_brittle_part"),)
"""
FAILURES = {
    "raise ImportError('pip install brittle')": "ImportError: pip install brittle",
    "1 / 0": "ZeroDivisionError: division by zero",
    "__all__ = ['absent']": "AttributeError: module 'acl._brittle_part' has no attribute 'absent'",
}
USE = "import acl; print(acl.init(), hasattr(acl, 'media'))"


def run(folder: Path, code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    (folder / "script.py").write_text(code, encoding="utf-8")
    clean = {name: value for name, value in os.environ.items() if not name.startswith("DRYNPU_")}
    command = [sys.executable, "-m", "drynpu", "run", "script.py"]
    return subprocess.run(command, cwd=folder, env={**clean, **variables}, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("code", FAILURES)
def test_a_part_that_cannot_be_imported_costs_a_line(code: str, tmp_path: Path) -> None:
    site = tmp_path / "site"
    (site / "parts").mkdir(parents=True)
    (site / "parts" / "_brittle_part.py").write_text(code, encoding="utf-8")
    (site / "brittle_plugin.py").write_text(PLUGIN, encoding="utf-8")
    info = site / "brittle-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: brittle\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[drynpu.adapters]\nbrittle = brittle_plugin\n")
    done = run(tmp_path, USE, PYTHONPATH=str(site))
    assert (done.returncode, done.stdout) == (0, "0 True\n"), done.stderr
    reason = f"what the plugin 'brittle' adds to acl cannot be imported: {FAILURES[code]}"
    assert f"[drynpu] {reason}; set DRYNPU_PLUGINS=-brittle to run without it\n" in done.stderr
    assert done.stderr.count("brittle'") == 1


NAMES = {
    "from acl import media": ("acl", "acl.media", "offline_inference"),
    "from torch_npu.utils import npu_combine_tensors": ("torch", "torch_npu.utils.npu_combine_tensors", "apex"),
    "from torch_npu import npu_rotary_mul": ("torch", "torch_npu.npu_rotary_mul", "torch_operators"),
}


@pytest.mark.parametrize("code", NAMES)
def test_a_name_of_a_plugin_that_is_off_names_the_plugin(code: str, tmp_path: Path) -> None:
    framework, name, plugin = NAMES[code]
    if framework == "torch":
        pytest.importorskip("torch")
    done = run(tmp_path, code, DRYNPU_PLUGINS=f"-{plugin}")
    assert done.returncode != 0
    assert f"[drynpu] {name!r} is served by the plugin {plugin!r}, which is off: " in done.stderr


def test_a_name_of_a_plugin_that_is_on_says_nothing(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    done = run(tmp_path, "from torch_npu.utils import combine_tensors, npu_combine_tensors")
    assert (done.returncode, "is served by" in done.stderr) == (0, False), done.stderr


@pytest.mark.parametrize(("plugins", "is_off"), [({}, False), ({"DRYNPU_PLUGINS": "-torch_graphs"}, True)])
def test_only_a_plugin_that_is_off_is_named_for_a_name_that_is_not_there(
    plugins: dict[str, str], is_off: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DRYNPU_PLUGINS", raising=False)
    for name, value in plugins.items():
        monkeypatch.setenv(name, value)
    text = str(missing_part("torch_npu._C._no_such_graph", "torch_graphs"))
    assert ("'torch_graphs', which is off" in text) == is_off
    assert (text == "module 'torch_npu._C' has no attribute '_no_such_graph'") == (not is_off)
