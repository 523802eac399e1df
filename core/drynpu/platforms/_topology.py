"""The links of a cluster from one YAML file; what it states takes the place of what the chip's description says."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import yaml
from attrs import evolve, fields_dict, frozen
from cattrs import BaseValidationError, transform_error

from drynpu._errors import OptionError
from drynpu._packaged import parse_yaml
from drynpu._spelling import did_you_mean
from drynpu.platforms._chip import Chip, SlowLink
from drynpu.platforms._converter import strict_converter
from drynpu.platforms._load import LINKS, AnyPath, explain_mistake

_SHAPES = ("mesh", "switch", "ring")


@frozen(kw_only=True)
class Level:
    """What links of one kind do: ``gbs`` 10^9 bytes/s one way, at peak; ``None`` keeps what the chip says."""

    gbs: float | None = None
    latency_us: float | None = None


@frozen(kw_only=True)
class Package(Level):
    """Dies of a package that are devices of their own."""

    devices: int


@frozen(kw_only=True)
class Hccs(Level):
    """The links of a board: how many ``devices`` they join (default: a node's), in which ``shape``, of which type."""

    devices: int | None = None
    shape: str | None = None
    link: str | None = None


@frozen(kw_only=True)
class SuperNode(Level):
    """Nodes that switches join; ``link`` is the type that records name."""

    nodes: int
    link: str = "HCCS_SW"


@frozen(kw_only=True)
class ClusterTopology:
    """
    How the ranks of a cluster are joined; rank r sits on node ``r // devices``.

    Attributes
    ----------
    devices:
        Of a node: as many ranks run there.
    nodes:
        Of the cluster; None: as many as the job needs.
    efficiency, start_us:
        Share of a link's peak that a transfer reaches, and what a collective costs besides its transfers.
    slow_links:
        Links that are slower than the others of their level.
    """

    devices: int
    nodes: int | None = None
    package: Package | None = None
    hccs: Hccs | None = None
    super_node: SuperNode | None = None
    roce: Level | None = None
    pcie: Level | None = None
    efficiency: float | None = None
    start_us: float | None = None
    slow_links: tuple[SlowLink, ...] = ()

    @property
    def ranks(self) -> int | None:
        """Ranks of the cluster; None where the number of nodes is open."""
        return None if self.nodes is None else self.nodes * self.devices

    def applied(self, chip: Chip) -> Chip:
        """
        Return *chip* with the links of this cluster.

        Raises
        ------
        OptionError
            A level has no rate, here and in the chip's description.
        """
        parts = chip.interconnect
        package, hccs, beyond = self.package, self.hccs or Hccs(), self.super_node
        switched = (hccs.shape or parts.shape) == "switch"
        # Switches join boxes where nobody says how many; meshes and rings are within one.
        usual = parts.board_devices if switched and beyond is None else min(parts.board_devices, self.devices)
        board = hccs.devices or (self.devices if self.hccs is not None else usual)
        changes: dict[str, object] = {
            "board_devices": board,
            "node_devices": self.devices,
            "shape": hccs.shape or (parts.shape if parts.shape != "none" or board == 1 else "mesh"),
            "link": hccs.link,
            "pair_gbs": hccs.gbs,
            "latency_us": hccs.latency_us,
            "efficiency": self.efficiency,
            "start_us": self.start_us,
            "slow_links": self.slow_links,
            **_rates("network", self.roce),
            "pcie_latency_us": None if self.pcie is None else self.pcie.latency_us,
        }
        if package is not None:
            changes |= {"package_devices": package.devices, **_rates("package", package)}
        if beyond is not None:
            changes |= {
                "super_devices": beyond.nodes * self.devices,
                "super_link": beyond.link,
                "super_gbs": beyond.gbs if beyond.gbs is not None else hccs.gbs or parts.pair_gbs,
                "super_latency_us": beyond.latency_us if beyond.latency_us is not None else parts.latency_us,
            }
        stated = {name: value for name, value in changes.items() if value is not None}
        linked = evolve(parts, **stated)  # type: ignore[arg-type]
        _check_rates(linked.board_devices, linked.pair_gbs, "hccs", chip)
        _check_rates(linked.package_devices, linked.package_gbs, "package", chip)
        _check_rates(linked.super_devices, linked.super_gbs, "super_node", chip)
        pcie = chip.pcie_gbs if self.pcie is None or self.pcie.gbs is None else self.pcie.gbs
        return evolve(chip, interconnect=linked, pcie_gbs=pcie)


def load_topology(path: AnyPath) -> ClusterTopology:
    """
    Read the links of a cluster from a YAML file with the fields of `ClusterTopology`.

    Raises
    ------
    OptionError
        The file cannot be read; or one line per problem, each with its path in the document.
    """
    place = f"topology {os.fspath(path)!r}"
    try:
        document = parse_yaml(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError([f"{place} cannot be read: {error}"]) from error
    except yaml.YAMLError as error:
        raise OptionError([f"{place} is not YAML: {error}"]) from error
    if not isinstance(document, dict):
        keys = ", ".join(fields_dict(ClusterTopology))
        raise OptionError([f"{place}: expected a mapping with {keys}; got {document!r}"])
    problems = list(_impossible(document))
    topology = None
    try:
        topology = strict_converter().structure(document, ClusterTopology)
    except BaseValidationError as error:
        problems = [*transform_error(error, format_exception=explain_mistake), *problems]
    if topology is not None and not problems:
        problems += _unfitting(topology)
    if problems or topology is None:
        raise OptionError([f"{place}: {problem}" for problem in problems])
    return topology


def _rates(name: str, level: Level | None) -> dict[str, float | None]:
    return {} if level is None else {f"{name}_gbs": level.gbs, f"{name}_latency_us": level.latency_us}


def _check_rates(devices: int, gbs: float, key: str, chip: Chip) -> None:
    if devices > 1 and not gbs:
        raise OptionError([f"topology: $.{key}.gbs is missing, and {chip.name} has no such link to take its rate from"])


def _impossible(document: Mapping[str, object], at: str = "$") -> Iterator[str]:
    """Yield what has the right type and still cannot be."""
    for key, value in document.items():
        place = f"{at}.{key}"
        if isinstance(value, dict):
            yield from _impossible(value, place)
        elif isinstance(value, list):
            for index, each in enumerate(value):
                if isinstance(each, dict):
                    yield from _impossible(each, f"{place}[{index}]")
        elif isinstance(value, str):
            allowed = {"shape": _SHAPES, "link": LINKS}.get(str(key))
            if allowed and value not in allowed:
                yield f"{value!r} is not one of {', '.join(allowed)}.{did_you_mean(value, allowed)} @ {place}"
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            zero = key in ("latency_us", "start_us")
            too_small = value < 0 or (value == 0 and not zero) or math.isnan(value)
            if too_small or value == math.inf or (key == "efficiency" and value > 1):
                allowed_text = "from 0" if zero else "above 0, at most 1" if key == "efficiency" else "above 0"
                yield f"{value!r} is not possible; allowed: a number {allowed_text} @ {place}"


def _unfitting(topology: ClusterTopology) -> Iterator[str]:
    """Yield levels that do not divide the next, and links between ranks that are not there."""
    hccs = topology.hccs.devices if topology.hccs is not None else None
    board = hccs or topology.devices
    sizes = [("package.devices", topology.package.devices if topology.package else 1), ("hccs.devices", board)]
    for (key, size), whole in zip(sizes, (board, topology.devices), strict=True):
        if whole % size:
            yield f"{size} does not divide the {whole} devices around it @ $.{key}"
    beyond = topology.super_node
    if beyond is not None and topology.nodes is not None and topology.nodes % beyond.nodes:
        yield f"{beyond.nodes} does not divide the {topology.nodes} nodes of the cluster @ $.super_node.nodes"
    for index, slow in enumerate(topology.slow_links):
        wrong = [rank for rank in slow.ranks if rank < 0 or (topology.ranks is not None and rank >= topology.ranks)]
        if wrong:
            last = "" if topology.ranks is None else f" to {topology.ranks - 1}"
            yield f"there is no rank {wrong[0]}: ranks count from 0{last} @ $.slow_links[{index}].ranks"
        elif slow.ranks[0] == slow.ranks[1]:
            yield f"a link joins two ranks; got {list(slow.ranks)} @ $.slow_links[{index}].ranks"
