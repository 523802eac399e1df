"""``drynpu doctor --install-msprof``: a script of the vendor's name that starts ``drynpu msprof``."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

import click

from drynpu import CommandError, OutputError
from drynpu._staging import staged_path

_NAME = "msprof"
_MARK = "# drynpu msprof, written by drynpu doctor --install-msprof"
# Eager options see each other only through the context.
_FORCE = "drynpu.install_msprof.force"


def msprof_installer(command: click.Command) -> click.Command:
    """Return *command* with the options ``--install-msprof`` and ``--force``."""
    # Eager, so that it is known wherever it stands.
    click.option(
        "--force",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=lambda context, _, value: context.meta.__setitem__(_FORCE, value),
        help="With --install-msprof: replace a file that drynpu did not write.",
    )(command)
    click.option(
        "--install-msprof",
        metavar="DIR",
        type=click.Path(file_okay=False, path_type=Path),
        expose_value=False,
        callback=_install,
        help="Write a script 'msprof' into DIR that starts drynpu msprof, and do nothing else.",
    )(command)
    return command


def _install(context: click.Context, _: click.Parameter, directory: Path | None) -> None:
    if directory is None or context.resilient_parsing:
        return
    path = install_msprof(directory, force=context.meta[_FORCE])
    click.echo(f"Wrote {path}")
    program = shutil.which(_NAME)
    if program is None or Path(program).parent.resolve() != path.parent:
        first = f"; {program} is found instead" if program else ""
        click.echo(f"{path.parent} is not first on PATH{first}. Add: export PATH={shlex.quote(str(path.parent))}:$PATH")
    context.exit(0)


def install_msprof(directory: Path, *, force: bool = False) -> Path:
    """
    Write an executable ``msprof`` into *directory* and return its path; *directory* is made if it is not there.

    The script starts this Python interpreter.

    Raises
    ------
    CommandError
        There is an ``msprof`` that drynpu did not write, and not *force*.
    OutputError
        It cannot be written.
    """
    path = directory.expanduser().resolve() / _NAME
    script = f'#!/bin/sh\n{_MARK}\nexec {shlex.quote(sys.executable)} -m drynpu {_NAME} "$@"\n'
    try:
        if not force and os.path.lexists(path) and not _is_ours(path):
            raise CommandError(f"{path} is there and was not written by drynpu; --force replaces it.")
        path.parent.mkdir(parents=True, exist_ok=True)
        with staged_path(path) as partial:
            partial.write_text(script, encoding="utf-8")
            partial.chmod(0o755)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror or error}") from error
    return path


def _is_ours(path: Path) -> bool:
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as stream:
        return _MARK.encode() in stream.read(1024)
