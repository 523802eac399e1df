"""What serves the npu of PyTorch, the native device or the sink, why, and how to get the other."""

from __future__ import annotations

from collections.abc import Callable

from attrs import frozen

from drynpu.compiling import find_compiler
from drynpu.options import Settings, TorchDevice
from drynpu_torch.extension._build import Build


@frozen
class Choice:
    """
    What serves the npu.

    ``why`` is the reason and ``other`` how to get the other device, both without a full stop. ``is_asked``: the
    settings name it. With ``is_missing`` they name a native device that has not been built, so nothing can serve.
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


def choose(settings: Settings, found: Build, compiler: Callable[[], str | None] = find_compiler) -> Choice:
    """Return what serves with these settings and this build; by default the native device where it is built."""
    if settings.device is TorchDevice.SINK and settings.compute:
        other = "without the setting the native device serves" if found.done else f"for the native one {_how(compiler)}"
        return Choice(TorchDevice.SINK, "DRYNPU_DEVICE=sink says so", other, is_asked=True)
    is_asked = settings.device is not None or not settings.compute
    if not is_asked and not found.done:
        why = f"the native device has not been built for torch {found.torch_version}"
        return Choice(TorchDevice.SINK, why, f"to get it {_how(compiler)}")
    if not settings.compute:
        why, other = "DRYNPU_COMPUTE=0 needs it", "the sink always computes"
    elif is_asked:
        why, other = "DRYNPU_DEVICE=native says so", "DRYNPU_DEVICE=sink does without it"
    else:
        why, other = f"it is built for torch {found.torch_version}", "DRYNPU_DEVICE=sink does without it"
    if not found.done:
        other = f"it has not been built for torch {found.torch_version}: {_how(compiler)}; {other}"
    return Choice(TorchDevice.NATIVE, why, other, is_asked, is_missing=not found.done)


def _how(compiler: Callable[[], str | None]) -> str:
    return "run: drynpu native build" if compiler() else "install a C++ compiler, then run: drynpu native build"
