"""The hooks of the plugin ``mindspore_like``; the import is cheap."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drynpu.plugins import StandIn, hookimpl

if TYPE_CHECKING:
    from importlib.abc import Loader


@hookimpl
def drynpu_stand_ins() -> tuple[StandIn, ...]:
    """Name the package that scripts get where there is no MindSpore."""
    return (StandIn(framework="mindspore", module="mindspore_like", extra="mindspore", loader=_loader),)


def _loader() -> Loader:
    from drynpu_mindspore_like._serve import StandInLoader

    return StandInLoader()
