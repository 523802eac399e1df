"""Names of data types."""

from __future__ import annotations

import numpy as np
import pytest

from drynpu.kernels import DTYPES, NO_DATA
from drynpu.kernels.ops import FLOATING, ge_dtype


@pytest.mark.parametrize("name", ["float16", "float32", "float64", "int8", "uint16", "int64", "bool", "complex64"])
def test_a_type_has_the_size_that_numpy_gives_it(name: str) -> None:
    assert DTYPES[ge_dtype(name)].size_bytes == np.dtype(name).itemsize
    assert (ge_dtype(name) in FLOATING) == np.issubdtype(np.dtype(name), np.floating)


def test_capitals_do_not_matter() -> None:
    assert (ge_dtype("BFloat16"), ge_dtype("UInt8")) == ("DT_BF16", "UINT8")


def test_what_is_no_number_is_undefined() -> None:
    assert ge_dtype("string") == ge_dtype("object") == NO_DATA
