"""Files that are written while the training goes on."""

from __future__ import annotations

import io
import threading
from pathlib import Path
from typing import IO, Any

import torch


def save_async(obj: object, f: str | Path | IO[bytes], *arguments: Any, **options: Any) -> None:
    """
    Save like ``torch.save``, writing the file in a thread; Python ends when it is written.

    The values are taken at once, at the call. *model* among the options is accepted without effect.
    """
    options.pop("model", None)
    content = io.BytesIO()
    torch.save(obj, content, *arguments, **options)
    threading.Thread(target=_write, args=(f, content.getvalue())).start()


def _write(file: str | Path | IO[bytes], content: bytes) -> None:
    if isinstance(file, (str, Path)):
        Path(file).write_bytes(content)
    else:
        file.write(content)
