"""What profiling asks of the runtime beside it."""

from __future__ import annotations

from typing import Protocol

from drynpu.kernels import KernelPlan, Signature, unmapped_plan


class Runtime(Protocol):
    """What is loaded and which streams there are."""

    def model_name(self, model_id: int) -> str | None:
        """Return the name of a loaded model; ``None`` if there is none with that id."""

    def stream_id(self, stream: int) -> int | None:
        """Return the number of the stream of a handle, 0 being the default stream; ``None`` if there is none."""

    def device_id(self) -> int:
        """Return the device of the calling thread; 0 if it has none."""

    def plan(self, signature: Signature) -> KernelPlan:
        """Return what an operator of a model launches."""


class NoRuntime:
    """A runtime in which nothing is loaded yet."""

    def model_name(self, model_id: int) -> str | None:  # noqa: ARG002
        """Return ``None``: there are no models."""
        return None

    def stream_id(self, stream: int) -> int | None:
        """Return the default stream's number for its handle 0."""
        return 0 if stream == 0 else None

    def device_id(self) -> int:
        """Return the first device."""
        return 0

    def plan(self, signature: Signature) -> KernelPlan:
        """Return the stand-in for an operator without a rule."""
        return unmapped_plan(signature)
