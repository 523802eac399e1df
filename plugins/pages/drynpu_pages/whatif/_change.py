"""What is changed about a device and its host."""

from __future__ import annotations

from attrs import evolve, frozen

from drynpu.platforms import Chip


@frozen(kw_only=True)
class Change:
    """
    What is different from the recorded run.

    Attributes
    ----------
    chip:
        The other chip; ``None`` for the same.
    matmul:
        How many times as many products a cube unit computes in a cycle.
    link:
        How many times as many bytes links between devices carry in a second.
    no_host_gaps:
        Whether all that the host does takes no time; where it calls to wait for the device it waits all the same.
    """

    chip: Chip | None = None
    matmul: float = 1.0
    link: float = 1.0
    no_host_gaps: bool = False

    @property
    def nothing(self) -> bool:
        """Whether all is as recorded."""
        return self == AS_RECORDED

    @property
    def text(self) -> str:
        """The change in a few words."""
        parts = [
            *([] if self.chip is None else [self.chip.name]),
            *([] if self.matmul == 1 else [f"products {self.matmul:g} times as fast"]),
            *([] if self.link == 1 else [f"links {self.link:g} times as fast"]),
            *(["no host gaps"] if self.no_host_gaps else []),
        ]
        return ", ".join(parts) or "as recorded"


AS_RECORDED = Change()


def changed_chip(recorded: Chip, change: Change) -> Chip:
    """
    Return the chip of a change.

    Links are those between devices: the way to the host stays, whatever *link* is.
    """
    chip = change.chip or recorded
    links = chip.interconnect
    faster = evolve(
        links,
        pair_gbs=links.pair_gbs * change.link,
        package_gbs=links.package_gbs * change.link,
        super_gbs=links.super_gbs * change.link,
        network_gbs=links.network_gbs * change.link,
    )
    rate = round(chip.cube_flop_per_cycle * change.matmul)
    return evolve(chip, cube_flop_per_cycle=rate, interconnect=faster)
