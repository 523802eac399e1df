"""The table of releases of PyTorch: what the tools read from it and write into it."""

from __future__ import annotations

import re
from importlib import import_module, util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
PAGE = """
| PyTorch | import | native device | when |
| --- | --- | --- | --- |
| 2.6.0 | works | 3 fail (PyTorch's) | 2026-01-01 |
| 2.10.0 | works | works | 2026-01-01 |

Text.
"""


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "tools")
    return import_module("torch_release")


def test_the_page_lists_the_releases_that_the_extra_takes(tool: ModuleType) -> None:
    rows = tool.table(tool.PAGE.read_text(encoding="utf-8"))
    oldest = re.search(r'^torch = \["torch>=([\d.]+)"\]$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert oldest
    assert next(iter(rows)).startswith(oldest[1])
    assert list(rows) == sorted(rows, key=lambda release: tuple(map(int, release.split("."))))
    assert {len(cells) for cells in rows.values()} == {len(tool.COLUMNS)}
    for release, cells in rows.items():
        for name, cell in cells.items():
            assert cell in tool.GOOD or re.fullmatch(r"\S.* \(.{8,}\)", cell), (release, name, "states no reason")


def test_a_row_goes_to_its_place(tool: ModuleType) -> None:
    before = list(tool.table(PAGE))
    for release, expected in (
        ("2.6.0", before),
        ("2.9.1", ["2.6.0", "2.9.1", "2.10.0"]),
        ("2.15.0", [*before, "2.15.0"]),
    ):
        page = tool.with_row(PAGE, release, f"| {release} | works | works | 2026-02-02 |")
        assert list(tool.table(page)) == expected
        assert page.count("2026-02-02") == 1
        assert page.endswith("\n\nText.\n")
    first = tool.with_row(PAGE, "2.5.1", "| 2.5.1 | works | works | 2026-02-02 |")
    assert list(tool.table(first)) == ["2.5.1", *before]


@pytest.mark.parametrize(
    ("outcome", "cell", "is_expected"),
    [
        ("works", None, True),
        ("works", "works", True),
        ("3 fail", None, False),
        ("3 fail", "pass", False),
        ("3 fail", "3 fail (PyTorch's)", True),
        ("4 fail", "3 fail (PyTorch's)", False),
        ("pass", "3 fail (PyTorch's)", True),
        ("-", "works", False),
    ],
)
def test_an_outcome_is_good_or_has_a_reason(
    tool: ModuleType, outcome: str, cell: str | None, is_expected: bool
) -> None:
    assert tool.is_expected(outcome, cell) == is_expected


def test_kernels_are_counted_on_both_sides(tool: ModuleType) -> None:
    one, other = {"Name": "a", "Duration(us)": "1"}, {"Name": "a", "Duration(us)": "2"}
    assert tool.differing([one, other], [other, one]) == "equal"
    assert tool.differing([one, one], [one, other, other]) == "1 here, 2 there"


@pytest.mark.slow
@pytest.mark.usefixtures("tool")
def test_private_names_of_pytorch_are_looked_for() -> None:
    headers = import_module("torch_headers")
    names = headers.private_names()
    assert "torch.autograd._prepare_profiler" in names
    assert "torch._C._profiler._RecordFunctionFast" in names
    spec = util.find_spec("torch")
    assert spec is not None
    assert spec.origin is not None
    installed = headers.Release("the installed one", Path(spec.origin).parents[1])
    false = {"torch._utils._none", "torch._none._flatten", "torch.autograd._none"}
    assert set(headers.absent(installed, [*names, *false])) == false
