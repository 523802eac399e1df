"""The metadata of the distribution ``torch-npu``, for programs that ask which release is installed."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import Distribution, PackageNotFoundError, version
from pathlib import Path
from typing import Final

from drynpu._guard import facade_version, find_genuine

_DISTRIBUTION: Final = "torch-npu"
_MODULE: Final = "torch_npu"


def find_distribution(folders: Sequence[str]) -> list[Distribution]:
    """
    Return the distribution ``torch-npu`` of the facade in one of *folders*, as a list of one.

    The list is empty where a genuine torch_npu wins, or without PyTorch.
    """
    try:
        stated = facade_version(version("torch"))
    except PackageNotFoundError:
        return []
    if find_genuine(_MODULE) is not None:
        return []
    return [
        _FacadeDistribution(Path(folder), stated)
        for folder in folders
        if Path(folder, _MODULE, "__init__.py").is_file()
    ]


class _FacadeDistribution(Distribution):
    """What an installed torch_npu would say in its metadata."""

    def __init__(self, folder: Path, stated: str) -> None:
        self._folder = folder
        self._texts = {
            "METADATA": f"Metadata-Version: 2.1\nName: {_DISTRIBUTION}\nVersion: {stated}\n"
            "Summary: the facade of torch_npu, served by drynpu\n",
            "top_level.txt": f"{_MODULE}\n",
        }

    def read_text(self, filename: str) -> str | None:
        """Return the text of a file of the metadata, ``None`` for those that do not exist."""
        return self._texts.get(filename)

    def locate_file(self, path: object) -> Path:
        """Return where a file of the distribution is."""
        return self._folder / str(path)
