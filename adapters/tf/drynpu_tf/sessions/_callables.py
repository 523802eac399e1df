"""Callables that sessions make ahead of their runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from drynpu_tf.foreign import CallableOptions, Feeds, Fetches, RunOptions, Session
from drynpu_tf.sessions._fetches import names_key
from drynpu_tf.sessions._state import DeviceSession


def record_callable(
    session: Session, fetches: Fetches, feed_list: Feeds, *, accept_options: bool
) -> Callable[..., Any]:
    """
    Return a callable as ``Session.make_callable`` does, whose runs are recorded.

    TensorFlow's own does not call ``run`` where it has one fetch and no feeds.
    """
    feeds = list(feed_list or ())

    def generic(*values: object, **options: CallableOptions) -> Any:
        if len(values) != len(feeds):
            raise TypeError(f"Expected {len(feeds)} positional arguments, got {len(values)}")
        unknown = set(options) - ({"options", "run_metadata"} if accept_options else set())
        if unknown:
            raise TypeError(f"unexpected keyword argument {min(unknown)!r}")
        return session.run(fetches, feed_dict=dict(zip(feeds, values, strict=True)), **options)

    return generic


class _Recorded:
    """A callable of ``_make_callable_from_options``, which TensorFlow makes anew for each ``RunOptions``."""

    def __init__(
        self, state: DeviceSession, make: Callable[[CallableOptions], Callable[..., Any]], options: CallableOptions
    ) -> None:
        self._state, self._make, self._options = state, make, options
        self._variants: dict[bytes, Callable[..., Any]] = {}
        self._key = names_key(options.fetch, options.target, options.feed)

    def __call__(self, *values: object, **keywords: object) -> Any:
        metadata = keywords.pop("run_metadata", None)
        recorder = self._state.recorder()
        if recorder is None and self._state.is_plain:
            return self._variant(self._options.run_options)(*values, run_metadata=metadata, **keywords)
        return self._state.run(
            recorder,
            self._key,
            self._options.run_options,
            metadata,
            lambda traced, filled: self._variant(traced)(*values, run_metadata=filled, **keywords),
        )

    def _variant(self, run_options: RunOptions) -> Callable[..., Any]:
        """Return the callable with these ``RunOptions``, which TensorFlow fixes when it makes one."""
        key = run_options.SerializeToString(deterministic=True)
        if key not in self._variants:
            options = type(self._options)()
            options.CopyFrom(self._options)
            options.run_options.CopyFrom(run_options)
            self._variants[key] = self._make(options)
        return self._variants[key]


def record_options_callable(
    state: DeviceSession, make: Callable[[CallableOptions], Callable[..., Any]], options: CallableOptions
) -> Callable[..., Any]:
    """Return a callable as ``Session._make_callable_from_options`` does (Keras runs by it), whose runs are recorded."""
    return _Recorded(state, make, options)
