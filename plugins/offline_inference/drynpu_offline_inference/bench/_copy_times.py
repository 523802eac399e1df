"""The times of copies under the names of ``ais_bench``."""

from __future__ import annotations

from typing import Any, ClassVar


class CopyTimesBase:
    """Times of copies of the process, ms; ``runtime`` is the module ``aclruntime``."""

    runtime: ClassVar[Any]

    @classmethod
    def get_h2d_time_list(cls) -> list[float]:
        """Return the times of copies to devices."""
        return list(cls.runtime.MemorySummary().H2D_time_list)

    @classmethod
    def get_d2h_time_list(cls) -> list[float]:
        """Return the times of copies to the host."""
        return list(cls.runtime.MemorySummary().D2H_time_list)

    @classmethod
    def reset(cls) -> None:
        """Forget all copies so far."""
        cls.runtime.MemorySummary().reset()

    get_H2D_time_list, get_D2H_time_list = get_h2d_time_list, get_d2h_time_list  # noqa: N815
    """Older spellings."""
