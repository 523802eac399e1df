"""What a type checker sees of the facades is what they are; `make stubs` compares all their names."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PARTS = [*(f"adapters/{name}" for name in ("acl", "tf", "torch")), *map(str, sorted((ROOT / "plugins").glob("*/")))]
VENDOR = [str(ROOT / part / "vendor") for part in PARTS]
SOURCES = [str(ROOT / part) for part in ("core", *PARTS)]
SCRIPT = """
import acl
import torch
import torch_npu

address, code = acl.rt.malloc(64, 0)
reveal_type(address)
acl.rt.malloc("64", 0)  # wrong
reveal_type(torch_npu.npu_swiglu(torch.ones(4)))
torch_npu.npu_swiglu("x")  # wrong
reveal_type(torch_npu.npu.current_stream())
reveal_type(torch_npu.int4)
"""


@pytest.fixture
def environment() -> dict[str, str]:
    paths = {"PYTHONPATH": os.pathsep.join(VENDOR), "MYPYPATH": os.pathsep.join([*VENDOR, *SOURCES])}
    return {**os.environ, **paths, "KINETO_LOG_LEVEL": "99"}


def test_every_facade_says_that_it_has_types() -> None:
    packages = [path.parent for folder in VENDOR for path in Path(folder).glob("*/__init__.py")]
    packages += [
        path.parent for part in ("adapters", "plugins") for path in (ROOT / part).glob("*/drynpu_*/__init__.py")
    ]
    assert len(packages) > 12
    assert [path for path in packages if not (path / "py.typed").exists()] == []


@pytest.mark.slow
def test_the_stub_of_operators_has_their_schemas() -> None:
    command = [sys.executable, str(ROOT / "tools" / "facade_stubs.py"), "--check"]
    done = subprocess.run(
        command, env={**os.environ, "DRYNPU_AUTOLOAD": "1"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_a_users_script_is_checked(environment: dict[str, str], tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    (tmp_path / "script.py").write_text(SCRIPT, encoding="utf-8")
    # With the configuration of `make check`, whose cache knows all of PyTorch: half a minute less.
    command = [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", str(tmp_path / "script.py")]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    lines = [line.partition(": ")[2] for line in done.stdout.splitlines() if "script.py:" in line]
    shown = [line.partition("is ")[2].strip('"') for line in lines if "Revealed" in line]
    assert shown == ["int", "torch._tensor.Tensor", "drynpu_torch.device._streams.Stream", "int"], done.stdout
    wrong = [int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error:" in line]
    assert wrong == [number for number, line in enumerate(SCRIPT.splitlines(), 1) if line.endswith("# wrong")]
