"""
Seeds and generator states: those of PyTorch's CPU generator, which draws the device's numbers too.

So a script that seeds the device draws what a plain CPU run draws that seeds the CPU at the same place.
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


def manual_seed(seed: int) -> None:
    """Seed the generator."""
    torch.default_generator.manual_seed(int(seed))


def seed() -> None:
    """Seed the generator with a number from the system."""
    torch.default_generator.seed()


# All devices share the one generator.
manual_seed_all, seed_all = manual_seed, seed


def initial_seed() -> int:
    """Return the seed in use."""
    return torch.default_generator.initial_seed()


def get_rng_state(device: DeviceLike = DEVICE_TYPE) -> torch.Tensor:
    """Return the state of the generator, a uint8 tensor."""
    state().device_index(device)
    return torch.default_generator.get_state()


def get_rng_state_all() -> list[torch.Tensor]:
    """Return the state of the generator once per device."""
    return [get_rng_state(index) for index in range(state().device_count)]


def set_rng_state(new_state: torch.Tensor, device: DeviceLike = DEVICE_TYPE) -> None:
    """Set the state of the generator."""
    state().device_index(device)
    torch.default_generator.set_state(new_state)


def set_rng_state_all(new_states: list[torch.Tensor]) -> None:
    """Set the state of every device's generator; there is one, so it keeps the last."""
    for index, new_state in enumerate(new_states):
        set_rng_state(new_state, index)
