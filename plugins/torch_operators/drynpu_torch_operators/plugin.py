"""The hooks of the plugin ``torch_operators``; the import is cheap."""

from __future__ import annotations

from drynpu.plugins import FacadePart, facade_folder, hookimpl


@hookimpl
def drynpu_facade_parts() -> tuple[FacadePart, ...]:
    """Add the operators, ``atb``, ``contrib``, ``dynamo`` and ``testing`` to ``torch_npu``."""
    folder = facade_folder(__file__) / "torch_npu"
    return (
        FacadePart(package="torch_npu", folder=folder, names="_part"),
        FacadePart(package="torch_npu.contrib", folder=folder / "contrib", names="_part"),
    )


@hookimpl
def drynpu_device_installed(framework: str) -> None:
    """Hand in what registers the operators, and serve extensions that are compiled for the device."""
    if framework != "torch":
        return
    from drynpu_torch.device import state
    from drynpu_torch_operators.ascend_extensions import watch_loads

    state().new_operators = _register
    watch_loads()


def _register() -> None:
    from drynpu_torch_operators.operators import register

    register()
