"""Raw data of a run as a file: what belongs to this machine is replaced by words of the same length."""

from __future__ import annotations

import io
import platform
import socket
import tarfile
from pathlib import Path

_PROF = "PROF_000001_20260102030405000_"
RESULTS = ("mindstudio_profiler_output", "ASCEND_PROFILER_OUTPUT", "analyze", "sqlite", "logs")


def pack(run: Path, archive: Path, checkout: Path) -> None:
    """Write the raw data of a result directory, without results, as an archive that is the same for the same bytes."""
    words = {str(checkout): "/srv/train", str(Path.home()): "/home/npu", str(run.parent): "/data"}
    words |= {f'"{socket.gethostname()}"': '"server', f"Linux-{platform.release()}": "Linux-5.10.0"}
    with tarfile.open(archive, "w:xz", preset=9) as tar:
        for path in sorted(path for path in run.rglob("*") if path.is_file()):
            parts = path.relative_to(run).parts
            if not set(parts) & set(RESULTS) and path.suffix not in (".db", ".csv"):
                data = _anonymous(path.read_bytes(), words)
                entry = tarfile.TarInfo("/".join(parts))
                entry.size = len(data)
                tar.addfile(entry, io.BytesIO(data))


def _anonymous(data: bytes, words: dict[str, str]) -> bytes:
    for word, other in sorted(words.items(), key=lambda pair: -len(pair[0])):
        # Records state their lengths, so that a word has to keep its own.
        shortened = other[: len(word)].ljust(len(word), "x")
        data = data.replace(word.encode(), (shortened[:-1] + '"' if word.endswith('"') else shortened).encode())
    return data


def unpack(archive: Path, folder: Path) -> Path:
    """Unpack an archive below a folder and return the result directory, named as its kind is."""
    name = archive.name.partition(".")[0]
    with tarfile.open(archive) as tar:
        names = tar.getnames()
        run = folder / (name if any(each.startswith("FRAMEWORK/") for each in names) else f"{_PROF}{name.upper()}")
        tar.extractall(run, filter="data")
    return run
