"""What the hints say of the clock."""

from __future__ import annotations

import pytest
from attrs import evolve

from drynpu.views.content import Note
from drynpu.views.hints import hint_blocks
from drynpu.views.runs import View


@pytest.mark.parametrize(("clock", "words"), [
    ("wall", "Kernel times are modelled, pauses measured."), ("projected", "They follow from modelled times."),
])  # fmt: skip
def test_a_pause_that_was_measured_is_not_called_modelled(view: View, clock: str, words: str) -> None:
    view.rank.__dict__["summary"] = evolve(view.rank.summary, clock=clock)
    notes = [block.text for block in hint_blocks(view.run, view.rank, ()) if isinstance(block, Note)]
    assert notes[0].endswith(words)
