"""``drynpu native``: the npu as a device of PyTorch in C++, compiled on this machine."""

from __future__ import annotations

import click

from drynpu_torch.extension._build import build, find_build, find_compiler


@click.group()
def native() -> None:
    """Compile the native npu device of PyTorch."""


@native.command("build")
@click.option("--again", is_flag=True, help="Compile even if that was done before.")
def build_device(again: bool) -> None:
    """Compile the device for the installed PyTorch, into the user's cache; takes half a minute."""
    if again or not find_build().done:
        click.echo("compiling the native npu device (about half a minute)", err=True)
    done = build(again=again)
    click.echo(f"torch {done.torch_version}: {done.path}")


@native.command()
def status() -> None:
    """Say whether the device is built, and which compiler would build it. Ends with status 1 if it is not built."""
    found = find_build()
    if found.done:
        click.echo(f"torch {found.torch_version}: {found.path}")
        return
    compiler = find_compiler()
    how = f"{compiler} is there; run: drynpu native build" if compiler else "no C++ compiler was found either"
    click.echo(f"torch {found.torch_version}: not built; {how}")
    raise SystemExit(1)
