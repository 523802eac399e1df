"""``drynpu doctor --install-msprof``: scripts of the vendor's names that start ``drynpu msprof``."""

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
_PYTHON_NAME = f"{_NAME}.py"
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
        help="Write scripts 'msprof' and 'msprof.py' into DIR that start drynpu msprof, and do nothing else.",
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

    The script starts this Python interpreter. ``msprof.py`` beside it has the same commands in their script form.

    Raises
    ------
    CommandError
        There is an ``msprof`` that drynpu did not write, and not *force*.
    OutputError
        It cannot be written.
    """
    folder = directory.expanduser().resolve()
    call = [sys.executable, "-m", "drynpu", _NAME]
    scripts = {
        folder / _NAME: f'#!/bin/sh\n{_MARK}\nexec {shlex.join(call)} "$@"\n',
        folder / _PYTHON_NAME: f"#!{sys.executable}\n{_MARK}\nimport os\nimport sys\n\n"
        f"os.execv({sys.executable!r}, [*{[*call, _PYTHON_NAME]!r}, *sys.argv[1:]])\n",
    }
    for path, script in scripts.items():
        try:
            if not force and os.path.lexists(path) and not _is_ours(path):
                raise CommandError(f"{path} is there and was not written by drynpu; --force replaces it.")
            folder.mkdir(parents=True, exist_ok=True)
            with staged_path(path) as partial:
                partial.write_text(script, encoding="utf-8")
                partial.chmod(0o755)
        except OSError as error:
            raise OutputError(f"{path}: cannot be written: {error.strerror or error}") from error
    return folder / _NAME


def _is_ours(path: Path) -> bool:
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as stream:
        return _MARK.encode() in stream.read(1024)
