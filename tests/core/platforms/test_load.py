from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from attrs import asdict

from drynpu._errors import ChipError
from drynpu.platforms import Chip, known_chips, load_chip, load_chip_file

NAMES = (
    "Ascend310",
    "Ascend310P3",
    "Ascend910",
    "Ascend910A",
    "Ascend910B1",
    "Ascend910B2",
    "Ascend910B3",
    "Ascend910B4",
    "Ascend910B4-1",
    "Ascend910_93",
    "Ascend950PR",
)


def write(path: Path, **changes: object) -> Path:
    document = {**asdict(load_chip("Ascend910B2")), "name": "Ascend910B9", **changes}
    document = {key: list(value) if isinstance(value, tuple) else value for key, value in document.items()}
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return path


def test_every_chip_of_the_list_is_bundled() -> None:
    assert tuple(chip.name for chip in known_chips()) == NAMES


@pytest.mark.parametrize("chip", known_chips(), ids=lambda chip: chip.name)
def test_bundled_chips_say_where_their_numbers_come_from(chip: Chip) -> None:
    assert chip.sources
    text = Path(__file__).parents[3].joinpath("core/drynpu/platforms/chips", f"{chip.name}.yaml").read_text("utf-8")
    numbers = [line for line in text.splitlines() if line[0].isalpha() and line.partition(":")[2].strip()[:1].isdigit()]
    assert len(numbers) >= 15
    assert [line for line in numbers if "#" not in line] == []


@pytest.mark.parametrize(
    ("name", "tflops"),
    [
        ("Ascend310", 8),
        ("Ascend310P3", 70),
        ("Ascend910A", 262),
        ("Ascend910", 245),
        ("Ascend910B1", 363.7),
        ("Ascend910B2", 353.9),
        ("Ascend910B3", 294.9),
        ("Ascend910B4", 270),
        ("Ascend910B4-1", 270),
        ("Ascend950PR", 432.5),
    ],
)
def test_cores_and_clock_give_the_peak_of_the_reference(name: str, tflops: float) -> None:
    chip = load_chip(name)
    assert chip.cube_cores * chip.cube_flop_per_cycle * chip.aic_mhz / 1e6 == pytest.approx(tflops, rel=0.015)


def test_vector_peak_of_910b2() -> None:
    chip = load_chip("910B2")
    assert chip.vector_cores * chip.vector_lanes_16bit * 2 * chip.aiv_mhz / 1e6 == pytest.approx(22.1, rel=0.01)


@pytest.mark.parametrize("chip", known_chips(), ids=lambda chip: chip.name)
def test_cache_is_faster_than_memory(chip: Chip) -> None:
    assert chip.memory_gbs < chip.l2_write_gbs <= chip.l2_read_gbs
    assert chip.l2_bytes < chip.memory_bytes


@pytest.mark.parametrize("chip", known_chips(), ids=lambda chip: chip.name)
def test_platform_version_and_database_name_belong_together(chip: Chip) -> None:
    names = {"0": "Ascend310", "1": "Ascend910A", "4": "Ascend310P", "5": "Ascend910B", "15": "Ascend950"}
    assert chip.platform.npu_info_name == names[chip.platform_version]
    assert chip.split is (chip.platform_version in {"5", "15"})


@pytest.mark.parametrize("spelling", ["Ascend910B4-1", "ascend910b4-1", "910B4-1", " 910b4-1 "])
def test_spellings_of_a_name(spelling: str) -> None:
    assert load_chip(spelling).name == "Ascend910B4-1"


@pytest.mark.parametrize("alias", ["9391", "9392", "9381", "9382", "9372", "9362"])
def test_dies_of_a3_share_one_description(alias: str) -> None:
    assert load_chip(f"910_{alias}") is load_chip(f"Ascend910_{alias}") is load_chip("Ascend910_93")


def test_a_name_is_not_a_prefix() -> None:
    assert load_chip("910").cube_cores == 30
    assert load_chip("910A").cube_cores == 32


def test_unknown_name_lists_what_is_known_and_the_nearest() -> None:
    with pytest.raises(ChipError) as caught:
        load_chip("910B22")
    message = str(caught.value)
    assert "'910B22'" in message
    assert all(name in message for name in NAMES)
    assert "Did you mean 'Ascend910B2'?" in message


def test_empty_name_is_unknown() -> None:
    with pytest.raises(ChipError, match="unknown chip ''"):
        load_chip("")


