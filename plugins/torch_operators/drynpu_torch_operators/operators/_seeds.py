"""The seeds that fused operators draw their masks from."""

from __future__ import annotations

import torch

from drynpu_torch.device import state

_MOST = 2**63


def next_seed() -> tuple[int, int]:
    """
    Return the seed of the device's default generator and an offset, and move the generator on.

    The offset is 0 where nothing has been drawn since the generator was seeded, as the vendor's counter says, so that
    the mask of ``_npu_dropout_gen_mask`` with that seed is the same. Later ones are drawn.
    """
    library = state().library
    generator = torch.default_generator if library is None else library.generators[state().current_device]
    seed = generator.initial_seed() % _MOST
    host, fresh = torch.Generator("cpu"), torch.Generator("cpu").manual_seed(generator.initial_seed())
    host.set_state(generator.get_state())
    untouched = torch.equal(host.get_state(), fresh.get_state())
    drawn = int(torch.randint(1, 2**31 - 1, (), generator=host, device="cpu"))
    generator.set_state(host.get_state())
    return seed, 0 if untouched else drawn
