"""What compared runs are, what changed between their recordings, and when a comparison says little."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from drynpu.analysis import changed_options, objections, run_facts, summarise
from drynpu.analysis._sides import Side, _about_steps, refusals

from .conftest import make_profile


def side(batch: int = 8, types: tuple[str, ...] = ("MatMulV2", "Add"), **more: Any) -> Side:
    kernels = [
        {
            "op_type": kind,
            "name": kind,
            "start_ns": 1_000 * n,
            "duration_ns": 500,
            "input_shapes": f"{batch},{n + 3};5,6",
        }
        for n, kind in enumerate(types)
    ]
    profile = make_profile(kernels=kernels, **more)
    return profile, summarise(profile)


def config(**values: object) -> dict[str, Any]:
    return {"profiler_info": {"config": {"common_config": {"_" + name: value for name, value in values.items()}}}}


def test_runs_with_the_same_options_have_no_changes_and_nothing_speaks_against_comparing_them() -> None:
    one = side(metadata={"drynpu": {"chip": "Ascend910B2", "clock": "wall"}}, **config(with_stack=True, tags=["a"]))
    assert changed_options(one, one) == {}
    assert list(objections(one, one)) == []
    assert run_facts(one)["framework"] == "torch"


def test_changed_options_and_the_batch_are_named_and_an_option_that_one_release_lacks_is_off() -> None:
    one = side(8, **config(with_stack=True, export_type="text"))
    other = side(16, **config(with_stack=False, export_type=["text"], mstx=False))
    assert changed_options(one, other) == {
        "with_stack": ("True", "False"), "batch (leading dim of most kernels)": ("8", "16"),
    }  # fmt: skip


@pytest.mark.parametrize(("more", "words"), [
    ({"level": "level0"}, "The level is not the same (level1 and level0)"),
    ({"product": "mindspore", "profiler_info": {"a": 1}}, "The framework is not the same (torch and mindspore)"),
    ({"metadata": {"drynpu": {"chip": "Ascend310P3", "clock": "wall"}}}, "The chip is not the same (measured and Asc"),
    ({"types": ("Conv2D", "Relu")}, "Only 0% of the kernel time is in types that both have"),
])  # fmt: skip
def test_runs_that_say_little_about_each_other_come_with_a_warning(more: dict[str, Any], words: str) -> None:
    usual = {"profiler_info": {"a": 1}}
    said = list(objections(side(**usual), side(**{**usual, **more})))
    assert any(sentence.startswith(words) for sentence in said), said


def test_chips_of_two_generations_are_warned_of() -> None:
    one, other = (side(metadata={"drynpu": {"chip": chip}}) for chip in ("Ascend910B2", "Ascend310P3"))
    said = [sentence for sentence in objections(one, other) if "generations" in sentence]
    assert [sentence.partition(":")[0] for sentence in said] == [
        "The chips are of different generations (split, platform 5 and unified, platform 4)"
    ]


@pytest.mark.parametrize(("names", "words"), [
    ((["3", "4"], ["4", "5"]), []),
    ((["3", "4"], ["7"]), ["No step is in both (3 to 4 and 7): they are of different parts of a training."]),
    ((["3"], []), ["Only the baseline has steps: a mean step is compared with a whole recording."]),
])  # fmt: skip
def test_runs_without_a_common_step_are_warned_of(names: tuple[list[str], list[str]], words: list[str]) -> None:
    frames = [pl.DataFrame({"step": each}, schema={"step": pl.String}) for each in names]
    assert list(_about_steps(*frames)) == words


@pytest.mark.parametrize(("more", "said"), [
    ({}, []),
    ({"metadata": {"drynpu": {"chip": "Ascend310P3", "clock": "wall"}}}, []),
    ({"types": ("Add", "Relu")}, []),
    ({"types": ("Conv2D", "Relu")}, ["no type of kernel is in both"]),
    ({"product": "mindspore", "profiler_info": {"a": 1}}, ["one is of torch, the other of mindspore"]),
])  # fmt: skip
def test_runs_of_two_frameworks_or_without_a_common_kernel_are_refused(more: dict[str, Any], said: list[str]) -> None:
    usual = {"profiler_info": {"a": 1}}
    assert list(refusals(side(**usual), side(**{**usual, **more}))) == said
