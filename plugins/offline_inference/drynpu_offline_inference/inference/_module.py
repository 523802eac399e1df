"""What the module has beside sessions and tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from drynpu_offline_inference.inference._options import PipelineOptions
from drynpu_offline_inference.inference._pipeline import run_files, run_memory
from drynpu_offline_inference.inference._session import Session
from drynpu_offline_inference.inference._tensors import Tensor
from drynpu_offline_inference.inference.process import LIBRARY


class MemoryTimes:
    """Times of the copies of the process, ms; every instance shows the same. Names are the vendor's."""

    @property
    def H2D_time_list(self) -> list[float]:  # noqa: N802
        """Copies to devices."""
        LIBRARY.times.settle()
        return LIBRARY.copies.to_device_ms

    @property
    def D2H_time_list(self) -> list[float]:  # noqa: N802
        """Copies to the host."""
        LIBRARY.times.settle()
        return LIBRARY.copies.to_host_ms

    def reset(self) -> None:
        """Forget all copies so far."""
        LIBRARY.times.forget(LIBRARY.copies)
        LIBRARY.copies.to_device_ms.clear()
        LIBRARY.copies.to_host_ms.clear()


def run_pipeline(
    session: Session, find_session: Callable[[Any], Session], *arguments: Any
) -> list[list[Tensor]] | None:
    """
    Run files, ``(files, options, other sessions)``, or memory, ``(names, inputs, shapes, auto shape, auto dims)``.

    *find_session* returns what a script's object for a session stands for.

    Raises
    ------
    TypeError
        The arguments are neither.
    """
    match arguments:
        case (files, PipelineOptions() as options, others):
            run_files(session, files, options, [find_session(each) for each in others])
            return None
        case (names, feeds, shapes, auto_shape, auto_dims):
            return _run_memory(session, names, feeds, shapes, bool(auto_shape), bool(auto_dims))
    raise TypeError(
        "run_pipeline takes (files, infer_options, other sessions) or "
        f"(output names, inputs, shapes, auto shape, auto dims), not {len(arguments)} other arguments"
    )


def _run_memory(
    session: Session, names: Sequence[str], feeds: Any, shapes: Any, auto_shape: bool, auto_dims: bool
) -> list[list[Tensor]]:
    return run_memory(session, names, feeds, shapes, auto_shape=auto_shape, auto_dims=auto_dims)


def finalize() -> None:
    """End the library: models, memory and contexts are gone, recordings are written."""
    LIBRARY.finalize()
