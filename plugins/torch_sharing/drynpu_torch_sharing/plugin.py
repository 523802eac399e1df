"""The hooks of the plugin ``torch_sharing``; the import is cheap."""

from __future__ import annotations

from drynpu.plugins import FacadePart, facade_folder, hookimpl


@hookimpl
def drynpu_facade_parts() -> tuple[FacadePart, ...]:
    """Add ``multiprocessing`` to ``torch_npu``."""
    return (FacadePart(package="torch_npu", folder=facade_folder(__file__) / "torch_npu", names="_sharing_part"),)


@hookimpl
def drynpu_device_installed(framework: str) -> None:
    """Let ``torch.multiprocessing`` carry tensors and events of the device."""
    if framework == "torch":
        from drynpu_torch_sharing.reductions import install

        install()
