"""What serves the npu of PyTorch, the native device or the sink, why, and how to get the other."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from attrs import frozen

from drynpu import CommandError, say_once
from drynpu.compiling import COMPILER_ADVICE, find_compiler
from drynpu.options import Settings, TorchDevice
from drynpu_torch.extension._build import Build, build

_FIRST_WITH_SINK = (2, 10)
"""The first PyTorch in which a device can be registered from Python (torch.utils.backend_registration)."""


@frozen
class Choice:
    """
    What serves the npu.

    ``why`` is the reason and ``other`` how to get the other device, both without a full stop. ``is_asked``: the
    settings name it. With ``is_missing`` the native device is needed and has not been built, so nothing can serve.
    """

    device: TorchDevice
    why: str
    other: str
    is_asked: bool = False
    is_missing: bool = False

    @property
    def sentence(self) -> str:
        """The choice in one line."""
        return f"{self.device.value} device, because {self.why}; {self.other}"


def choose(settings: Settings, built: Build, compiler: Callable[[], str | None] = find_compiler) -> Choice:
    """Return what serves with these settings and this build; by default the native device where it is built."""
    if settings.device is TorchDevice.SINK and settings.compute and has_sink(built):
        other = f"for the native one {_how(built, compiler)}"
        if built.done:
            other = "without the setting the native device serves"
        return Choice(TorchDevice.SINK, "DRYNPU_DEVICE=sink says so", other, is_asked=True)
    is_asked = settings.device is not None or not settings.compute
    if not is_asked and not built.done and has_sink(built):
        return Choice(TorchDevice.SINK, _absence(built), f"to get it {_how(built, compiler)}")
    if not settings.compute:
        why, other = "DRYNPU_COMPUTE=0 needs it", "the sink always computes"
    elif not has_sink(built):
        needed = ".".join(map(str, _FIRST_WITH_SINK))
        why, other = f"torch {built.torch_version} can have no other", f"the sink needs torch {needed} or newer"
    elif is_asked:
        why, other = "DRYNPU_DEVICE=native says so", "DRYNPU_DEVICE=sink does without it"
    else:
        why, other = f"it is built for torch {built.torch_version}", "DRYNPU_DEVICE=sink does without it"
    if not built.done:
        other = f"{_absence(built)}: {_how(built, compiler)}; {other}"
    return Choice(TorchDevice.NATIVE, why, other, is_asked, is_missing=not built.done)


def build_at_first_use(settings: Settings, known: Build) -> None:
    """
    Build the native device where it would serve and is not there.

    Where that fails, `choose` says so. A build that failed before is not tried again, and without a compiler a line on
    stderr says how to get one.
    """
    is_for_sink = settings.device is TorchDevice.SINK and settings.compute and has_sink(known)
    if known.done or known.failure is not None or is_for_sink:
        return
    if find_compiler() is None:
        say_once(f"the native npu device is not built: {COMPILER_ADVICE}")
        return
    with contextlib.suppress(CommandError, OSError):  # the second where the cache cannot be written to
        build()


def has_sink(built: Build) -> bool:
    """Return whether the PyTorch of this build can have the sink."""
    return built.release >= _FIRST_WITH_SINK


def _absence(built: Build) -> str:
    if built.failure is None:
        return f"the native device has not been built for torch {built.torch_version}"
    return f"building the native device for torch {built.torch_version} failed"


def _how(built: Build, compiler: Callable[[], str | None]) -> str:
    if built.failure is not None:
        return "see: drynpu native status"
    return "run: drynpu native build" if compiler() else f"{COMPILER_ADVICE}, then run: drynpu native build"
