"""``drynpu cluster``: the ranks of a run analysed together, with the files of the vendor's cluster analysis."""

from __future__ import annotations

from pathlib import Path

import attrs
import click

from drynpu.cli.shared import as_json, console, echo_json
from drynpu.views.terminal import render_blocks
from drynpu_cluster import ClusterResult, analyse_cluster, find_cluster
from drynpu_cluster.recipes import RECIPES, RecipeResult, run_recipe
from drynpu_cluster.verbs._blocks import cluster_blocks, recipe_blocks


@click.command()
@click.argument("directory", type=click.Path(exists=True, path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder in which cluster_analysis_output is made; DIRECTORY without it.",
)
@click.option(
    "-m",
    "--mode",
    type=click.Choice(["all", *RECIPES]),
    default="all",
    show_default=True,
    help="All files, or the tables of one recipe (databases alone).",
)
@click.option("--no-export", is_flag=True, help="Only show; write no files.")
@click.option("--workers", type=click.IntRange(min=1), help="Processes that read ranks; as many as cores without it.")
@click.option("--scheduler", default="", metavar="ADDRESS", help="Let a dask.distributed cluster read the ranks.")
@click.option(
    "--work",
    type=click.Path(file_okay=False, path_type=Path),
    help="Keep the tables of the ranks (Parquet) in this folder.",
)
@as_json
def cluster(
    directory: Path,
    output: Path | None,
    mode: str,
    no_export: bool,
    workers: int | None,
    scheduler: str,
    work: Path | None,
    json_output: bool,
) -> None:
    """
    Analyse the ranks below DIRECTORY together: steps, waiting, links, groups, who is slow.

    Writes cluster_analysis_output/ with the names and numbers of the vendor's `msprof-analyze cluster -m all`:
    cluster_step_trace_time.csv, cluster_communication.json, cluster_communication_matrix.json and
    communication_group.json of results as texts, cluster_analysis.db of databases.
    """
    place = None if no_export else output or directory
    if mode != "all":
        recipe = run_recipe(find_cluster(directory), mode, place, workers=workers, scheduler=scheduler)
        _show_recipe(recipe, mode, json_output=json_output)
        return
    result = analyse_cluster(find_cluster(directory), place, workers=workers, scheduler=scheduler, work=work)
    if json_output:
        echo_json(_document(result))
        return
    out = console()
    out.print(render_blocks(cluster_blocks(result)))
    for file in result.files:
        out.print(f"Written: {file}", soft_wrap=True)


def _show_recipe(recipe: RecipeResult, name: str, *, json_output: bool) -> None:
    if json_output:
        tables = {table: rows.to_dicts() for table, rows in recipe.tables.items()}
        echo_json({"recipe": name, "tables": tables, "file": recipe.file, "notes": list(recipe.notes)})
        return
    out = console()
    out.print(render_blocks(recipe_blocks(recipe, name)))
    if recipe.file is not None:
        out.print(f"Written: {recipe.file}", soft_wrap=True)


def _document(result: ClusterResult) -> dict[str, object]:
    """Return all tables of an analysis for programs."""
    overview = result.overview
    tables = ("steps", "ranks", "links", "slow_ranks", "slow_links")
    return {
        "form": overview.form,
        "groups": [attrs.asdict(group) for group in overview.groups],
        **{name: getattr(overview, name).to_dicts() for name in tables},
        "files": [str(file) for file in result.files],
        "notes": list(result.notes),
    }
