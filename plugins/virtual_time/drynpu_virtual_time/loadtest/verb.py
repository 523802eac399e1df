"""``drynpu loadtest``: a model, a load and an engine's arguments become latencies, on simulated time."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import click
from attrs import frozen

from drynpu import CommandError
from drynpu.cli.shared import as_json, echo_json, gathered
from drynpu.options import Settings
from drynpu.platforms import load_chip
from drynpu.plugins import Plugins
from drynpu_virtual_time.loadtest.cells import Cell, missing_engine, run_cell
from drynpu_virtual_time.loadtest.metrics import Objective
from drynpu_virtual_time.loadtest.page import render
from drynpu_virtual_time.loadtest.workload import Lengths, Request, drawn, read_conversations, read_trace


@frozen
class Load:
    """The options that say what arrives."""

    rate: tuple[float, ...]
    requests: int
    dataset: str
    input_len: int
    output_len: int
    range_ratio: float
    trace: Path | None
    sharegpt: Path | None
    seed: int

    def at(self, rate: float, model: Path) -> list[Request]:
        """Return the requests for a model at a rate; a trace arrives so many times as fast."""
        if self.trace is not None:
            return read_trace(self.trace, rate)[: self.requests]
        if self.sharegpt is not None:
            return read_conversations(self.sharegpt, model, self.requests, rate, self.seed)
        ratio = self.range_ratio if self.dataset == "random" else None
        return drawn(self.requests, rate, Lengths(self.input_len, self.output_len, ratio), self.seed)


@frozen
class Engine:
    """The options that say what serves, and what is promised."""

    chip: tuple[str, ...]
    tp: tuple[int, ...]
    dp: tuple[int, ...]
    ep: bool
    batch_tokens: tuple[int, ...]
    engine: str
    step_us: float
    request_us: float
    slo_ttft: float
    slo_tpot: float


@click.command()
@click.argument("model", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--rate", type=float, multiple=True, help="Requests a second, Poisson; inf: all at once. Of a trace: its "
              "speed. Several make a sweep.  [default: 1]")  # fmt: skip
@click.option("--requests", type=click.IntRange(1), default=100, show_default=True, help="How many requests.")
@click.option("--dataset", type=click.Choice(["conversation", "random"]), default="conversation", show_default=True,
              help="Lengths that are drawn: log-normal, or even as vllm bench's random.")  # fmt: skip
@click.option("--input-len", type=click.IntRange(1), default=220, show_default=True, help="Mean tokens of prompts.")
@click.option("--output-len", type=click.IntRange(1), default=190, show_default=True, help="Mean tokens of answers.")
@click.option("--range-ratio", type=click.FloatRange(0, 1, max_open=True), default=0.0, show_default=True,
              help="Of random: lengths are within this part of the means.")  # fmt: skip
@click.option(
    "--sharegpt",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Conversations in the form of ShareGPT, whose lengths are used instead of the draws.",
)
@click.option(
    "--trace",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="JSON lines with timestamp (ms), input_length and output_length, as Mooncake's, instead of the draws.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the load and of the kernels' jitter.")
@click.option("--chip", multiple=True, help="Chip to simulate; several make a sweep.  [default: DRYNPU_CHIP]")
@click.option("--tp", type=click.IntRange(1), multiple=True, help="Tensor-parallel size; several make a sweep.")
@click.option("--dp", type=click.IntRange(1), multiple=True, help="Data-parallel size; several make a sweep.")
@click.option("--ep", is_flag=True, help="Divide the experts over all devices (enable_expert_parallel).")
@click.option("--batch-tokens", type=click.IntRange(1), multiple=True, help="max_num_batched_tokens; several: a sweep.")
@click.option("--engine", default="{}", help="Further arguments of vLLM's engine, as JSON.")
@click.option(
    "--step-us", type=float, default=1000.0, show_default=True, help="Python of the engine per step; assumed."
)
@click.option("--request-us", type=float, default=20.0, show_default=True, help="... and per request in it; assumed.")
@click.option("--slo-ttft", type=float, default=1000.0, show_default=True, help="Goodput: time to the first token, ms.")
@click.option("--slo-tpot", type=float, default=50.0, show_default=True, help="Goodput: time per further token, ms.")
@click.option("-o", "--output", type=click.Path(file_okay=False, path_type=Path), default=Path("loadtest"))
@gathered("load", Load)
@gathered("engine", Engine)
@as_json
@click.pass_obj
def loadtest(plugins: Plugins, load: Load, engine: Engine, model: Path, output: Path, json_output: bool) -> None:
    """
    Serve MODEL (a folder with its config.json) with vLLM-Ascend's engine on simulated time.

    The real engine schedules; nothing is computed, weights are dummies, and each answer has the length that the load
    states. OUTPUT gets index.html and results.json, with a folder per combination of the options that are given more
    than once.
    """
    missing = missing_engine()
    if missing:
        raise CommandError(missing)
    try:
        arguments = json.loads(engine.engine)
    except ValueError as error:
        raise CommandError(f"--engine is no JSON: {error}", exit_code=2) from error
    chips = engine.chip or (Settings.checked({}).chip,)
    for chip in chips:
        load_chip(chip, extra_files=plugins.chip_files())
    objective = Objective(ttft_ms=engine.slo_ttft, tpot_ms=engine.slo_tpot)
    layouts = itertools.product(engine.tp or (1,), engine.dp or (1,))
    combinations = itertools.product(chips, layouts, engine.batch_tokens or (0,), load.rate or (1.0,))
    documents = []
    for chip, (tp, dp), batch_tokens, rate in combinations:
        cell = Cell(
            chip=chip, tp=tp, dp=dp, ep=engine.ep, batch_tokens=batch_tokens, rate=rate, seed=load.seed,
            model=model.resolve(), arguments=arguments, step_us=engine.step_us, request_us=engine.request_us,
        )  # fmt: skip
        click.echo(f"drynpu: {cell.title} ...", err=True)
        documents.append(run_cell(cell, load.at(rate, model), objective, output / cell.name))
    result = {"model": str(model), "requests": load.requests, "assumed": _ASSUMED, "runs": documents}
    (output / "results.json").write_text(json.dumps(result, indent=1), encoding="utf-8")
    (output / "index.html").write_text(render(result), encoding="utf-8")
    if json_output:
        echo_json(result)
        return
    for document in documents:
        click.echo(_line(document))
    click.echo(f"{output / 'index.html'}")


_ASSUMED = (
    "Kernels and the host's dispatches are modelled (docs/device-model.md). Python of the engine beside its operators "
    "is assumed: --step-us and --request-us. Tokenising, HTTP and the network are not in it."
)


def _line(document: dict[str, object]) -> str:
    def figure(name: str) -> str:
        distribution = document[name]
        value = distribution.get("p50") if isinstance(distribution, dict) else None
        return "N/A" if value is None else f"{value['value']:.1f} ({value['low']:.1f} to {value['high']:.1f})"

    return f"{document['title']}: TTFT p50 {figure('ttft_ms')} ms, TPOT p50 {figure('tpot_ms')} ms"
