"""Where libraries keep the addresses of functions that they call."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

import pytest

from drynpu_mindspore.inside import read_word
from drynpu_mindspore_kernels.splitting._imports import import_place, loaded_library

if sys.platform != "linux":
    pytest.skip("ELF", allow_module_level=True)


@pytest.fixture
def library() -> ctypes.CDLL:
    """Return a library that calls functions of C."""
    import _ctypes

    found = loaded_library(Path(_ctypes.__file__))
    assert found is not None
    return found


def test_a_function_that_is_called_is_found(library: ctypes.CDLL) -> None:
    place = import_place(library, "dlsym")
    expected = ctypes.cast(ctypes.CDLL(None).dlsym, ctypes.c_void_p).value
    # What nobody has called yet may lead to the loader, which would then find it.
    assert place
    assert read_word(place) == expected or not ctypes.CDLL(None).dladdr(read_word(place), (ctypes.c_void_p * 4)())


def test_a_function_that_is_not_called_has_no_place(library: ctypes.CDLL) -> None:
    assert import_place(library, "no_function_of_this_name") == 0


def test_a_library_that_is_not_loaded_is_none(tmp_path: Path) -> None:
    assert loaded_library(tmp_path / "none.so") is None
