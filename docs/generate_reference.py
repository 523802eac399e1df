"""
Write the pages of reference that follow from the code: commands, chips, the Python API.

    python docs/generate_reference.py [FOLDER]

``make docs`` writes them into docs/generated, which is not committed: they are as new as the code.
"""
# ruff: noqa: INP001

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from drynpu.cli import build_cli
from drynpu.platforms import known_chips
from drynpu.plugins import build_manager

ROOMS = ("drynpu", "drynpu.plugins", "drynpu.platforms", "drynpu.kernels", "drynpu.options", "drynpu.simulate")
ROOMS += ("drynpu.recorder", "drynpu.raw", "drynpu.tables", "drynpu.analysis", "drynpu.products")
"""What scripts and plugins import."""
_COLUMNS = 90
"""Of a command's help: as many characters as a code block of the site has beside the navigation."""


def commands_page() -> str:
    """Return the help of every command, as the command prints it."""
    group = build_cli(build_manager())
    parts = ["# Commands in full", "What `--help` prints. [Commands](../commands.md) has an example of each."]
    root = click.Context(group, info_name="drynpu", terminal_width=_COLUMNS, **group.context_settings)
    for context in _contexts(root):
        help_text = context.command.get_help(context)
        parts.append(f"## {context.command_path}\n\n```text\n{help_text}\n```")
    return "\n\n".join(parts) + "\n"


def _contexts(parent: click.Context) -> Iterator[click.Context]:
    """Yield a context for each verb below that of a group; commands take the names of their help option from it."""
    group = parent.command
    if not isinstance(group, click.Group):
        return
    for verb in group.list_commands(parent):
        command = group.get_command(parent, verb)
        if command is not None:
            context = click.Context(command, info_name=verb, parent=parent)
            yield context
            yield from _contexts(context)


def chips_page() -> str:
    """Return a table of the bundled chips; ``drynpu chips NAME`` prints the source of each figure."""
    lines = ["# Chips", "", "`drynpu chips NAME` prints every figure of a chip with its source.", ""]
    names = ("chip", "cube cores", "vector cores", "MHz", "memory, GiB", "memory, GB/s", "L2, MiB")
    lines += [f"| {' | '.join(names)} |", f"| --- |{' ---: |' * (len(names) - 1)}"]
    for chip in known_chips():
        sizes = (chip.memory_bytes // 2**30, f"{chip.memory_gbs:g}", f"{chip.l2_bytes / 2**20:g}")
        cells = (f"`{chip.name}`", chip.cube_cores, chip.vector_cores, chip.aic_mhz, *sizes)
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines) + "\n"


def api_page() -> str:
    """Return a page that lists the public names of the rooms with their docstrings' first sentences."""
    parts = ["# Python", "The names that scripts and plugins import, by package, with what each is for."]
    for room in ROOMS:
        module = importlib.import_module(room)
        rows = [f"| `{name}` | {_summary(getattr(module, name))} |" for name in sorted(module.__all__)]
        head = _first_sentence(module.__doc__ or "")
        parts.append("\n".join([f"## {room}", "", head, "", "| name | what it is |", "| --- | --- |", *rows]))
    return "\n\n".join(parts) + "\n"


def _summary(value: object) -> str:
    """Return the first sentence of a docstring of a class or function; of a constant its type."""
    if callable(value) and value.__doc__:
        return _first_sentence(value.__doc__)
    return f"a constant: {type(value).__name__}"


def _first_sentence(docstring: str) -> str:
    paragraph = " ".join(docstring.strip().split("\n\n")[0].split())
    return re.sub(r"``(.+?)``", r"`\1`", paragraph).replace("|", "\\|")


def write(folder: Path) -> None:
    """Write all pages."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, page in (("cli", commands_page()), ("chips", chips_page()), ("api", api_page())):
        (folder / f"{name}.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "generated")
