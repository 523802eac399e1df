"""
Hooks on TensorFlow's session class.

One class is behind Session, InteractiveSession, MonitoredSession, Estimator and Keras (tf_adapters.md 6), so that
wrapping its methods reaches all of them.
"""

from __future__ import annotations

import functools
from typing import Any

from drynpu import say_once
from drynpu_tf.sessions._callables import record_callable, record_options_callable
from drynpu_tf.sessions._keys import run_key
from drynpu_tf.sessions._state import DeviceSession, device_session

__all__ = ["install", "set_turns"]

_STATE = "_drynpu_session"
_MARK = "_drynpu_wrapped"


def install() -> None:
    """Wrap the session class; once, however often it is called."""
    from tensorflow.python.client import session

    base = session.BaseSession
    if getattr(base, _MARK, False):
        return
    for name, wrap in (
        ("__init__", _init),
        ("run", _run),
        ("close", _close),
        ("make_callable", _make_callable),
        ("_make_callable_from_options", _make_callable_from_options),
        ("partial_run_setup", _partial_run_setup),
    ):
        setattr(base, name, wrap(getattr(base, name)))
    setattr(base, _MARK, True)


def _state(session: Any) -> DeviceSession | None:
    state: DeviceSession | None = getattr(session, _STATE, None)
    return state


def set_turns(session: Any, turns: int) -> bool:
    """Have training loops of *session* (or of what a monitored one wraps) make that many steps in a run; say if so."""
    while session is not None:
        state = _state(session)
        if state is not None:
            state.turns = turns
            return True
        session = getattr(session, "_sess", None)
    return False


def _init(original: Any) -> Any:
    @functools.wraps(original)
    def init(self: Any, target: str = "", graph: Any = None, config: Any = None) -> None:
        original(self, target, graph, config)
        try:
            setattr(self, _STATE, device_session(self.graph, config))
        except Exception:
            # As where the graph engine does not start: there is no session.
            self.close()
            raise

    return init


def _run(original: Any) -> Any:
    @functools.wraps(original)
    def run(self: Any, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        state = _state(self)
        recorder = None if state is None else state.recorder()
        if state is None or (recorder is None and state.turns == 1):
            return original(self, fetches, feed_dict, options, run_metadata)
        return state.run(
            recorder,
            run_key(fetches, feed_dict),
            options,
            run_metadata,
            lambda own, metadata: original(self, fetches, feed_dict, own, metadata),
        )

    return run


def _close(original: Any) -> Any:
    @functools.wraps(original)
    def close(self: Any) -> None:
        original(self)
        state = _state(self)
        if state is not None:
            state.close()

    return close


def _make_callable(original: Any) -> Any:
    @functools.wraps(original)
    def make_callable(self: Any, fetches: Any, feed_list: Any = None, accept_options: bool = False) -> Any:
        made = original(self, fetches, feed_list, accept_options)
        state = _state(self)
        return made if state is None else record_callable(self, fetches, feed_list, accept_options=accept_options)

    return make_callable


def _make_callable_from_options(original: Any) -> Any:
    @functools.wraps(original)
    def _make_callable_from_options(self: Any, callable_options: Any) -> Any:
        state = _state(self)
        if state is None:
            return original(self, callable_options)
        return record_options_callable(state, functools.partial(original, self), callable_options)

    return _make_callable_from_options


def _partial_run_setup(original: Any) -> Any:
    @functools.wraps(original)
    def partial_run_setup(self: Any, fetches: Any, feeds: Any = None) -> Any:
        if _state(self) is not None:
            say_once("Session.partial_run runs, but is not recorded: the graph engine runs graphs as a whole.")
        return original(self, fetches, feeds)

    return partial_run_setup
