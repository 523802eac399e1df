"""What a page is."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attrs import frozen

from drynpu.views.content import Block, Control
from drynpu.views.runs import Rank, View


def _no_controls(_: Rank) -> Sequence[Control]:
    return ()


@frozen
class Page:
    """
    One page.

    Attributes
    ----------
    name:
        Its part of the address: lower case, words joined by ``-``.
    about:
        What it answers, in a sentence under its title.
    build:
        ``build(view)``: the blocks from top to bottom. Raises nothing for data that is absent: a note
        says what is missing.
    controls:
        Choices that the page offers besides rank and step.
    with_step:
        Whether a step can be chosen.
    with_other:
        Whether another run can be chosen to compare with.
    """

    name: str
    title: str
    about: str
    build: Callable[[View], Sequence[Block]]
    controls: Callable[[Rank], Sequence[Control]] = _no_controls
    with_step: bool = False
    with_other: bool = False

    def blocks(self, view: View) -> Sequence[Block]:
        """Return the blocks of a view; the blocks of the last views of a rank are cached."""
        other = "" if view.other is None else view.other.name
        key = (self.name, view.step, other, tuple(sorted(view.selection.choices.items())))
        kept: Sequence[Block] = view.rank.keep(key, lambda: list(self.build(view)))
        return kept
