"""``drynpu check``: what a set of options, or a script, amounts to, before it costs a run."""

from __future__ import annotations

import os
from pathlib import Path

import attrs
import click
from rich.table import Table

from drynpu import OptionError
from drynpu.cli.shared import as_json, console, echo_json
from drynpu.options import Origin, Parsed, Settings
from drynpu.platforms import load_chip
from drynpu.plugins import Plugins
from drynpu_script_check._dialects import parse_document
from drynpu_script_check._explanations import explain
from drynpu_script_check._footprint import estimate_footprint
from drynpu_script_check._schedules import lint_schedule

# Bytes of one kernel say little; a step has about a thousand.
_THOUSAND = 1000


class _ScriptOrDocument(click.Command):
    """A command whose options end where a script begins: what follows is the script's."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; for documents their order does not matter."""
        ctx.allow_interspersed_args = not any(arg in ("-m", "--module") or arg.endswith(".py") for arg in args)
        return super().parse_args(ctx, args)


@click.command(cls=_ScriptOrDocument)
@click.option("--chip", help="Chip to check for. Default: DRYNPU_CHIP or Ascend910B2.")
@click.option("--strict", is_flag=True, help="Refuse where the current collector refuses, instead of helping.")
@click.option("--steps", type=click.IntRange(min=0), help="Length of the run, to check a schedule against it.")
@click.option("--all", "show_all", is_flag=True, help="Show options that are at their defaults, too.")
@click.option(
    "--first", type=click.IntRange(min=3), default=5, show_default=True, help="Of a script: steps to run; it ends then."
)
@click.option("--compute", is_flag=True, help="Of a script: compute values, instead of shapes alone.")
@click.option("--show-output", is_flag=True, help="Of a script: show what it prints.")
@click.option("--module", "-m", "is_module", is_flag=True, help="The script is a module name, as in python -m.")
@as_json
@click.argument("document", metavar="DOCUMENT|SCRIPT")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_obj
def check(
    plugins: Plugins,
    document: str,
    arguments: tuple[str, ...],
    chip: str | None,
    strict: bool,
    steps: int | None,
    show_all: bool,
    first: int,
    compute: bool,
    show_output: bool,
    is_module: bool,
    json_output: bool,
) -> None:
    """
    Lint and explain profiling options, or find the mistakes of a script in its first steps.

    DOCUMENT is JSON or YAML text, or the path of such a file: profiling_options of TensorFlow and acl,
    torch_npu's _ExperimentalConfig as a mapping, or drynpu's own option model.

    SCRIPT ends in .py, or is a module with -m; its arguments follow. Options stand before it. Its first steps run
    without computing, its profilers record nothing, and what it writes itself it writes. Status 1: an error was found.
    """
    settings = Settings.checked(os.environ)
    known = load_chip(chip or settings.chip, extra_files=plugins.chip_files())
    if is_module or document.endswith(".py"):
        # Looking at recordings takes longer to import than looking at options.
        from drynpu_script_check._show import check_first_steps

        status = check_first_steps(
            (document, *arguments),
            known,
            is_module=is_module,
            compute=compute,
            first_steps=first,
            total_steps=steps,
            show_output=show_output,
            json_output=json_output,
        )
        raise SystemExit(status)
    if arguments:
        raise click.UsageError(f"Got unexpected extra argument{'s' * (len(arguments) > 1)} ({' '.join(arguments)})")
    text, where = _read(document)
    parsed = parse_document(text, chip=known.platform_version, strict=strict or settings.strict, where=where)
    notices = [*parsed.notices]
    if parsed.request.schedule is not None:
        notices += lint_schedule(parsed.request.schedule, steps)
    if json_output:
        echo_json({"chip": known.name, **_document(parsed), "notices": [str(notice) for notice in notices]})
        return
    out = console()
    out.print(f"dialect: {parsed.dialect}, chip: {known.name}")
    out.print(_table(parsed, show_all=show_all))
    for notice in notices:
        out.print(str(notice), style="yellow", soft_wrap=True)
    for row in explain(parsed):
        for line in row.only_on_device:
            out.print(f"{row.option}: only a real device leaves {line}", soft_wrap=True)
    footprint = estimate_footprint(parsed.request)
    out.print(
        f"Raw data, estimated: {footprint.bytes_per_kernel * _THOUSAND / 1e6:.2f} MB per 1000 kernels, "
        f"{footprint.bytes_per_operator * _THOUSAND / 1e6:.2f} MB per 1000 framework operators"
    )


def _read(document: str) -> tuple[str, str]:
    """
    Return the text of the document and what to call it in messages.

    Raises
    ------
    OptionError
        What looks like a path is none, or the file cannot be read as text.
    """
    # os.path, because pathlib raises for what is too long to be a path.
    if document.lstrip().startswith(("{", "[")) or not os.path.exists(document):  # noqa: PTH110
        if document.endswith((".json", ".yaml", ".yml")):
            raise OptionError([f"{document}: no such file"])
        return document, ""
    try:
        return Path(document).read_text(encoding="utf-8"), document
    except OSError as error:
        raise OptionError([f"{document}: cannot be read: {error.strerror}"]) from error
    except UnicodeDecodeError as error:
        raise OptionError([f"{document}: not UTF-8 text: {error.reason} at byte {error.start}"]) from error


def _document(parsed: Parsed) -> dict[str, object]:
    footprint = estimate_footprint(parsed.request)
    return {
        "dialect": parsed.dialect,
        "options": [
            attrs.asdict(row, value_serializer=lambda _, __, value: value.value if isinstance(value, Origin) else value)
            for row in explain(parsed)
        ],
        "bytes_per_kernel": footprint.bytes_per_kernel,
        "bytes_per_operator": footprint.bytes_per_operator,
    }


def _table(parsed: Parsed, *, show_all: bool) -> Table:
    table = Table()
    for heading in ("option", "effective value", "from", "files"):
        table.add_column(heading, overflow="fold")
    for row in explain(parsed):
        if show_all or row.origin is not Origin.DEFAULT or row.files:
            absent = {line.partition(": ")[0] for line in row.only_on_device}
            written = (file for file in row.files if file not in absent)
            table.add_row(row.option, row.value, row.origin.value, ", ".join(written))
    return table
