"""The hooks of the plugin ``mindspore_events``; the import is cheap."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drynpu.plugins import hookimpl

if TYPE_CHECKING:
    from drynpu_mindspore.loaded import LoadedMindSpore


@hookimpl
def drynpu_framework_loaded(framework: str, loaded: LoadedMindSpore) -> None:
    """Let events of a script be timed."""
    if framework == "mindspore":
        from drynpu_mindspore_events._events import time_events

        loaded.tried.attempt("times between events", lambda: time_events(loaded))
