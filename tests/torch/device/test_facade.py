"""``import torch_npu``: the vendor's names on the device, each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

NAMES = [
    *("profile", "_KinetoProfile", "_ExperimentalConfig", "schedule", "tensorboard_trace_handler"),
    *("ProfilerAction", "ProfilerActivity", "ProfilerLevel", "AiCMetrics", "ExportType", "HostSystem"),
    *("supported_activities", "supported_profiler_level", "supported_ai_core_metrics", "supported_export_type"),
]


def _run(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"KINETO_LOG_LEVEL": "99"} | environment,
    )


def _output(script: str, **environment: str) -> list[str]:
    done = _run(script, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_device_is_there_after_the_import() -> None:
    lines = _output(
        """
        import torch, torch_npu
        print(torch_npu.npu is torch.npu, torch_npu.__version__ == torch.__version__.partition("+")[0] + "+drynpu")
        import torch_npu.npu.amp, torch.npu.amp
        from torch_npu.npu import amp
        from torch_npu.npu.utils import synchronize
        from torch.npu.streams import Stream
        print(torch_npu.npu.amp is torch.npu.amp is amp)
        print(synchronize is torch.npu.synchronize, Stream is torch.npu.Stream)
        x = torch.ones(2, 3).npu()
        print(x.is_npu, torch_npu.npu_format_cast(x, 0) is x)
        print([torch_npu.get_npu_format(torch.ones((1,) * n)) for n in (2, 4, 5)])
        """
    )
    assert lines == ["True True", "True", "True True", "True True", "[2, 0, 30]"]


@pytest.mark.slow
def test_the_profiler_has_the_vendors_names() -> None:
    lines = _output(
        f"""
        import torch_npu, torch_npu.profiler.profiler
        names = {NAMES!r}
        print(set(names) - set(torch_npu.profiler.__all__), all(hasattr(torch_npu.profiler, n) for n in names))
        from torch_npu.profiler.profiler import analyse
        from torch_npu.profiler import _KinetoProfile
        print(callable(analyse), issubclass(torch_npu.profiler.profile, _KinetoProfile))
        """
    )
    assert lines == ["{'_KinetoProfile'} True", "True True"]


@pytest.mark.slow
def test_names_that_never_were_are_missing_and_submodules_are_there() -> None:
    lines = _output(
        """
        import torch_npu
        from torch_npu.utils import collect_env
        print(torch_npu.distributed.is_hccl_available(), torch_npu.Format.ND.name, collect_env.get_cann_version())
        for path in ("npu.nothing", "profilr"):
            owner, _, name = path.rpartition(".")
            try:
                getattr(getattr(torch_npu, owner) if owner else torch_npu, name)
            except AttributeError as error:
                print(error)
        """
    )
    assert lines == [
        "True ND 9.0.0",
        "module 'torch.npu' has no attribute 'nothing'",
        "module 'torch_npu' has no attribute 'profilr'",
    ]


def test_without_pytorch_one_line_says_which_extra() -> None:
    done = _run(
        """
        import sys
        sys.modules["torch"] = None
        import torch_npu
        """
    )
    last = done.stderr.splitlines()[-1]
    assert done.returncode == 1
    assert "torch" in last
    assert "pip install 'drynpu[torch]'" in last


@pytest.mark.slow
def test_another_device_in_the_slot_is_named() -> None:
    done = _run(
        """
        import torch
        torch.utils.rename_privateuse1_backend("other")
        import drynpu_torch.install
        drynpu_torch.install.install()
        """
    )
    assert "already taken by 'other'" in done.stderr.splitlines()[-1]


@pytest.mark.slow
def test_importing_the_device_changes_nothing() -> None:
    lines = _output(
        """
        import torch
        before = torch.Tensor.to, torch.Tensor.cpu, torch.Generator, torch.autocast.__init__
        import drynpu_torch.install
        print(hasattr(torch, "npu"), torch._C._get_privateuse1_backend_name())
        print(before == (torch.Tensor.to, torch.Tensor.cpu, torch.Generator, torch.autocast.__init__))
        """
    )
    assert lines == ["False privateuseone", "True"]


AUTOLOAD = """
    import torch
    from drynpu_torch.autoload import load
    load()
    print(hasattr(torch, "npu"))
"""


@pytest.mark.slow
def test_autoload_brings_the_device_only_where_it_is_asked_for() -> None:
    assert _output(AUTOLOAD, DRYNPU_AUTOLOAD="") == ["False"]
    assert _output(AUTOLOAD, DRYNPU_AUTOLOAD="1") == ["True"]


@pytest.mark.slow
def test_autoload_gives_way_to_a_genuine_package(tmp_path: Path) -> None:
    genuine = tmp_path / "torch_npu"
    genuine.mkdir()
    (genuine / "__init__.py").write_text("raise SystemExit('autoload must not import it')")
    assert _output(AUTOLOAD, DRYNPU_AUTOLOAD="1", PYTHONPATH=str(tmp_path)) == ["False"]


@pytest.mark.slow
def test_autoload_never_raises() -> None:
    # A module that is None cannot be imported: what an installation does that is not whole.
    broken = AUTOLOAD.replace(
        "import torch\n", "import sys; sys.modules['drynpu_torch.device'] = None\n    import torch\n", 1
    )
    done = _run(broken, DRYNPU_AUTOLOAD="1")
    assert done.returncode == 0
    assert done.stdout.splitlines() == ["False"]
    assert "could not be loaded with PyTorch: " in done.stderr


@pytest.mark.slow
def test_autoload_says_which_setting_has_its_default() -> None:
    done = _run(AUTOLOAD, DRYNPU_AUTOLOAD="1", DRYNPU_DEVICES="many")
    assert done.stdout.splitlines() == ["True"]
    assert "[drynpu] DRYNPU_DEVICES: 'many' is not allowed; allowed: an integer from 0 to 63." in done.stderr


def test_autoload_loads_nothing_when_it_is_not_wanted() -> None:
    lines = _output(
        """
        import sys
        import drynpu_torch.autoload
        drynpu_torch.autoload.load()
        print([m for m in ("torch", "drynpu", "polars", "numpy") if m in sys.modules])
        """,
        DRYNPU_AUTOLOAD="",
    )
    assert lines == ["[]"]
