"""The summary as people see it: complete at 80 columns, and nothing in it but what the profile says."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from attrs import evolve
from rich.console import Console

from drynpu.analysis import Busy, GraphIterations, KernelShare, Summary
from drynpu.views import print_summary, render_summary, summary_document

GRAPH = GraphIterations(graph="net", count=4, iteration_us=9.0, forward_backward_us=None, wait_us=None)
WIDTHS = pytest.mark.parametrize("width", [80, 120])
OUTPUT = "ASCEND_PROFILER_OUTPUT"


def steps(*rows: tuple[int, str, float, float, float]) -> pl.DataFrame:
    names = ("device_id", "step", "computing_us", "communication_not_overlapped_us", "free_us")
    return pl.DataFrame(rows, schema=list(names), orient="row")


def summary(**changes: Any) -> Summary:
    plain = Summary(
        path=Path("demo_out/host_1_ascend_pt"),
        chip="Ascend910B2",
        clock="projected",
        level="level1",
        device_ids=(0,),
        steps=steps((0, "3", 1491.0, 250.5, 18_673.25), (0, "4", 1487.0, 0.0, 500.0)),
        kernels=(
            KernelShare("MatMulV2", "AI_CORE", 117, 914.0, 0.204),
            KernelShare("Mul", "AI_VECTOR_CORE", 246, 626.0, 0.14),
        ),
        kernel_count=1320,
        kernel_us=4473.0,
        unmapped={},
        busy=(Busy(0, 34_586.0, 0.1, 0.0, 0.0, 0.9),),
        peak_allocated_bytes=30 << 20,
        peak_reserved_bytes=38 << 20,
        files={
            f"{OUTPUT}/analyse.done": 9,
            f"{OUTPUT}/kernel_details.csv": 1 << 20,
            f"{OUTPUT}/trace_view.json": 1 << 20,
        },
        notes=(),
    )
    return evolve(plain, **changes)


def shown(what: Summary, width: int = 80, **options: Any) -> str:
    console = Console(record=True, width=width, file=io.StringIO(), color_system=None)
    console.print(render_summary(what, **options))
    text = console.export_text()
    assert all(len(line.rstrip()) <= width for line in text.splitlines())
    return text


@WIDTHS
def test_the_numbers_of_the_summary_are_there(width: int) -> None:
    text = shown(summary(), width)
    lines = text.splitlines()
    assert "Ascend910B2 (simulated)" in lines[0]
    assert "Clock: projected. Kernel times are modelled, not measured." in lines
    assert "Where the step time went, ms (communication: what computing does not hide)" in text
    step = next(line for line in lines if line.startswith("│ 3 "))
    assert [cell.split() for cell in step.strip("│").split("│")[:5]] == [
        ["3"],
        ["1.491", "7%"],
        ["0.251", "1%"],
        ["18.673", "91%"],
        ["20.415"],
    ]
    assert "Top kernels (1320 in all, 4.473 ms)" in text
    kernel = next(line for line in lines if "MatMulV2" in line)
    assert kernel.replace("│", " ").split() == ["MatMulV2", "AI_CORE", "117", "0.914", "20.4%"]
    assert "Device memory: peak 30.00 MiB allocated, 38.00 MiB reserved" in text
    assert "Every operator that launches a kernel is mapped." in text
    assert "Written: demo_out/host_1_ascend_pt (3 files, 2.00 MiB)" in text
    assert f"  {OUTPUT}/kernel_details.csv" in lines


@WIDTHS
def test_it_says_what_to_do_next(width: int) -> None:
    text = shown(summary(), width, others=[Path("demo_out/before_ascend_pt")])
    assert "Written before: demo_out/before_ascend_pt" in text
    assert "\nNext:\n  drynpu analyze demo_out/host_1_ascend_pt\n" in text
    assert f"open {OUTPUT}/trace_view.json\n    in https://ui.perfetto.dev, chrome://tracing or MindStudio" in text
    odd = shown(summary(path=Path("my run's [b]out[/b]")), width)
    assert "drynpu analyze 'my run'\"'\"'s [b]out[/b]'" in odd, "can be pasted into a shell, and is no markup"


@WIDTHS
def test_headings_and_numbers_are_whole_however_large(width: int) -> None:
    rows = [(device, str(step), 9_876_543_210.0, 1e9, 123_456.0) for device in (0, 7) for step in (99_999, 100_000)]
    kernels = (
        KernelShare("FusedInferAttentionScoreWithAnEndlessNameThatNobodyCutShort", "AI_VECTOR_CORE", 10**6, 9e9, 1.0),
    )
    text = shown(summary(steps=steps(*rows), kernels=kernels), width)
    for heading in ("device", "step", "computing", "communication", "free", "total", "type", "core", "count"):
        assert f" {heading} " in text
    assert "share" not in text.split("Top kernels")[0], "the bar gives way"
    assert "…" not in text
    assert "9876543  91%" in text
    assert "100000" in text
    assert text.count("│ 7 ") == 2
    if width == 120:
        assert "FusedInferAttentionScoreWithAnEndlessNameThatNobodyCutShort" in text


@pytest.mark.parametrize(
    ("parts", "bar"),
    [
        ((1.0, 0.0, 0.0), "█" * 12),
        ((0.0, 0.0, 0.0), ""),
        ((1.0, 1.0, 1.0), "████▓▓▓▓░░░░"),
        ((125.0, 125.0, 750.0), "██▓░░░░░░░░░"),
        ((0.0, 0.0, 3.0), "░" * 12),
    ],
)
def test_a_bar_is_as_long_as_its_parts_together(parts: tuple[float, float, float], bar: str) -> None:
    text = shown(summary(steps=steps((0, "1", *parts))))
    row = next(line for line in text.splitlines() if line.startswith("│ 1 "))
    assert row.strip("│ ").split("│")[-1].strip() == bar or (not bar and row.rstrip("│ ").endswith("0.000"))


def test_a_profile_without_steps_has_one_row_for_all() -> None:
    text = shown(summary(steps=steps((0, "", 10.0, 0.0, 10.0))))
    assert "│ all " in text
    header = next(line for line in text.splitlines() if "computing" in line and "┃" in line)
    assert "device" not in header, "one device needs no column"


def test_operators_without_a_rule_are_told() -> None:
    unmapped = {"Fancy": 12, "Odd": 3}
    text = shown(summary(unmapped=unmapped), 120)
    assert "15 kernels stand for operators without a rule (a generic vector kernel):" in text
    assert "Fancy x12, Odd x3" in text
    assert "is mapped" not in text


def test_kernels_without_a_time_are_told_and_have_no_share() -> None:
    kernels = (KernelShare("Add", "AI_VECTOR_CORE", 2, 9.0, 1.0), KernelShare("MatMulV2", "AI_CORE", 7, None, 0.0))
    text = shown(summary(kernels=kernels, unknown={"MatMulV2": 7, "Odd": 1}), 120)
    assert "8 kernels of unknown shape have no time and no share in totals: MatMulV2 x7, Odd x1" in text
    (row,) = (line for line in text.splitlines() if line.startswith("│ MatMulV2"))
    assert [cell.strip() for cell in row.strip("│").split("│")] == ["MatMulV2", "AI_CORE", "7", "N/A", "N/A"]


def test_notes_are_shown_as_they_are() -> None:
    text = shown(summary(notes=("[red]3[/red] of 9 tasks :warning: lost", "second")))
    assert "note: [red]3[/red] of 9 tasks :warning: lost\nnote: second\n" in text


def test_a_genuine_profile_is_not_called_simulated() -> None:
    text = shown(summary(chip="N/A", clock="N/A", peak_allocated_bytes=None, peak_reserved_bytes=None))
    assert "Ascend profile" in text.splitlines()[0]
    for word in ("simulated", "Clock", "modelled", "mapped", "Device memory"):
        assert word not in text


def test_nothing_recorded() -> None:
    empty = summary(steps=steps(), kernels=(), kernel_count=0, kernel_us=0.0, files={})
    text = shown(empty)
    for word in ("Where the step time", "Top kernels", "mapped", "trace_view"):
        assert word not in text
    assert "(0 files, 0 B)" in text
    assert "drynpu analyze" in text


def test_results_of_the_toolkit_alone() -> None:
    folder = "mindstudio_profiler_output"
    names = ["README.txt", "msprof_20260101000000.json", "msprof_20260102000000.json", "op_summary_20260102000000.csv"]
    # Of marks and steps alone, and a later one.
    names += ["msprof_tx_20260102000000.json", "step_trace_20260102000000.json", "msprof_tx_20260103000000.json"]
    text = shown(summary(files={f"{folder}/{name}": 1 for name in names}), 120)
    assert all(f"  {folder}/{name}\n" in text for name in names)
    assert f"open {folder}/msprof_20260102000000.json" in text


def test_paths_are_relative_to_where_one_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "Written: runs/one (" in shown(summary(path=tmp_path / "runs" / "one"), 120)
    assert f"Written: {Path('/elsewhere/one')} (" in shown(summary(path=Path("/elsewhere/one")), 120)


def test_only_the_largest_kernels_are_listed() -> None:
    many = tuple(KernelShare(f"Type{i:02}", "AI_CORE", 1, 100.0 - i, 0.01) for i in range(30))
    text = shown(summary(kernels=many))
    assert [f"Type{i:02}" in text for i in range(30)] == [True] * 8 + [False] * 22


def test_results_that_others_wrote() -> None:
    """What they do not hold is said; nothing was written, and nothing can be rebuilt where they are."""
    of_others = summary(chip="N/A", missing=("calls of the toolkit", "steps"))
    text = shown(of_others)
    assert "No raw data: read from results. Not in them: calls of the toolkit, steps.\n" in text
    assert "Read: demo_out/host_1_ascend_pt (3 files, 2.00 MiB)" in text
    assert "drynpu analyze demo_out/host_1_ascend_pt --output FOLDER\n" in text
    assert "Written" not in text
    assert "Not in them" not in shown(evolve(of_others, missing=()))
    assert "(1 file, 1 B)" in shown(evolve(of_others, files={"trace_view.json": 1}))
    assert "open trace_view.json" in shown(evolve(of_others, files={"trace_view.json": 1}))


def test_the_total_of_modelled_kernels_has_an_interval() -> None:
    """It holds the total four times out of five; a measured total has none."""
    text = shown(summary(kernel_interval_us=(3610.4, 5124.0)))
    assert "Top kernels (1320 in all, 4.473 ms; 80 %: 3.61 to 5.12 ms)" in text
    assert "80 %" not in shown(summary())


def test_modelled_steps_have_an_interval() -> None:
    """It stands beside the total while the table fits 80 columns; with longer numbers the bar, then it is left out."""
    sure = summary(step_intervals_us=((14_100.0, 27_000.0), (1700.0, 2415.0)))
    assert "│ 20.415 │  14.1 to 27 │" in shown(sure)
    assert "│  1.987 │ 1.7 to 2.42 │" in shown(sure)
    assert "\nfree: the device waits for work; 80 %: 8 of 10 such steps last so long\n" in shown(sure)
    assert "share: █ computing, ▓ communication, ░ free" in " ".join(shown(summary()).split())
    assert "80 %" not in shown(summary())
    long = evolve(sure, steps=steps((0, "3", 1e9, 2e9, 3e9), (1, "3", 1e9, 2e9, 3e9)))
    assert "80 %" not in shown(long)


def test_iterations_of_graphs_have_their_medians() -> None:
    graphs = (
        GraphIterations(graph="GeOp7_0", count=21, iteration_us=456.5, forward_backward_us=430.25, wait_us=1500.0),
        GraphIterations(graph="GeOp5_0", count=2, iteration_us=15.6, forward_backward_us=None, wait_us=None),
    )
    text = shown(summary(iterations=graphs))
    first, second = (next(line for line in text.splitlines() if name in line) for name in ("GeOp7_0", "GeOp5_0"))
    assert first.replace("│", " ").split() == ["GeOp7_0", "21", "0.457", "0.430", "1.500"]
    assert second.replace("│", " ").split() == ["GeOp5_0", "2", "0.016", "N/A", "N/A"]
    assert "Iterations of graphs" not in shown(summary())
    assert summary_document(summary(iterations=graphs))["iterations"][0]["count"] == 21  # type: ignore[index]


def test_the_document_has_every_number() -> None:
    document = summary_document(summary(unmapped={"Odd": 3}, notes=("one",)))
    assert json.loads(json.dumps(document)) == document
    assert set(document) == {
        "path",
        "chip",
        "clock",
        "level",
        "device_ids",
        "steps",
        "kernels",
        "kernel_count",
        "kernel_us",
        "kernel_interval_us",
        "step_intervals_us",
        "iterations",
        "unmapped",
        "unknown",
        "busy",
        "peak_allocated_bytes",
        "peak_reserved_bytes",
        "files",
        "absent",
        "missing",
        "notes",
    }
    assert document["path"] == "demo_out/host_1_ascend_pt"
    assert document["kernels"][0] == {  # type: ignore[index]
        "op_type": "MatMulV2",
        "core": "AI_CORE",
        "count": 117,
        "total_us": 914.0,
        "ratio": 0.204,
    }
    assert document["steps"][1]["free_us"] == 500.0  # type: ignore[index]
    assert document["unmapped"] == {"Odd": 3}


def test_print_summary_sums_up_a_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drynpu.views._summary.summarise", lambda profile: summary(path=profile))
    console = Console(record=True, width=100, file=io.StringIO())
    print_summary(Path("x/run"), others=[Path("x/first")], console=console)  # type: ignore[arg-type]
    text = console.export_text()
    assert "Written: x/run (" in text
    assert "Written before: x/first" in text


def test_control_characters_of_names_are_spelled_out() -> None:
    red = "\x1b[31mred\x07"
    hostile = summary(
        chip=red,
        steps=steps((0, red, 10.0, 0.0, 10.0)),
        kernels=(KernelShare(red, red, 1, 2.0, 1.0),),
        unmapped={red: 2},
        files={red: 3},
        notes=(red,),
    )
    text = shown(hostile, 160)
    assert "\x1b" not in text
    assert "\x07" not in text
    assert text.count("\\x1b[31mred\\x07") == 7


@pytest.mark.parametrize(("free_us", "is_split"), [(18.0, True), (19_000.0, False)])
def test_a_recording_without_steps_that_is_one_pause_says_what_is_known(free_us: float, is_split: bool) -> None:
    one = summary(steps=steps((0, "", 100.0, 0.0, free_us)), iterations=(GRAPH,))
    text = shown(one)
    assert ("Where the step time went" in text) == is_split
    assert ("No step is marked. 4 runs of 1 graph, 1320 kernels of 4.47 ms in 19.10 ms" in text) != is_split


def test_earlier_recordings_of_a_process_say_what_ran() -> None:
    first, second = Path("out/PROF_1"), Path("out/PROF_2")
    text = shown(summary(role="training"), 120, others=[first, second], remarks={second: "training, 8 iterations"})
    assert "What ran: training.\n" in text
    assert "Written before: out/PROF_1\nWritten before: out/PROF_2 (training, 8 iterations)\n" in text
    assert summary(role="training").in_short == "training, 1320 kernels, 4.473 ms"


def test_where_types_are_missing_the_level_that_records_them_is_named() -> None:
    said = "N/A: types and cores are recorded from profiler level Level1 on."
    assert said in shown(summary(kernels=(KernelShare("Conv2D", "N/A", 2, 3.0, 1.0),)))
    assert said not in shown(summary())
