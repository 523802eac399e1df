"""Parts that depend on MindSpore's own modules: each is tried by itself, so that one that fails costs no other."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from attrs import define, field

from drynpu_mindspore.inside._releases import UnknownInside

_T = TypeVar("_T")
_LONGEST = 100


@define
class Tried:
    """
    Which parts failed.

    Attributes
    ----------
    lost:
        Why, by what is lost.
    """

    lost: dict[str, str] = field(factory=dict)

    def attempt(self, part: str, call: Callable[[], _T]) -> _T | None:
        """Return what *call* returns; ``None`` if it fails, which loses *part* and nothing else."""
        try:
            return call()
        except Exception as error:  # noqa: BLE001 - MindSpore's modules may differ in any way, and training goes on
            self.lost[part] = _reason(error)
            return None

    @property
    def parts(self) -> str:
        """What is lost."""
        return ", ".join(self.lost)

    @property
    def reasons(self) -> str:
        """Why, each reason once."""
        return "; ".join(dict.fromkeys(self.lost.values()))


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split())
    named = text if isinstance(error, UnknownInside) else f"{type(error).__name__}: {text}"
    return named if len(named) <= _LONGEST else f"{named[:_LONGEST]}..."
