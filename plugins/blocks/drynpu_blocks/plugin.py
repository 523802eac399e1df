"""The hooks of the plugin ``blocks``; the import is cheap."""

from __future__ import annotations

from drynpu.plugins import hookimpl


@hookimpl
def drynpu_notebook_opened(shell: object) -> bool:
    """Add the cell magic ``%%npu_profile``."""
    from drynpu_blocks.magic import register_magic

    register_magic(shell)  # type: ignore[arg-type]
    return True
