"""``drynpu synth``: many ranks made from a few recorded ones, to test at scale what reads clusters."""

from __future__ import annotations

from pathlib import Path

import click

from drynpu.cli.shared import as_json, console, echo_json, gathered, topology_option
from drynpu_cluster import find_cluster
from drynpu_cluster.synth import SynthOptions, synthesise


def _link(_: click.Context, option: click.Parameter, value: str | None) -> tuple[int, int] | None:
    if value is None:
        return None
    source, dash, end = value.partition("-")
    if not dash or not source.isdecimal() or not end.isdecimal():
        raise click.BadParameter(f"{value!r} is no link; write it as 3-4", param=option)
    return int(source), int(end)


@click.command()
@click.argument("run", type=click.Path(exists=True, path_type=Path))
@click.option("--ranks", type=click.IntRange(min=1), required=True, help="Ranks of the cluster.")
@click.option(
    "-o", "--output", type=click.Path(file_okay=False, path_type=Path), required=True, help="New folder for them."
)
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed writes the same cluster.")
@click.option("--jitter", type=click.FloatRange(min=0), default=0.02, show_default=True, help="Of each rank and step.")
@click.option(
    "--step-change", type=click.FloatRange(min=0), default=0.05, show_default=True, help="Of a step on all ranks."
)
@click.option("--slow-rank", type=click.IntRange(min=0), help="Which rank is slow; drawn without it.")
@click.option(
    "--slow-factor", type=click.FloatRange(min=0.01), default=1.5, show_default=True, help="How slow; 1: none is."
)
@click.option("--slow-link", callback=_link, metavar="FROM-TO", help="Which link is slow; drawn without it.")
@click.option(
    "--link-factor", type=click.FloatRange(min=0.01), default=4.0, show_default=True, help="How slow; 1: none is."
)
@topology_option
@click.option("--raw", is_flag=True, help="Write raw records as well; the recorded ranks need theirs.")
@click.option("--workers", type=click.IntRange(min=1), help="Processes that write ranks; as many as cores without it.")
@gathered("options", SynthOptions)
@as_json
def synth(
    run: Path,
    output: Path,
    options: SynthOptions,
    workers: int | None,
    json_output: bool,
) -> None:
    """
    Make a synthetic cluster from the recorded ranks in RUN, in the layout of a genuine one.

    Rank r does what the recorded rank r modulo their number did, with jitter; one rank and one link are slow, steps
    vary, and all ranks wait for the last. Every directory says in profiler_metadata.json that it is synthetic, and
    how it was made. Texts give texts, databases give databases, raw records with --raw.
    """
    made_of = find_cluster(run)
    done = synthesise(made_of, output, options, workers=workers)
    if json_output:
        echo_json(
            {
                "folder": str(done.folder),
                "ranks": done.ranks,
                "recorded_ranks": len(made_of.ranks),
                "slow_rank": done.slow_rank,
                "slow_link": done.slow_link,
                "left_out": list(done.left_out),
                "unlinked": list(done.unlinked),
            }
        )
        return
    out = console()
    out.print(f"Written: {done.ranks} ranks to {done.folder}, from {len(made_of.ranks)} recorded", soft_wrap=True)
    if done.slow_rank is not None:
        out.print(f"Slow rank: {done.slow_rank}, {options.slow_factor:g} times")
    if done.slow_link is not None:
        out.print(f"Slow link: {done.slow_link[0]}-{done.slow_link[1]}, {options.link_factor:g} times")
    if done.left_out:
        out.print(f"Not made, {len(done.left_out)} kinds of file: {', '.join(done.left_out)}", soft_wrap=True)
    if done.unlinked:
        out.print(f"Moves nothing in this topology, for what it moves is not known: {', '.join(done.unlinked)}")
