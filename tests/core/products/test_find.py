"""Which directories are profiles, and which one is meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from drynpu import OutputError
from drynpu.products import find_profiles
from drynpu.products._find import locate
from drynpu.products.registry import registered_products


def folders(root: Path, *names: str) -> Path:
    for name in names:
        (root / name).mkdir(parents=True)
    return root


RESULT, OTHER = "host_1_20260101000000000_ascend_pt", "host_2_20260101000000000_ascend_pt"
DEVICE = "PROF_1_A/device_0"


@pytest.mark.parametrize(
    ("held", "is_profile"),
    [
        (("PROF_1_A/device_0",), True),
        (("PROF_1_A/host",), True),
        (("PROF_1_A/other",), False),
        (("FRAMEWORK",), True),
        (("elsewhere/device_0",), False),
        ((), False),
    ],
)
def test_a_result_directory_has_records(held: tuple[str, ...], is_profile: bool, tmp_path: Path) -> None:
    result = folders(tmp_path / RESULT, "empty", *held)
    assert find_profiles(result) == ([result] if is_profile else [])


def test_any_directory_with_a_prof_directory_and_the_information_of_a_run_is_one(tmp_path: Path) -> None:
    run = folders(tmp_path / "renamed", DEVICE)
    assert find_profiles(run) == [run / "PROF_1_A"], "nothing says that it belongs to a framework"
    (run / "profiler_info_3.json").write_text("{}")
    assert find_profiles(run) == [run]
    stray = folders(tmp_path / "stray", "PROF_1_A")
    (stray / "profiler_info.json").write_text("{}")
    assert find_profiles(stray) == []


def test_a_directory_of_profiles_has_them_by_name(tmp_path: Path) -> None:
    folders(tmp_path, f"{OTHER}/FRAMEWORK", f"{RESULT}/FRAMEWORK", "notes", f"deeper/{RESULT}/FRAMEWORK")
    assert find_profiles(tmp_path) == [tmp_path / RESULT, tmp_path / OTHER]


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="it does not exist"):
        find_profiles(tmp_path / "nowhere")
    (tmp_path / "file.txt").write_text("")
    with pytest.raises(OutputError, match="it is no result file"):
        find_profiles(tmp_path / "file.txt")


def test_the_one_profile_is_located_with_its_records(tmp_path: Path) -> None:
    folders(tmp_path / RESULT, "FRAMEWORK", "PROF_2_B/host", DEVICE, "PROF_3_C")
    found = locate(tmp_path, registered_products())
    assert (found.path, found.framework_path) == (tmp_path / RESULT, tmp_path / RESULT / "FRAMEWORK")
    assert found.prof_path == tmp_path / RESULT / "PROF_2_B", "the last that has records"
    assert found.notes == (f"{RESULT} holds 2 PROF directories; PROF_2_B was read",)
    alone = locate(tmp_path / RESULT / "PROF_1_A", registered_products())
    assert (alone.path, alone.prof_path, alone.framework_path) == (alone.path, alone.path, None)


def test_a_run_without_a_device_has_no_records_of_one(tmp_path: Path) -> None:
    found = locate(folders(tmp_path / RESULT, "FRAMEWORK"), registered_products())
    assert (found.prof_path, found.notes) == (None, ())


def test_none_and_several_are_refused_with_their_names(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="and found none"):
        locate(tmp_path, registered_products())
    folders(tmp_path, f"{OTHER}/FRAMEWORK", f"{RESULT}/FRAMEWORK")
    with pytest.raises(OutputError, match=rf"found 2 profiles \({RESULT}, {OTHER}\); name one of them"):
        locate(tmp_path, registered_products())
