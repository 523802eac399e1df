"""``drynpu check``: what a set of options amounts to, before it costs a run."""

from __future__ import annotations

import os
from pathlib import Path

import attrs
import click
from rich.console import Console
from rich.table import Table

from drynpu.chips import load_chip
from drynpu.cli._options import as_json, echo_json
from drynpu.options import Origin, Parsed, Settings, estimate_footprint, explain, lint_schedule, parse_document
from drynpu.plugins import build_manager

__all__ = ["check"]

_THOUSAND = 1000


@click.command()
@click.argument("document")
@click.option("--chip", help="Chip the options are for. Default: DRYNPU_CHIP or Ascend910B2.")
@click.option("--strict", is_flag=True, help="Refuse where the current collector refuses, instead of helping.")
@click.option("--steps", type=click.IntRange(min=0), help="Length of the run, to check a schedule against it.")
@click.option("--all", "show_all", is_flag=True, help="Show options that are at their defaults, too.")
@as_json
def check(document: str, chip: str | None, strict: bool, steps: int | None, show_all: bool, json_output: bool) -> None:
    """
    Lint and explain profiling options.

    DOCUMENT is JSON or YAML text, or the path of such a file: profiling_options of TensorFlow and acl,
    torch_npu's _ExperimentalConfig as a mapping, or drynpu's own option model.
    """
    settings = Settings.from_environ(os.environ)
    known = load_chip(chip or settings.chip, extra_files=build_manager(record_problems=True).chip_files())
    text, where = _read(document)
    parsed = parse_document(text, chip=known.platform_version, strict=strict or settings.strict, where=where)
    notices = [*parsed.notices]
    if parsed.request.schedule is not None:
        notices += lint_schedule(parsed.request.schedule, steps)
    if json_output:
        echo_json(_document(parsed, [str(notice) for notice in notices]))
        return
    console = Console()
    console.print(f"dialect: {parsed.dialect}, chip: {known.name}")
    console.print(_table(parsed, show_all=show_all))
    for notice in notices:
        console.print(str(notice), style="yellow", markup=False, highlight=False)
    footprint = estimate_footprint(parsed.request)
    console.print(
        f"Raw data, estimated: {footprint.bytes_per_kernel * _THOUSAND / 1e6:.2f} MB per 1000 kernels, "
        f"{footprint.bytes_per_operator * _THOUSAND / 1e6:.2f} MB per 1000 framework operators"
    )


def _read(document: str) -> tuple[str, str]:
    """Return the text of the document and what to call it in messages."""
    if not document.lstrip().startswith(("{", "[")) and Path(document).is_file():
        return Path(document).read_text(encoding="utf-8"), document
    return document, ""


def _document(parsed: Parsed, notices: list[str]) -> dict[str, object]:
    footprint = estimate_footprint(parsed.request)
    return {
        "dialect": parsed.dialect,
        "options": [
            attrs.asdict(row, value_serializer=lambda _, __, value: value.value if isinstance(value, Origin) else value)
            for row in explain(parsed)
        ],
        "notices": notices,
        "bytes_per_kernel": footprint.bytes_per_kernel,
        "bytes_per_operator": footprint.bytes_per_operator,
    }


def _table(parsed: Parsed, *, show_all: bool) -> Table:
    table = Table()
    for heading in ("option", "effective value", "from", "files"):
        table.add_column(heading, overflow="fold")
    for row in explain(parsed):
        if show_all or row.origin is not Origin.DEFAULT or row.files:
            table.add_row(row.option, row.value, row.origin.value, ", ".join(row.files))
    return table
