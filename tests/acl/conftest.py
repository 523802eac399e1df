"""pyACL programs run as a user would run them, and the small models that they load."""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from attrs import frozen

ROOT = Path(__file__).parents[2]
_OURS = ("DRYNPU_", "ASCEND_", "PROFILING_", "PROFILER_", "RANK_")

collect_ignore = ["models.py"]


@frozen
class Run:
    """A finished process."""

    folder: Path
    status: int
    stdout: str
    stderr: str

    def printed(self, name: str) -> Any:
        """Return the JSON value that the program printed after ``<name>=``."""
        (found,) = [line for line in self.stdout.splitlines() if line.startswith(f"{name}=")]
        return json.loads(found.partition("=")[2])


class Programs:
    """Runs programs in processes of their own, in a folder with ``mlp.om`` and ``conv.onnx``."""

    def __init__(self, new_folder: Callable[[], Path], models: ModuleType) -> None:
        self._new_folder, self._models = new_folder, models

    def folder(self) -> Path:
        """Return a new folder with models in it."""
        folder = self._new_folder()
        self._models.save(self._models.mlp(), folder / "mlp.om")
        self._models.save(self._models.mlp(batch="n"), folder / "dynamic.onnx")
        self._models.save(self._models.conv_net(), folder / "conv.onnx")
        self._models.save(self._models.failing(), folder / "failing.onnx")
        return folder

    def __call__(
        self,
        program: str | Path,
        *arguments: str,
        status: int = 0,
        folder: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Run:
        """Run a program, given as a path or as its text, to its end, which has to be the expected one."""
        folder = folder or self.folder()
        if isinstance(program, str):
            path = folder / "program.py"
            path.write_text(program, encoding="utf-8")
            program = path
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
        done = subprocess.run(
            [sys.executable, "-W", "error", str(program), *arguments],
            cwd=folder,
            env={**kept, "COLUMNS": "120", **(environment or {})},
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert done.returncode == status, f"{done.stdout}\n{done.stderr}"
        return Run(folder, done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="session")
def models() -> ModuleType:
    """Return the module that builds ONNX models."""
    spec = importlib.util.spec_from_file_location("acl_test_models", Path(__file__).with_name("models.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory, models: ModuleType) -> Programs:
    return Programs(functools.partial(tmp_path_factory.mktemp, "acl"), models)
