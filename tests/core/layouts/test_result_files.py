"""Names of result files: one home, from which those who write and those who read take them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from drynpu.layouts import result_files

ROOT = Path(__file__).parents[3]
BEFORE = ("core/drynpu/platforms", "core/drynpu/options", "core/drynpu/raw")
"""Rooms that may not import the names."""
NAMES = {
    value
    for value in vars(result_files).values()
    if isinstance(value, str) and value.endswith((".json", ".csv", ".db"))
}


def literals(tree: ast.Module) -> Iterator[ast.Constant]:
    """Yield the texts of a module that are a name of a file, also inside of f-strings."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node.value in NAMES:
            yield node


def test_no_other_file_spells_them() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.value}"
        for base in ("core", "adapters", "plugins")
        for path in sorted((ROOT / base).rglob("*.py"))
        if path != Path(result_files.__file__) and not str(path.relative_to(ROOT)).startswith(BEFORE)
        for node in literals(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert len(NAMES) > 20
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("rank", "info", "database"),
    [
        (None, "profiler_info.json", "ascend_pytorch_profiler.db"),
        (0, "profiler_info_0.json", "ascend_pytorch_profiler_0.db"),
        (17, "profiler_info_17.json", "ascend_pytorch_profiler_17.db"),
    ],
)
def test_ranks_in_names_are_read_again(rank: int | None, info: str, database: str) -> None:
    assert result_files.profiler_info_file(rank) == info
    assert result_files.torch_database_file(rank) == database
    assert Path(info).match(result_files.PROFILER_INFO_PATTERN)
    assert Path(info).match(result_files.RANKED_INFO_PATTERN) == (rank is not None)
    ranked, named = result_files.RANKED_INFO.match(info), result_files.RANKED_DATABASE.match(database)
    assert (ranked and ranked[1]) == (None if rank is None else str(rank))
    assert named is not None
    assert named[1] == (None if rank is None else str(rank))
