"""
Compile the npu device against the headers of releases of PyTorch, and look for the private names that our Python uses.

    python tools/torch_headers.py                   # every release of the table in docs/install.md
    python tools/torch_headers.py 2.6.0 2.15.0      # these

The headers and the Python files come from the wheels for macOS, which are a tenth of those for Linux and have
nothing of CUDA; they stay in build/torch-headers. Needs g++, which only reads the sources (``-fsyntax-only``).
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from attrs import frozen
from torch_release import PAGE, table

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "build" / "torch-headers"
UNIT = ROOT / "adapters" / "torch" / "native" / "module.cpp"
FOLDERS = (
    ROOT / "adapters" / "torch" / "drynpu_torch",
    *sorted(ROOT.glob("plugins/*/drynpu_*")),
)
PLATFORMS = ("macosx_11_0_arm64", "macosx_14_0_arm64")
WORD = re.compile(r"\b_\w+")
GUARDED: Mapping[str, str] = {
    "torch.utils.backend_registration._setup_privateuseone_for_python_backend": "no sink up to 2.9 (extension.choice)",
}
"""Private names that some releases lack -> what our code does there."""


@frozen
class Release:
    """The headers and the Python files of a release."""

    version: str
    folder: Path

    def module(self, name: str) -> Path | None:
        """Return the file of a module, its stub where it is compiled; ``None`` if there is none."""
        stem = self.folder.joinpath(*name.split("."))
        files = (stem / "__init__.py", stem.with_suffix(".py"), stem / "__init__.pyi", stem.with_suffix(".pyi"))
        return next((file for file in files if file.is_file()), None)

    def words(self) -> frozenset[str]:
        """Return all words of its Python files: some say more of what is compiled than the stubs do."""
        words: set[str] = set()
        for pattern in ("*.py", "*.pyi"):
            for file in (self.folder / "torch").rglob(pattern):
                words.update(WORD.findall(file.read_text(encoding="utf-8", errors="replace")))
        return frozenset(words)


def fetch(version: str) -> Release:
    """Return a release, from pip where it is not here yet."""
    release = Release(version, KEPT / version)
    if release.folder.is_dir():
        return release
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet", "--no-deps"]
    command += ["--only-binary=:all:", "--python-version=311", f"torch=={version}"]
    KEPT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=KEPT) as place:
        subprocess.run([*command, *(f"--platform={each}" for each in PLATFORMS), "-d", place], check=True)
        (wheel,) = Path(place).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            names = [each for each in archive.namelist() if "/include/" in each or each.endswith((".py", ".pyi"))]
            archive.extractall(Path(place, "files"), names)
        Path(place, "files").rename(release.folder)
    return release


def compile_errors(release: Release) -> list[str]:
    """Return the errors of the compiler."""
    include = release.folder / "torch" / "include"
    folders = (include, include / "torch" / "csrc" / "api" / "include")
    command = ["g++", "-std=c++20", "-fsyntax-only", "-w", *(f"-I{each}" for each in folders), str(UNIT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return [line for line in done.stderr.splitlines() if "error" in line] if done.returncode else []


def private_names() -> dict[str, str]:
    """Return the private names of PyTorch that our Python uses, in full, and the first place of each."""
    names: dict[str, str] = {}
    for folder in FOLDERS:
        for file in sorted(folder.rglob("*.py")):
            text = file.read_text(encoding="utf-8")
            if "torch" not in text:
                continue
            for name, line in _names_of(ast.parse(text)):
                if any(map(_is_private, name.split("."))) and not name.startswith("torch.ops."):
                    names.setdefault(name, f"{file.relative_to(ROOT)}:{line}")
    return names


def _is_private(word: str) -> bool:
    return word.startswith("_") and not word.startswith("__")


def _names_of(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Return the names of PyTorch in a module, in full where they are imported, and their lines."""
    known = {"torch": "torch"}
    chains: list[tuple[list[str], int]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "torch":
            for each in node.names:
                known[each.asname or each.name] = f"{node.module}.{each.name}"
                yield f"{node.module}.{each.name}", node.lineno
        elif isinstance(node, ast.Import):
            known.update({each.asname: each.name for each in node.names if each.asname and "torch." in each.name})
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            parts = _chain(node)
            if parts:
                chains.append((parts, node.lineno))
    for parts, line in chains:
        if parts[0] in known:
            yield ".".join([known[parts[0]], *parts[1:]]), line


def _chain(node: ast.expr) -> list[str]:
    """Return the parts of ``a.b.c``; none for the attribute of a call and the like."""
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Attribute) and (before := _chain(node.value)):
        return [*before, node.attr]
    return []


def absent(release: Release, names: Iterable[str]) -> list[str]:
    """
    Return the names that a release does not have.

    The private word behind the name of a module has to stand in its file, for torch itself also in the stubs of what is
    compiled. What stands behind that, or belongs to compiled modules, whose stubs are not complete, has to stand in any
    Python file of the release.
    """
    words = release.words()
    missing = []
    for name in names:
        parts = name.split(".")
        depth = next(end for end in range(len(parts), 0, -1) if release.module(".".join(parts[:end])))
        file = release.module(".".join(parts[:depth]))
        assert file is not None  # torch itself is a module
        rest = [part for part in parts[depth:] if _is_private(part)]
        near = words
        if parts[depth : depth + 1] == rest[:1] and "_C" not in parts:
            files = [file, *(release.folder.glob("torch/_C/*.pyi") if depth == 1 else ())]
            near = frozenset(WORD.findall("".join(each.read_text(encoding="utf-8") for each in files)))
        if rest and (rest[0] not in near or not words.issuperset(rest)):
            missing.append(name)
    return missing


def main() -> int:
    """Try the releases and return the status: 1 if one does not compile or lacks a name."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("releases", nargs="*", help="as pip knows them; by default the table of docs/install.md")
    parser.add_argument("--names", action="store_true", help="look for private names alone")
    options = parser.parse_args()
    names, failed = private_names(), False
    for version in options.releases or table(PAGE.read_text(encoding="utf-8")):
        release = fetch(version)
        errors = [] if options.names else compile_errors(release)
        errors += [
            f"{name}, which {names[name]} uses, is not there" for name in absent(release, names) if name not in GUARDED
        ]
        print(f"{version}: {f'{len(errors)} errors' if errors else 'fits'}", *errors, sep="\n  ", flush=True)
        failed |= bool(errors)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
