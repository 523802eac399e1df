"""Floating point operations of the operators that run meanwhile."""

from __future__ import annotations

from torch.utils.flop_counter import FlopCounterMode


class FlopsCounter:
    """
    Count floating point operations with PyTorch's formulas: a context, or ``start`` and ``stop``.

    Those that run while it is paused are traversed, but not recorded.
    """

    def __init__(self) -> None:
        self._mode: FlopCounterMode | None = None
        self._recorded = 0
        self._traversed = 0
        self._before = 0
        self._paused = False

    def __enter__(self) -> FlopsCounter:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._end()

    def start(self) -> None:
        """Begin to count."""
        if self._mode is None:
            self._mode, self._before = FlopCounterMode(display=False), 0
            self._mode.__enter__()  # type: ignore[no-untyped-call]

    def stop(self) -> None:
        """Stop counting and forget the counts."""
        self._end()
        self._recorded = self._traversed = 0

    def pause(self) -> None:
        """Traverse, but do not record what follows."""
        self._note()
        self._paused = True

    def resume(self) -> None:
        """Record again."""
        self._note()
        self._paused = False

    def get_flops(self) -> list[int]:
        """Return how many operations were recorded, and how many traversed."""
        self._note()
        return [self._recorded, self._traversed]

    def _end(self) -> None:
        if self._mode is not None:
            self._note()
            self._mode.__exit__(None, None, None)  # type: ignore[no-untyped-call]
            self._mode = None

    def _note(self) -> None:
        if self._mode is None:
            return
        total = self._mode.get_total_flops()
        self._traversed += total - self._before
        self._recorded += 0 if self._paused else total - self._before
        self._before = total
