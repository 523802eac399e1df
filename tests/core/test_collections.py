"""The collector at rest while a recording is worked on."""

from __future__ import annotations

import gc

import pytest

from drynpu import without_collections


def _fail() -> None:
    with without_collections(), without_collections():
        assert not gc.isenabled()
        raise ZeroDivisionError


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_is_afterwards_as_it_was(enabled: bool) -> None:
    before = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        with pytest.raises(ZeroDivisionError):
            _fail()
        assert gc.isenabled() == enabled
    finally:
        (gc.enable if before else gc.disable)()
