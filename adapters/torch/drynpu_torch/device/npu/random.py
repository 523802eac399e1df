"""
Seeds and generator states.

Each native device has a generator of its own, which draws what the CPU's would draw from the same seed. With the sink
there is one, PyTorch's CPU generator: a script that seeds the device then draws what a plain CPU run draws that seeds
the CPU at the same place.
"""

from __future__ import annotations

import torch

from drynpu_torch.device._state import DEVICE_TYPE, DeviceLike, state

__all__ = [
    "get_rng_state",
    "get_rng_state_all",
    "initial_seed",
    "manual_seed",
    "manual_seed_all",
    "seed",
    "seed_all",
    "set_rng_state",
    "set_rng_state_all",
]


def _generator(device: DeviceLike = None) -> torch.Generator:
    library = state().library
    return torch.default_generator if library is None else library.generators[state().device_index(device)]


def generators() -> tuple[torch.Generator, ...]:
    """Return the generators of the devices; the sink has one, the CPU's."""
    library = state().library
    return (torch.default_generator,) if library is None else library.generators


def generators_by_device() -> tuple[torch.Generator, ...]:
    """Return the generator of every device; with the sink it is the same one."""
    distinct = generators()
    return distinct * (state().device_count // len(distinct))


def manual_seed(seed: int) -> None:
    """Seed the generator of the current device."""
    _generator().manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    """Seed the generators of all devices."""
    for generator in generators():
        generator.manual_seed(int(seed))


def seed() -> None:
    """Seed the generator of the current device with a number from the system."""
    _generator().seed()


def seed_all() -> None:
    """Seed the generators of all devices with one number from the system."""
    manual_seed_all(_generator().seed())


def initial_seed() -> int:
    """Return the seed in use on the current device."""
    return _generator().initial_seed()


def get_rng_state(device: DeviceLike = DEVICE_TYPE) -> torch.Tensor:
    """Return the state of the generator, a uint8 tensor."""
    state().device_index(device)
    return _generator(device).get_state()


def get_rng_state_all() -> list[torch.Tensor]:
    """Return the state of every device's generator."""
    return [get_rng_state(index) for index in range(state().device_count)]


def set_rng_state(new_state: torch.Tensor, device: DeviceLike = DEVICE_TYPE) -> None:
    """Set the state of the generator."""
    state().device_index(device)
    _generator(device).set_state(new_state)


def set_rng_state_all(new_states: list[torch.Tensor]) -> None:
    """Set the state of every device's generator; the sink has one, so it keeps the last."""
    for index, new_state in enumerate(new_states):
        set_rng_state(new_state, index)
