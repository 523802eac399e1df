"""The hooks of the plugin ``apex``; the import is cheap."""

from __future__ import annotations

from drynpu.plugins import Facade, FacadePart, facade_folder, hookimpl

_NOTE = "the vendor's, for your own code under drynpu run, or once it has imported torch_npu"


@hookimpl
def drynpu_facades() -> tuple[Facade, ...]:
    """Return the vendor's ``apex``."""
    folder = facade_folder(__file__)
    return (Facade(module="apex", framework="torch", extra="torch", folder=folder, note=lambda: _NOTE),)


@hookimpl
def drynpu_facade_parts() -> tuple[FacadePart, ...]:
    """Add ``optim``, and functions that combine tensors, to ``torch_npu``."""
    folder = facade_folder(__file__) / "torch_npu"
    return (
        FacadePart(package="torch_npu", folder=folder, names="_combined_part"),
        FacadePart(package="torch_npu.utils", folder=folder / "utils", names="_combined_part"),
    )
