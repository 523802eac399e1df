"""The files that the dataset profiler leaves."""

from __future__ import annotations

from pathlib import Path

from drynpu_mindspore.capture._pipeline import read_pipeline, write_pipeline

PIPELINE, TRACE = '{"op_info": [], "sampling_interval": 1000}', "0 0 1 24 1000\n"


def test_files_are_handed_on_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "pipeline_profiling_3.json").write_text(PIPELINE)
    (tmp_path / "dataset_iterator_profiling_3.txt").write_text(TRACE)
    texts = read_pipeline(tmp_path)
    assert texts == {"pipeline": PIPELINE, "dataset_iterator": TRACE}
    kept = tmp_path / "kept"
    kept.mkdir()
    write_pipeline(kept, texts, "5")
    assert {path.name: path.read_text() for path in kept.iterdir()} == {
        "pipeline_profiling_5.json": PIPELINE,
        "dataset_iterator_profiling_5.txt": TRACE,
    }


def test_without_a_pipeline_there_are_no_files(tmp_path: Path) -> None:
    (tmp_path / "minddata_cpu_utilization_0.json").write_text("{}")
    assert read_pipeline(tmp_path) == {}
