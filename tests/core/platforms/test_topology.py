"""Links of a cluster from YAML: what a file states, what it may not state, and what follows for the chip."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from drynpu import OptionError
from drynpu.platforms import ClusterTopology, SlowLink, load_chip, load_topology

EXAMPLE = Path(__file__).parents[3] / "examples" / "torch" / "cluster.yaml"
CLUSTER = {
    "nodes": 6,
    "devices": 12,
    "package": {"devices": 2, "gbs": 201, "latency_us": 0.3},
    "hccs": {"devices": 6, "shape": "switch", "link": "HCCS_SW", "gbs": 131, "latency_us": 0.9},
    "super_node": {"nodes": 3, "link": "UB", "gbs": 67.5, "latency_us": 2.1},
    "roce": {"gbs": 23.5, "latency_us": 6.25},
    "pcie": {"gbs": 31, "latency_us": 4.5},
    "efficiency": 0.75,
    "start_us": 7,
    "slow_links": [{"ranks": [3, 65], "factor": 2.5}],
}


def written(path: Path, document: object) -> Path:
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return path


def read(tmp_path: Path, **changes: Any) -> ClusterTopology:
    return load_topology(written(tmp_path / "cluster.yaml", CLUSTER | changes))


def refused(tmp_path: Path, document: object) -> list[str]:
    with pytest.raises(OptionError) as caught:
        load_topology(written(tmp_path / "cluster.yaml", document))
    return list(caught.value.problems)


def test_every_level_reaches_the_chip(tmp_path: Path) -> None:
    chip = read(tmp_path).applied(load_chip("910B2"))
    links = chip.interconnect
    assert (links.board_devices, links.node_devices, links.super_devices, links.package_devices) == (6, 12, 36, 2)
    assert (links.shape, links.link, links.super_link) == ("switch", "HCCS_SW", "UB")
    assert (links.package_gbs, links.pair_gbs, links.super_gbs, links.network_gbs, chip.pcie_gbs) == (
        *(201, 131, 67.5, 23.5, 31),
    )
    assert (links.package_latency_us, links.latency_us, links.super_latency_us) == (0.3, 0.9, 2.1)
    assert (links.network_latency_us, links.pcie_latency_us) == (6.25, 4.5)
    assert (links.efficiency, links.start_us) == (0.75, 7)
    assert links.slow_links == (SlowLink(ranks=(3, 65), factor=2.5),)


def test_what_is_not_stated_is_the_chips(tmp_path: Path) -> None:
    plain = load_chip("910B2")
    links = load_topology(written(tmp_path / "c.yaml", {"devices": 4})).applied(plain).interconnect
    assert (links.board_devices, links.node_devices, links.super_devices) == (4, 4, 1)
    assert (links.pair_gbs, links.shape, links.network_gbs) == (
        plain.interconnect.pair_gbs,
        "mesh",
        plain.interconnect.network_gbs,
    )


def test_the_switches_of_a_super_node_chip_join_boxes_until_somebody_counts_them(tmp_path: Path) -> None:
    chip = load_chip("910_93")
    open_ended = load_topology(written(tmp_path / "a.yaml", {"devices": 16})).applied(chip).interconnect
    assert (open_ended.board_devices, open_ended.super_devices) == (768, 1)
    counted = load_topology(written(tmp_path / "b.yaml", {"devices": 16, "super_node": {"nodes": 24}})).applied(chip)
    links = counted.interconnect
    assert (links.board_devices, links.super_devices, links.super_gbs) == (16, 384, chip.interconnect.pair_gbs)


def test_a_level_without_a_rate_is_named(tmp_path: Path) -> None:
    topology = load_topology(written(tmp_path / "c.yaml", {"devices": 8, "super_node": {"nodes": 2}}))
    with pytest.raises(OptionError, match=r"\$\.super_node\.gbs is missing, and Ascend310P3 has no such link"):
        topology.applied(load_chip("310P3"))


def test_all_problems_are_told_together_with_their_places(tmp_path: Path) -> None:
    document = {
        "devices": 8,
        "hccs": {"shape": "mash", "gbs": -1},
        "super_nod": {"nodes": 2},
        "roce": {"gbs": "25"},
        "efficiency": 1.5,
    }
    text = "\n".join(refused(tmp_path, document))
    assert "'mash' is not one of mesh, switch, ring. Did you mean 'mesh'? @ $.hccs.shape" in text
    assert "-1 is not possible; allowed: a number above 0 @ $.hccs.gbs" in text
    assert "unknown key 'super_nod'. Did you mean 'super_node'?" in text
    assert "'25' is not a number @ $.roce.gbs" in text
    assert "1.5 is not possible; allowed: a number above 0, at most 1 @ $.efficiency" in text


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"hccs": {"devices": 5}}, "5 does not divide the 12 devices around it @ $.hccs.devices"),
        ({"package": {"devices": 4}}, "4 does not divide the 6 devices around it @ $.package.devices"),
        ({"super_node": {"nodes": 4}}, "4 does not divide the 6 nodes of the cluster @ $.super_node.nodes"),
        ({"slow_links": [{"ranks": [3, 72], "factor": 2}]}, "there is no rank 72: ranks count from 0 to 71 @ $.slow_"),
        (
            {"slow_links": [{"ranks": [3, 3], "factor": 2}]},
            "a link joins two ranks; got [3, 3] @ $.slow_links[0].ranks",
        ),
    ],
)
def test_levels_that_do_not_fit(tmp_path: Path, changes: dict[str, Any], expected: str) -> None:
    assert any(expected in line for line in refused(tmp_path, CLUSTER | changes))


@pytest.mark.parametrize(
    ("text", "expected"),
    [("[1, 2]", "expected a mapping with devices, nodes"), ("{", "is not YAML"), ("nodes: 2", "'devices' is missing")],
)
def test_what_is_no_topology(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(OptionError, match=expected):
        load_topology(path)
    with pytest.raises(OptionError, match="cannot be read"):
        load_topology(tmp_path / "absent.yaml")


def test_the_example_is_one() -> None:
    topology = load_topology(EXAMPLE)
    assert topology.ranks == 128
    assert topology.applied(load_chip("910B2")).interconnect.super_devices == 32
