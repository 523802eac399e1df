"""
What is there without plugins: every surface profiles, records the same kernels and prints their summary; a verb and a
function say which plugin they need.

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
from attrs import frozen
from click.testing import CliRunner

from drynpu import needs_plugin
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


def make_house(folder: Path) -> Path:
    """Make a checkout in which the folder of the plugins is away."""
    folder.mkdir()
    for name in ("core", "adapters"):
        (folder / name).symlink_to(ROOT / name)
    return folder


def path_of(house: Path, packages: Path) -> str:
    """Return the path of an interpreter that reads no .pth (-S), which would bring the plugins of this checkout."""
    return os.pathsep.join(map(str, [house / "core", *sorted((house / "adapters").iterdir()), packages]))


def kernels(surface: str, folder: Path, *, house: Path | None = None, **variables: str) -> Counter[str]:
    """Run the example of a surface and count its kernels by type; in a *house* without plugins, if one is passed."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    environment = {**clean, "TF_CPP_MIN_LOG_LEVEL": "2", "RANK_ID": "0", **variables}
    command = [str(python_of(surface)), "-m", "drynpu", "run", str(ROOT / "examples" / SURFACES[surface])]
    if house is not None:
        command.insert(1, "-S")
        environment["PYTHONPATH"] = path_of(house, packages_of(surface))
    folder.mkdir()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Top kernels (" in done.stdout, "a run ends with its summary"
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
    assert PLUGIN_OF.items() >= {"cluster": "cluster", "dashboard": "pages", "report": "pages"}.items()


@pytest.mark.parametrize("verb", PLUGIN_OF)
def test_a_verb_whose_plugin_is_off_names_it_in_one_line(verb: str) -> None:
    ended = CliRunner().invoke(build_cli(build_manager(choice=NONE)), [verb, "--help"])
    assert ended.exit_code == 2
    off = f"It is a verb of the plugin '{PLUGIN_OF[verb]}', which DRYNPU_PLUGINS switches off."
    assert ended.output.splitlines()[-1] == f"Error: No such command '{verb}'. {off}"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("-m", "drynpu", "dashboard"),
            "Error: No such command 'dashboard'. It may belong to a plugin that is not here: ",
        ),
        (
            ("-m", "drynpu", "export", ".", "--to", "mindinsight", "-o", "out"),
            "drynpu: no exporter 'mindinsight'. It may belong to a plugin that is not here: ",
        ),
        (
            ("-c", "import drynpu; drynpu.open_run('.')"),
            "drynpu._errors.PluginError: 'drynpu.open_run' is served by the plugin 'pages', which is off: ",
        ),
    ],
    ids=["verb", "exporter", "function"],
)
def test_what_needs_a_plugin_whose_folder_is_away_says_so(
    arguments: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    path = path_of(make_house(tmp_path / "house"), packages_of("core"))
    done = subprocess.run(
        [sys.executable, "-S", *arguments],
        cwd=tmp_path,
        env={**clean, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert (done.returncode != 0, done.stdout) == (True, "")
    assert done.stderr.splitlines()[-1].startswith(said)


@pytest.mark.slow
@pytest.mark.parametrize("surface", SURFACES)
def test_a_surface_profiles_without_plugins(surface: str, tmp_path: Path) -> None:
    needed = NEEDS.get(surface, surface)
    if not (python_of(surface).is_file() and (packages_of(surface) / needed).is_dir()):
        pytest.skip(f"{needed} is not installed")
    every = kernels(surface, tmp_path / "on")
    assert sum(every.values()) > 10
    assert kernels(surface, tmp_path / "off", DRYNPU_PLUGINS="") == every
    assert kernels(surface, tmp_path / "absent", house=make_house(tmp_path / "house")) == every


NAMES_AND_MODULES = """
import importlib
{first}

for name in {names}:
    try:
        eval(f"{facade}.{{name}}")
    except AttributeError as error:
        print(f"{facade}.{{name}}", error)
for name in {modules}:
    try:
        importlib.import_module(f"{facade}.{{name}}")
    except ModuleNotFoundError as error:
        print(error.name, error)
{last}
"""
TORCH_FIRST = """
import torch
import torch_npu
from torch_npu.contrib import transfer_to_npu
try:
    torch.ops.npu.npu_swiglu(torch.ones(4).npu())
except AttributeError as error:
    print("torch.ops.npu.npu_swiglu", error)
"""
GRAPHS_FIRST = """
import torch
import torch_npu
try:
    torch.npu.NPUGraph()
except AttributeError as error:
    print("torch.npu.NPUGraph", error)
"""
TORCH_LAST = "print(hasattr(torch_npu, 'no_such_name'), torch_npu.npu_format_cast(torch.ones(2).npu(), 2).sum().item())"
ACL_LAST = (
    "print(hasattr(acl, 'no_such_name'), acl.init(), acl.rt.set_device(0), acl.rt.malloc(8, 0)[1], acl.finalize())"
)


FRAMEWORKS = {"torch_npu": "torch", "acl": "onnx", "npu_bridge": "tensorflow"}
"""What the scripts of a facade need."""


@frozen(kw_only=True)
class Parts:
    """What a plugin adds to a facade, and a script that looks for it while the plugin is off."""

    facade: str
    first: str
    names: tuple[str, ...]
    modules: tuple[str, ...]
    missing: tuple[str, ...]
    """The modules that Python says are missing: the outermost that is not there."""
    last: str
    works: str
    """What ``last`` prints."""
    lines: int
    """How many names are missing."""


PARTS = {
    "apex": Parts(
        facade="torch_npu",
        first="import torch\nimport torch_npu",
        names=("optim", "utils.npu_combine_tensors", "utils.combine_tensors"),
        modules=("optim", "utils.combine_tensors"),
        missing=("optim", "utils.combine_tensors"),
        last=TORCH_LAST,
        works="False 2.0",
        lines=3,
    ),
    "offline_inference": Parts(
        facade="acl",
        first="import acl",
        names=("media",),
        modules=("media",),
        missing=("media",),
        last=ACL_LAST,
        works="False 0 0 0 0",
        lines=1,
    ),
    "races": Parts(
        facade="torch_npu",
        first="import os, torch\nos.environ['TORCH_NPU_SANITIZER'] = '1'\nimport torch_npu",
        names=(),
        modules=("npu._sanitizer", "npu._stream_check"),
        missing=("npu._sanitizer", "npu._stream_check"),
        last=TORCH_LAST,
        works="False 2.0",
        lines=0,
    ),
    "transfer": Parts(
        facade="torch_npu",
        first="import os, torch\nos.environ['TORCH_TRANSFER_TO_NPU'] = '1'\nimport torch_npu",
        names=(),
        modules=("contrib.transfer_to_npu",),
        missing=("contrib.transfer_to_npu",),
        last=TORCH_LAST,
        works="False 2.0",
        lines=0,
    ),
    "tf1_contrib": Parts(
        facade="npu_bridge.estimator.npu",
        first="import npu_bridge.estimator.npu\nfrom npu_bridge.npu_init import *",
        names=("npu_rnn",),
        modules=("npu_dynamic_rnn", "npu_rnn"),
        missing=("npu_dynamic_rnn", "npu_rnn"),
        last="print(hasattr(npu_bridge.estimator.npu, 'no_such_name'), npu_scope.__name__)",
        works="False npu_bridge.estimator.npu.npu_scope",
        lines=1,
    ),
    "torch_graphs": Parts(
        facade="torch_npu",
        first=GRAPHS_FIRST,
        names=("_C._graph_pool_handle",),
        modules=("npu._npugraph_handlers", "npu.graphs"),
        missing=("npu._npugraph_handlers", "npu.graphs"),
        last=TORCH_LAST,
        works="False 2.0",
        lines=2,
    ),
    "torch_operators": Parts(
        facade="torch_npu",
        first=TORCH_FIRST,
        names=("npu_swiglu", "_npu_flash_attention", "atb", "dynamo", "int4", "contrib.ROIAlign"),
        modules=("atb", "contrib.module", "contrib.function.iou", "dynamo", "testing.testcase"),
        missing=("atb", "contrib.module", "contrib.function", "dynamo", "testing"),
        last=TORCH_LAST,
        works="False 2.0",
        lines=7,
    ),
    "torch_sharing": Parts(
        facade="torch_npu",
        first="import torch\nimport torch_npu",
        names=(),
        modules=("multiprocessing.reductions",),
        missing=("multiprocessing",),
        last=TORCH_LAST,
        works="False 2.0",
        lines=0,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("plugin", PARTS)
def test_every_part_of_a_facade_that_is_off_names_its_plugin(plugin: str, tmp_path: Path) -> None:
    """One line for each name and module, whose process says it; the rest of the facade is there."""
    parts = PARTS[plugin]
    pytest.importorskip(FRAMEWORKS[parts.facade.partition(".")[0]])
    script = NAMES_AND_MODULES.format(
        facade=parts.facade, first=parts.first, names=parts.names, modules=parts.modules, last=parts.last
    )
    clean = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    environment = {**clean, "DRYNPU_PLUGINS": f"-{plugin}", "KINETO_LOG_LEVEL": "99"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    *lines, last = done.stdout.splitlines()
    assert last == parts.works
    raised = [line for line in lines if not line.endswith(needs_plugin(line.split()[0], plugin))]
    missing = [f"{parts.facade}.{name}" for name in parts.missing]
    assert raised == [f"{name} No module named {name!r}" for name in missing]
    assert len(lines) - len(raised) == parts.lines
    said = [line for line in done.stderr.splitlines() if line.startswith("[drynpu]")]
    looked_up = {line.split()[0] for line in lines}
    assert sorted(said) == sorted(f"[drynpu] {needs_plugin(name, plugin)}" for name in {*looked_up, *missing})