def test_extra_file_adds_a_chip(tmp_path: Path) -> None:
    path = write(tmp_path / "b9.yaml", cube_cores=12, aliases=["Ascend910Beta"])
    assert load_chip("910b9", [path]).cube_cores == 12
    assert load_chip("910beta", [path]).name == "Ascend910B9"
    assert [c.name for c in known_chips([path])] == sorted([*NAMES, "Ascend910B9"])
    with pytest.raises(ChipError):
        load_chip("910B9")


def test_extra_file_wins_over_the_bundled_chip(tmp_path: Path) -> None:
    path = write(tmp_path / "mine.yaml", name="ascend910B2", memory_gbs=1234)
    assert load_chip("Ascend910B2", [path]).memory_gbs == 1234.0
    assert len(known_chips([path])) == len(NAMES)


def test_all_problems_come_together_with_their_paths(tmp_path: Path) -> None:
    path = write(
        tmp_path / "bad.yaml",
        cube_cores="24",
        aic_mhz=1800.5,
        generation="splitt",
        memory_gbs=-1,
        hwts_mhz=0,
        l2_bites=3,
        sources=["fine", 7],
    )
    with pytest.raises(ChipError) as caught:
        load_chip_file(path)
    lines = str(caught.value).splitlines()
    assert all(str(path) in line for line in lines)
    for words in (
        "'24' is not a whole number @ $.cube_cores",
        "1800.5 is not a whole number @ $.aic_mhz",
        "'splitt' is not one of mini, unified, split. Did you mean 'split'? @ $.generation",
        "-1 must be a number greater than 0 @ $.memory_gbs",
        "0 must be a number greater than 0 @ $.hwts_mhz",
        "unknown key 'l2_bites'. Did you mean 'l2_bytes'? @ $",
        "7 is not text @ $.sources[1]",
    ):
        assert any(words in line for line in lines), words
    assert len(lines) == 7


def test_missing_keys_are_named(tmp_path: Path) -> None:
    path = tmp_path / "short.yaml"
    path.write_text("name: Ascend1\n", encoding="utf-8")
    with pytest.raises(ChipError, match=r"'memory_bytes' is missing @ \$\.memory_bytes"):
        load_chip_file(path)


def test_a_link_may_be_absent_but_not_negative(tmp_path: Path) -> None:
    assert load_chip_file(write(tmp_path / "a.yaml", hccs_gbs=0)).hccs_gbs == 0.0
    with pytest.raises(ChipError, match="-1 must not be negative"):
        load_chip_file(write(tmp_path / "b.yaml", hccs_gbs=-1))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- a\n- b\n", "expected a mapping"),
        ("a: [", "is not YAML"),
        ("", "expected a mapping"),
        ("a: \xff", "cannot be read"),
    ],
)
def test_files_that_are_no_description(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ChipError, match=words) as caught:
        load_chip_file(path)
    assert str(path) in str(caught.value)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ChipError, match="cannot be read"):
        load_chip("910B2", [tmp_path / "none.yaml"])


def test_tick() -> None:
    assert load_chip("910B4").tick_ns == 20.0


def test_boards_of_the_generations() -> None:
    links = {name: load_chip(name).interconnect for name in ("910B2", "910_93", "910A", "310P3", "950PR")}
    assert {name: of.shape for name, of in links.items()} == {
        "910B2": "mesh",
        "910_93": "switch",
        "910A": "ring",
        "310P3": "none",
        "950PR": "mesh",
    }
    for name, of in links.items():
        chip = load_chip(name)
        # The rate of a device over all its peers is the rate of its links together.
        if of.shape == "mesh":
            assert chip.hccs_gbs == (of.board_devices - 1) * of.pair_gbs
        assert (of.board_devices > 1) == (chip.hccs_gbs > 0)
    assert (links["910_93"].package_devices, links["910_93"].package_gbs) == (2, 224.0)


def test_wrong_links_are_all_told(tmp_path: Path) -> None:
    path = write(
        tmp_path / "links.yaml",
        interconnect={"shape": "mash", "link": "hccs", "pair_gbs": -1, "board_devices": 0, "efficiency": 1.5},
    )
    with pytest.raises(ChipError) as caught:
        load_chip_file(path)
    text = str(caught.value)
    assert "'mash' is not one of none, mesh, switch, ring." in text
    assert "'mesh'" in text
    assert "'hccs' is not one of HCCS, HCCS_SW, UB." in text
    for key in ("pair_gbs", "board_devices", "efficiency"):
        assert f"@ $.interconnect.{key}" in text
    with pytest.raises(ChipError, match=r"unknown key 'pair_gb'.*pair_gbs"):
        load_chip_file(write(tmp_path / "spelling.yaml", interconnect={"pair_gb": 1.0}))
