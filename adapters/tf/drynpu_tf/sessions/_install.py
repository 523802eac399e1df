"""
Hooks on TensorFlow's session class.

One class is behind Session, InteractiveSession, MonitoredSession, Estimator and Keras (tf_adapters.md 6), so that
wrapping its methods reaches all of them.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from drynpu import say_once
from drynpu_tf.foreign import CallableOptions, ConfigProto, Feeds, Fetches, Graph, RunMetadata, RunOptions, Session
from drynpu_tf.inside import SESSIONS, has
from drynpu_tf.options import npu_options_of
from drynpu_tf.ranks import NAMES, rank_count
from drynpu_tf.sessions._callables import record_callable, record_options_callable
from drynpu_tf.sessions._fetches import run_key
from drynpu_tf.sessions._state import DeviceSession, device_session

_STATE = "_drynpu_session"
_MARK = "_drynpu_wrapped"
_THREADS: Final = 64
"""Threads beside the usual ones. A communication operator keeps one until all ranks have come to it."""


# N26, docs/tricks.md
def install() -> None:
    """Wrap the methods of the session class; nothing happens the second time, or where TensorFlow has another one."""
    if not has(SESSIONS, "sessions are not recorded"):
        return
    from drynpu_tf.inside import session

    base = session.BaseSession
    if getattr(base, _MARK, False):
        return
    for name, replacement in _REPLACEMENTS.items():
        setattr(base, name, _wrap(getattr(base, name), replacement))
    setattr(base, _MARK, True)


def _wrap(original: Callable[..., Any], replacement: Callable[..., Any]) -> Callable[..., Any]:
    """Return the method that calls *replacement* with the original method first."""

    @functools.wraps(original)
    def method(self: Any, *arguments: object, **keywords: object) -> Any:
        return replacement(original, self, *arguments, **keywords)

    return method


def _state(session: Session) -> DeviceSession | None:
    state: DeviceSession | None = getattr(session, _STATE, None)
    return state


def set_turns(session: Session, turns: int) -> bool:
    """
    Set how many steps a run of a training loop makes in *session*, or in the session that a monitored one wraps.

    Return whether that session is on the device.
    """
    while session is not None:
        state = _state(session)
        if state is not None:
            state.turns = turns
            return True
        session = getattr(session, "_sess", None)
    return False


def _init(
    original: Callable[..., Any], session: Session, target: str = "", graph: Graph = None, config: ConfigProto = None
) -> None:
    original(session, target, graph, _config_of_rank(graph, config))
    try:
        setattr(session, _STATE, device_session(session.graph, config))
    except Exception:
        # As where the graph engine does not start: there is no session.
        session.close()
        raise


def _run(
    original: Callable[..., Any],
    session: Session,
    fetches: Fetches,
    feed_dict: Feeds = None,
    options: RunOptions = None,
    run_metadata: RunMetadata = None,
) -> Any:
    state = _state(session)
    recorder = None if state is None else state.recorder()
    if state is None or (recorder is None and state.is_plain):
        return original(session, fetches, feed_dict, options, run_metadata)
    return state.run(
        recorder,
        run_key(fetches, feed_dict),
        options,
        run_metadata,
        lambda traced, metadata: original(session, fetches, feed_dict, traced, metadata),
    )


def _close(original: Callable[..., Any], session: Session) -> None:
    original(session)
    state = _state(session)
    if state is not None:
        state.close()


def _make_callable(
    original: Callable[..., Any],
    session: Session,
    fetches: Fetches,
    feed_list: Feeds = None,
    accept_options: bool = False,
) -> Any:
    # TensorFlow's own, also where it is not used: it checks the arguments.
    plain = original(session, fetches, feed_list, accept_options)
    if _state(session) is None:
        return plain
    return record_callable(session, fetches, feed_list, accept_options=accept_options)


def _make_callable_from_options(
    original: Callable[..., Any], session: Session, callable_options: CallableOptions
) -> Any:
    state = _state(session)
    if state is None:
        return original(session, callable_options)
    return record_options_callable(state, functools.partial(original, session), callable_options)


def _partial_run_setup(original: Callable[..., Any], session: Session, fetches: Fetches, feeds: Feeds = None) -> Any:
    if _state(session) is not None:
        say_once("Session.partial_run runs, but is not recorded: the graph engine runs graphs as a whole.")
    return original(session, fetches, feeds)


_REPLACEMENTS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "__init__": _init,
        "run": _run,
        "close": _close,
        "make_callable": _make_callable,
        "_make_callable_from_options": _make_callable_from_options,
        "partial_run_setup": _partial_run_setup,
    }
)
"""Methods of the session class, and what is called in their place."""


def _config_of_rank(graph: Graph, config: ConfigProto) -> ConfigProto:
    """
    Return the configuration of a session on the device; with several ranks its pool has a thread for each operator.

    Ranks may come to operators that do not depend on each other in different order. With as many threads as a run has
    of them, no rank waits for one that cannot begin. The script's own ``ConfigProto`` stays as it is.
    """
    if rank_count(os.environ) < 2 or not npu_options_of(config).on_device:
        return config
    changed = type(config)()
    changed.CopyFrom(config)
    usual = max(config.inter_op_parallelism_threads, os.cpu_count() or 1)
    changed.inter_op_parallelism_threads = usual + _THREADS + _communicating(graph)
    changed.use_per_session_threads = True
    return changed


def _communicating(graph: Graph) -> int:
    """Return how many operators of a graph, None for the current one, communicate."""
    import tensorflow.compat.v2 as tf

    return NAMES.count(tf.compat.v1.get_default_graph() if graph is None else graph)
