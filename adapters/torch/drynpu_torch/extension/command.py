"""``drynpu native``: the npu as a device of PyTorch in C++, compiled on this machine."""

from __future__ import annotations

import os

import click

from drynpu_torch.extension._build import build, find_build


@click.group()
def native() -> None:
    """Compile the native npu device of PyTorch."""


@native.command("build", short_help="Compile the device for the installed PyTorch.")
@click.option("--again", is_flag=True, help="Compile even if that was done before.")
def build_device(again: bool) -> None:
    """Compile the device for the installed PyTorch, into the user's cache; takes half a minute."""
    done = build(again=again)
    click.echo(f"torch {done.torch_version}: {done.path}")


@native.command(short_help="Say which device serves the npu, and why.")
def status() -> None:
    """Say which device serves the npu, why, and how to get the other; status 1 if the native one is not built."""
    # Imported late: this module is loaded for every command.
    from drynpu.options import Settings
    from drynpu_torch.extension.choice import choose

    torch_build = find_build()
    if torch_build.done:
        click.echo(f"torch {torch_build.torch_version}: {torch_build.path}")
    elif torch_build.failure is None:
        click.echo(f"torch {torch_build.torch_version}: not built")
    if torch_build.failure is not None:
        click.echo(f"torch {torch_build.torch_version}: the last attempt failed. {torch_build.failure.rstrip()}")
        click.echo("drynpu native build tries again, after a change of the compiler or of PyTorch")
    click.echo(f"the npu is served by the {choose(Settings.checked(os.environ), torch_build).sentence}")
    if not torch_build.done:
        raise SystemExit(1)
