"""pyACL programs run as a user would run them, and the small models that they load."""

from __future__ import annotations

import functools
import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import MappingProxyType, ModuleType

import pytest
from tests.scripts import Run, Scripts, environment_without
from tests.warm_process import RECORDING, WarmProcess, warm_process

ROOT = Path(__file__).parents[2]
_OURS = ("DRYNPU_", "ASCEND_", "PROFILING_", "PROFILER_", "RANK_")
_QUIET = MappingProxyType({"COLUMNS": "120"})
_OPTIONS = ("-W", "error")
_ADAPTER = ("kernels", "prof", "recording", "runtime")
"""Modules of the adapter that ``import acl`` imports, but for the facade, which makes the state of a process."""

collect_ignore = ["models.py"]


class Programs(Scripts[Run]):
    """Runs programs in a folder with ``mlp.om`` and ``conv.onnx``, in an environment without settings of the vendor."""

    prefixes = _OURS
    settings = _QUIET
    python = (sys.executable, *_OPTIONS)
    read_late = _OURS

    def __init__(self, new_folder: Callable[[], Path], models: ModuleType, warm: WarmProcess | None = None) -> None:
        super().__init__(self.folder, warm)
        self._empty_folder, self._models = new_folder, models

    def folder(self) -> Path:
        """Return a new folder with models in it."""
        folder = self._empty_folder()
        self._models.save(self._models.mlp(), folder / "mlp.om")
        self._models.save(self._models.mlp(batch="n"), folder / "dynamic.onnx")
        self._models.save(self._models.conv_net(), folder / "conv.onnx")
        self._models.save(self._models.failing(), folder / "failing.onnx")
        return folder


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
def warm() -> Iterator[WarmProcess | None]:
    """Return a process that has imported what programs of pyACL import, if they may run in forks of it."""
    modules = ["onnx", "onnx.reference", *(f"drynpu_acl.{name}" for name in _ADAPTER), *RECORDING]
    with warm_process(modules, environment_without(_OURS, _QUIET), _OPTIONS) as process:
        yield process


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory, models: ModuleType, warm: WarmProcess | None) -> Programs:
    return Programs(functools.partial(tmp_path_factory.mktemp, "acl"), models, warm)
