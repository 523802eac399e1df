"""What is in the wheel, and what an installation leaves behind."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

Make: TypeAlias = Callable[..., Any]

ROOT = Path(__file__).parents[2]
PLUGINS = ROOT / "plugins"
OWN_METADATA = re.compile(r"drynpu-[^/]*\.dist-info/METADATA")
"""The facade of aclruntime has metadata of its own in the wheel."""


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if not name.endswith("/")}


def tree(folder: Path, prefix: str) -> set[str]:
    """The files below a folder of the checkout, as the wheel should name them."""
    return {
        prefix + str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def plugin(folder: Path) -> set[str]:
    """What the wheel should hold of a plugin: its package, with the facades inside, and not its README."""
    files: set[str] = set()
    for package in (path.parent for path in folder.glob("*/__init__.py")):
        files |= tree(package, f"{package.name}/")
    for package in folder.glob("drynpu_*"):
        files |= tree(folder / "vendor", f"{package.name}/_vendor/")
    return files


def test_the_wheel_holds_exactly_the_house(wheel: Path) -> None:
    expected = tree(ROOT / "core", "")
    expected |= tree(ROOT / "adapters" / "acl" / "drynpu_acl", "drynpu_acl/")
    expected |= tree(ROOT / "adapters" / "acl" / "vendor", "drynpu/_vendor/")
    expected |= tree(ROOT / "adapters" / "torch" / "drynpu_torch", "drynpu_torch/")
    expected |= tree(ROOT / "adapters" / "torch" / "native", "drynpu_torch/native/")
    expected |= tree(ROOT / "adapters" / "torch" / "vendor", "drynpu/_vendor/")
    expected |= tree(ROOT / "adapters" / "tf" / "drynpu_tf", "drynpu_tf/")
    expected |= tree(ROOT / "adapters" / "tf" / "vendor", "drynpu/_vendor/")
    expected |= tree(ROOT / "adapters" / "mindspore_like", "")
    expected |= set().union(*map(plugin, sorted(PLUGINS.iterdir())))
    assert {name for name in names(wheel) if ".dist-info" not in name.partition("/")[0]} == expected
    assert {"drynpu/py.typed", "zz_drynpu.pth", "drynpu/platforms/chips/Ascend910B2.yaml"} <= expected
    assert "drynpu_torch/native/module.cpp" in expected


def test_the_path_file_only_puts_the_finder_in_place(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        assert archive.read("zz_drynpu.pth").decode() == "import _drynpu_finder; _drynpu_finder.install()\n"


def test_the_wheel_declares_its_entry_points_and_extras(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (points,) = (archive.read(name).decode() for name in archive.namelist() if name.endswith("entry_points.txt"))
        (metadata,) = (archive.read(name).decode() for name in archive.namelist() if OWN_METADATA.fullmatch(name))
    adapters = [f"{name} = drynpu_{name}.plugin" for name in ("acl", "mindspore", "tf", "torch")]
    plugins = [f"{path.name} = drynpu_{path.name}.plugin" for path in PLUGINS.iterdir() if path.is_dir()]
    everything = sorted([*adapters, *plugins])
    assert "\n".join(["[drynpu.adapters]", *everything, ""]) in points
    assert "drynpu = drynpu.cli:main\n" in points
    assert "[torch.backends]\ndrynpu = drynpu_torch.autoload:load\n" in points
    extras = [line.split(": ")[1] for line in metadata.splitlines() if line.startswith("Provides-Extra")]
    assert sorted(extras) == ["all", "cluster", "dashboard", "media", "mindspore", "onnx", "test", "tf", "torch"]
    required = [line for line in metadata.splitlines() if line.startswith("Requires-Dist") and "extra ==" not in line]
    assert not [line for line in required if any(name in line for name in ("torch", "tensorflow", "mindspore"))]


def test_the_version_is_the_package_s(wheel: Path) -> None:
    from drynpu import __version__

    assert wheel.name == f"drynpu-{__version__}-py3-none-any.whl"


@pytest.mark.slow
def test_the_source_distribution_builds_the_same_wheel_byte_for_byte(wheel: Path, tmp_path: Path) -> None:
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(tmp_path)]
    subprocess.run([*build, str(ROOT)], check=True, capture_output=True)
    (again,) = tmp_path.glob("*.whl")
    (source,) = tmp_path.glob("*.tar.gz")
    assert names(again) == names(wheel)
    assert again.read_bytes() == wheel.read_bytes(), "two builds of one source differ"
    listing = subprocess.run(["tar", "tzf", str(source)], check=True, capture_output=True, text=True).stdout
    for name in ("Makefile", "constraints.txt", "LICENSE", "CHANGELOG.md", "tests/test_house.py"):
        assert f"/{name}\n" in listing


@pytest.mark.slow
def test_uninstalling_leaves_nothing(make_environment: Make, install_ours: Callable[[Any], None]) -> None:
    environment = make_environment()
    probe = "import drynpu, drynpu.plugins, drynpu_torch, importlib.util as u; print(u.find_spec('torch_npu') is None)"
    before = environment.files() | {"lib64"}
    install_ours(environment)
    assert environment.say(probe) == "False"
    environment.run("-m", "compileall", "-q", str(environment.site))
    environment.pip("uninstall", "-y", "drynpu")
    left = {name for name in environment.files() - before if "aaa_dependencies" not in name}
    assert left == set()
    assert environment.say("import importlib.util as u; print(u.find_spec('torch_npu'), u.find_spec('drynpu'))") == (
        "None None"
    )


@pytest.mark.slow
def test_importing_the_core_is_quick_and_the_command_exists(
    make_environment: Make, install_ours: Callable[[Any], None]
) -> None:
    environment = make_environment()
    install_ours(environment)
    script = environment.folder / "bin" / "drynpu"
    assert script.is_file()
    done = subprocess.run([str(script), "--help"], capture_output=True, text=True, check=False, cwd=environment.folder)
    assert done.returncode == 0, done.stderr
    assert "run" in done.stdout
