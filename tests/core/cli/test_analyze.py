"""``drynpu analyze`` on directories that a session wrote; no framework takes part."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TEXT = ("kernel_details.csv", "operator_details.csv", "op_statistic.csv", "step_trace_time.csv", "trace_view.json")
Make = Callable[[Path], Path]
Run = Callable[..., Any]


def test_one_profile(drynpu: Run, profile: Make, tmp_path: Path) -> None:
    directory = profile(tmp_path / "run_ascend_pt")
    ended = drynpu("analyze", directory)
    assert ended.code == 0
    assert "Ascend910B3 (simulated)" in ended.out
    assert "Top kernels (6 in all" in ended.out
    assert "2 kernels stand for operators without a rule" in ended.out
    assert "odd::thing x2" in ended.out
    for name in TEXT:
        assert f"  ASCEND_PROFILER_OUTPUT/{name}\n" in ended.out
        assert (directory / "ASCEND_PROFILER_OUTPUT" / name).stat().st_size > 0
    (prof,) = directory.glob("PROF_*")
    assert len(list((prof / "mindstudio_profiler_output").glob("op_summary_*.csv"))) == 1


def test_json(drynpu: Run, profile: Make, tmp_path: Path) -> None:
    directory = profile(tmp_path / "run_ascend_pt")
    document = json.loads(drynpu("analyze", directory, "--json").out)
    assert document["path"] == str(directory)
    assert (document["chip"], document["clock"], document["level"]) == ("Ascend910B3", "projected", "level1")
    assert document["kernel_count"] == 6
    assert sorted((row["op_type"], row["count"]) for row in document["kernels"]) == [("Add", 4), ("Thing", 2)]
    assert [step["step"] for step in document["steps"]] == ["0", "1"]
    assert document["unmapped"] == {"odd::thing": 2}
    assert {f"ASCEND_PROFILER_OUTPUT/{name}" for name in TEXT} <= set(document["files"])


def test_a_second_time_leaves_the_same_files_complete(drynpu: Run, profile: Make, tmp_path: Path) -> None:
    directory = profile(tmp_path / "run_ascend_pt")
    assert drynpu("analyze", directory).code == 0
    first = {name: (directory / "ASCEND_PROFILER_OUTPUT" / name).read_bytes() for name in TEXT}
    (directory / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv").write_text("cut")
    (directory / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").unlink()
    assert drynpu("analyze", directory).code == 0
    assert {name: (directory / "ASCEND_PROFILER_OUTPUT" / name).read_bytes() for name in TEXT} == first
    assert not list(directory.rglob("*.tmp"))


def test_only_summarise(drynpu: Run, profile: Make, tmp_path: Path) -> None:
    directory = profile(tmp_path / "run_ascend_pt")
    ended = drynpu("analyze", directory, "--no-export")
    assert ended.code == 0
    assert "(0 files" in " ".join(ended.out.split())  # a long path of the folder breaks the line
    assert not (directory / "ASCEND_PROFILER_OUTPUT").exists()


def test_the_toolkits_directory_alone(drynpu: Run, profile: Make, tmp_path: Path) -> None:
    (prof,) = profile(tmp_path / "run_ascend_pt").glob("PROF_*")
    document = json.loads(drynpu("analyze", prof, "--json").out)
    assert document["path"] == str(prof)
    assert document["chip"] == "N/A", "nothing tells that it is simulated"
    assert document["files"]
    assert not (prof / "ASCEND_PROFILER_OUTPUT").exists()
    assert "open mindstudio_profiler_output/msprof_" in drynpu("analyze", prof).out


def test_databases(drynpu: Run, profile: Make, tmp_path: Path) -> None:
    directory = profile(tmp_path / "run_ascend_pt")
    output = directory / "ASCEND_PROFILER_OUTPUT"
    ended = drynpu("analyze", directory, "--export-type", "db")
    assert ended.code == 0
    assert "  ASCEND_PROFILER_OUTPUT/analysis.db\n" in ended.out
    databases = {path.name for path in output.iterdir()} - {"analyse.done"}
    assert databases == {"ascend_pytorch_profiler.db", "analysis.db"}
    (prof,) = directory.glob("PROF_*")
    assert not (prof / "mindstudio_profiler_output").exists()
    assert drynpu("analyze", directory, "--export-type", "db", "--export-type", "text").code == 0
    assert {*databases, *TEXT} <= {path.name for path in output.iterdir()}
    assert drynpu("analyze", prof, "--export-type", "db").code == 0
    assert len(list(prof.glob("msprof_*.db"))) == 1
    wrong = drynpu("analyze", directory, "--export-type", "xml")
    assert wrong.code == 2
    assert "'text', 'db'" in wrong.err


def test_the_form_that_the_recording_was_asked_for(drynpu: Run, profile: Make, tmp_path: Path) -> None:
    directory = profile(tmp_path / "run_ascend_pt")
    asked = {"config": {"experimental_config": {"_export_type": ["db"]}}, "rank_id": 1}
    for path in directory.glob("profiler_info*.json"):
        path.unlink()
    (directory / "profiler_info_1.json").write_text(json.dumps(asked))
    assert drynpu("analyze", directory).code == 0
    names = {path.name for path in (directory / "ASCEND_PROFILER_OUTPUT").iterdir()}
    assert names == {"ascend_pytorch_profiler_1.db", "analysis.db", "analyse.done"}


def test_a_folder_of_several(drynpu: Run, profile: Make, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    paths = [profile(folder / name) for name in ("a_ascend_pt", "b_ascend_pt")]
    (folder / "notes.txt").write_text("not a profile")
    ended = drynpu("analyze", folder)
    assert ended.code == 0
    assert ended.out.count("Ascend910B3 (simulated)") == 2
    assert [document["path"] for document in json.loads(drynpu("analyze", folder, "--json").out)] == list(
        map(str, paths)
    )
    shutil.rmtree(paths[1])
    alone = json.loads(drynpu("analyze", folder, "--json").out)
    assert [document["path"] for document in alone] == [str(paths[0])], "of a folder always a list"


def test_one_bad_profile_does_not_hide_the_others(drynpu: Run, profile: Make, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    for name in ("a_ascend_pt", "b_ascend_pt", "c_ascend_pt"):
        profile(folder / name)
    shutil.rmtree(folder / "b_ascend_pt" / "FRAMEWORK")
    (prof,) = (folder / "b_ascend_pt").glob("PROF_*")
    (prof / "host" / "info.json").write_text("{")
    ended = drynpu("analyze", folder, "--json")
    assert ended.code == 1
    assert [Path(document["path"]).name for document in json.loads(ended.out)] == ["a_ascend_pt", "c_ascend_pt"]
    assert "drynpu: b_ascend_pt: " in ended.err
    assert ended.err.endswith("drynpu: 1 of 3 profiles could not be analysed\n")
    alone = drynpu("analyze", folder / "b_ascend_pt")
    assert (alone.code, alone.out) == (1, "")
    assert re.match(r"drynpu: .*info\.json \(chip, process and clock rates\) is not JSON", alone.err)


def test_no_profile_in_the_directory(drynpu: Run, tmp_path: Path) -> None:
    ended = drynpu("analyze", tmp_path)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith(f"drynpu: no profile in {tmp_path}: expected FRAMEWORK/, PROF_*/ or ")
    (tmp_path / "file").write_text("")
    ended = drynpu("analyze", tmp_path / "file")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith(f"drynpu: No profile at {tmp_path / 'file'}: it is no result file.")


@pytest.mark.parametrize("where", ["iterdir", "open"])
def test_what_cannot_be_read_is_named(
    drynpu: Run, profile: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    profile(tmp_path / "out" / "a_ascend_pt")

    def refuse(path: Path, *_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, where, refuse)
    ended = drynpu("analyze", tmp_path / "out")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith("drynpu: ")
    assert "Permission denied" in ended.err
    assert str(tmp_path) in ended.err


def test_exporters_of_plugins_run_too(process: Run, profile: Make, tmp_path: Path) -> None:
    profile(tmp_path / "a_ascend_pt")
    site = tmp_path / "site"
    info = site / "extra-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: extra\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[drynpu.adapters]\nextra = extra_plugin\n")
    (site / "extra_plugin.py").write_text(
        "from drynpu.plugins import hookimpl\n"
        "def count(profile, directory):\n"
        "    path = directory / 'count.txt'\n"
        "    path.write_text(str(profile.kernels.height))\n"
        "    return [path]\n"
        "@hookimpl\n"
        "def drynpu_exporters():\n"
        "    return {'count': count}\n"
    )
    ended = process("analyze", "a_ascend_pt", environment={"PYTHONPATH": str(site)})
    assert (ended.code, ended.err) == (0, "")
    assert (tmp_path / "a_ascend_pt" / "count.txt").read_text() == "6"
