"""Analysis of runs that were recorded before: which directories, how many processes, what is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from drynpu_mindspore.profiler import Generation


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    folder = tmp_path / "runs"
    (folder / "b_2_2_ascend_ms" / "PROF_000001_1_A").mkdir(parents=True)
    (folder / "a_1_1_ascend_ms" / "FRAMEWORK").mkdir(parents=True)
    (folder / "notes").mkdir()
    (folder / "readme.txt").touch()
    return folder


def test_a_run_or_a_folder_of_runs(bench: Any, runs: Path) -> None:
    bench.surface.Profiler.offline_analyse(str(runs / "a_1_1_ascend_ms"))
    bench.surface.analyse(str(runs), max_process_number=7)
    found = [(event[1], event[2]) for event in bench.take() if event[0] == "analyse_offline"]
    assert found == [(["a_1_1_ascend_ms"], 1), (["a_1_1_ascend_ms", "b_2_2_ascend_ms"], 2)]


def test_how_to_analyse_is_passed_on(bench: Any, runs: Path) -> None:
    bench.surface.analyse(str(runs), pretty=True, step_list=[2, 1], data_simplification=False)
    (how,) = bench.backend.analyses
    assert (how.pretty, how.step_list, how.data_simplification, how.asynchronous) == (True, (1, 2), False, False)


def test_a_folder_without_runs_is_said(bench: Any, runs: Path) -> None:
    bench.surface.Profiler.offline_analyse(str(runs / "notes"))
    assert bench.take() == [
        (
            "error",
            (
                f"Invalid path: {runs / 'notes'}. Expected a *_ascend_ms_* directory or a parent directory of multiple "
                "*_ascend_ms_*"
            ),
        )
    ]


def test_links_are_refused(bench: Any, runs: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(runs)
    bench.surface.analyse(str(tmp_path / "link"))
    ((level, text),) = bench.take()
    assert level == "error"
    assert text.startswith("Call to analyse failed.")
    assert text.endswith(f"Invalid input path is a soft link: {tmp_path / 'link'}")


def test_files_and_odd_characters_are_refused(bench: Any, runs: Path) -> None:
    bench.surface.analyse(str(runs / "readme.txt"))
    bench.surface.analyse(str(runs / "a;b"))
    bench.surface.analyse(3)
    refused = [text.removeprefix("Call to analyse failed. Exception: ") for _, text in bench.texts()]
    assert refused == [
        f"[ProfilerPathErrorException] code: 50546081, msg: Path error. {reason}"
        for reason in (
            f"Invalid input path is a file path: {runs / 'readme.txt'}",
            f"Invalid input path: {runs / 'a;b'}, contains invalid characters.",
        )
    ] + ["expected str, bytes or os.PathLike object, not int"]


def test_only_folders_of_the_vendors_names_make_a_run(bench: Any, tmp_path: Path) -> None:
    (tmp_path / "x" / "PROF_notes").mkdir(parents=True)
    (tmp_path / "y").mkdir()
    (tmp_path / "y" / "FRAMEWORK").touch()
    bench.surface.analyse(str(tmp_path))
    assert bench.take()[-1][1].startswith(f"Invalid path: {tmp_path}. Expected")


def test_a_missing_path_is_said(bench: Any, tmp_path: Path) -> None:
    bench.surface.Profiler.offline_analyse(str(tmp_path / "none"))
    assert bench.texts() == [
        (
            "error",
            f"Call to offline_analyse failed. Exception: [Errno 2] No such file or directory: '{tmp_path / 'none'}'",
        )
    ]


@pytest.mark.parametrize(
    ("generation", "said"),
    [
        (Generation.V24, "offline analysis failed: "),
        (Generation.V27, "Call to offline_analyse failed. Exception: "),
    ],
)
def test_failed_runs_are_named(bench_of: Any, runs: Path, generation: Generation, said: str) -> None:
    bench = bench_of(generation)
    bench.backend.failed_runs = {runs / "a_1_1_ascend_ms": "Cannot find profiler_info.json in the a"}
    bench.surface.analyse(str(runs))
    assert bench.texts() == [("error", f"{said}Cannot find profiler_info.json in the a")]


@pytest.mark.parametrize(("value", "shown"), [("2", "str"), (0, "int"), (True, "bool")])
def test_a_bad_number_of_processes_is_replaced(bench: Any, runs: Path, value: Any, shown: str) -> None:
    bench.surface.analyse(str(runs), max_process_number=value)
    ((level, text),) = bench.texts()
    assert level == "warning"
    assert text.startswith(f"Parameter 'max_process_number' should be of type int, but got {shown}. reset to int ")


def test_simplification_is_a_bool(bench: Any, runs: Path) -> None:
    bench.surface.analyse(str(runs), data_simplification="no")
    assert bench.texts() == [
        (
            "warning",
            "For profiler, the type of data_simplification should be bool, but got <class 'str'>, reset to True.",
        )
    ]
