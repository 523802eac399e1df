"""TensorFlow's deprecation lines: none for calls that are drynpu's and not the user's."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from drynpu_tf.inside import deprecation


@contextlib.contextmanager
def without_deprecations() -> Iterator[None]:
    """Have TensorFlow print no deprecations of what is called inside: those lines would name drynpu's calls."""
    before = deprecation._PRINT_DEPRECATION_WARNINGS
    deprecation._PRINT_DEPRECATION_WARNINGS = False
    try:
        yield
    finally:
        # TensorFlow's own `silence` stays silent after an exception.
        deprecation._PRINT_DEPRECATION_WARNINGS = before
