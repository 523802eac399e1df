"""The timer of events, made when the first event with timing is recorded."""

from __future__ import annotations

from drynpu_torch.device import EventTimer, state


def defer_event_timer() -> None:
    """Let the first event with timing make the timer, whose modules take a tenth of a second to load."""
    state().new_timer = _new_timer


def _new_timer() -> EventTimer:
    from drynpu_torch.event_timer import SimulatedTimer

    return SimulatedTimer.from_environment()
