"""The same work for many ranks: how far it is, and what is left where it is interrupted."""

from __future__ import annotations

from pathlib import Path

import pytest

from drynpu import Stage, listening
from drynpu_cluster import find_cluster
from drynpu_cluster._spread import spread
from drynpu_cluster.synth import SynthOptions, synthesise


def test_the_ranks_that_are_done_are_told() -> None:
    heard: list[Stage] = []
    with listening(heard.append):
        assert list(spread(str, [1, 2, 3], stage="Reading ranks", workers=1)) == ["1", "2", "3"]
    assert heard == [Stage("Reading ranks", done, 3) for done in range(3)]


def test_an_interrupted_cluster_leaves_no_rank(text_run: Path, tmp_path: Path) -> None:
    def interrupt(stage: Stage) -> None:
        if stage == Stage("Writing ranks", 2, 6):
            raise KeyboardInterrupt

    folder = tmp_path / "many"
    with pytest.raises(KeyboardInterrupt), listening(interrupt):
        synthesise(find_cluster(text_run), folder, SynthOptions(6), workers=1)
    assert list(folder.iterdir()) == []
