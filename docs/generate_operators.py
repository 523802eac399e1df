"""
Write the tables of docs/torch-operators.md from the operators themselves.

``python docs/generate_operators.py`` writes, ``--check`` only compares and ends with status 1 where the page is old.
"""
# ruff: noqa: INP001

from __future__ import annotations

import argparse
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

from drynpu_torch_operators.operators import exported
from drynpu_torch_operators.operators._composites import COMPOSITES
from drynpu_torch_operators.operators._operator import NpuOperator
from drynpu_torch_operators.operators._refused_names import SUBSTITUTES
from drynpu_torch_operators.operators._table import FAMILIES, register

PAGE = Path(__file__).resolve().parent / "torch-operators.md"
MARK = "<!-- Written by docs/generate_operators.py below this line; do not edit. -->"
KERNEL = re.compile(r'(?:kernel=|product\(|_launch\(|\b(?:_CORE|_ND) = )"(\w+)"')


def kernel_types(operator: NpuOperator) -> list[str]:
    """Return the kernel types that the statement of an operator's kernels names."""
    constants = [str(v) for n, v in inspect.getclosurevars(operator.kernels).nonlocals.items() if n == "kernel"]
    return list(dict.fromkeys([*KERNEL.findall(inspect.getsource(operator.kernels)), *constants]))


def lines() -> Iterator[str]:
    """Yield the lines of both tables."""
    count = sum(len(family.OPERATORS) for family in FAMILIES)
    yield f"{count} operators and overloads are computed; {len(SUBSTITUTES)} are refused."
    for family in FAMILIES:
        title = family.__name__.rpartition(".")[2].replace("_", " ").capitalize()
        yield from ("", f"## {title}", "", (family.__doc__ or "").strip(), "")
        yield from ("| operator | kernels | types | gradient | arguments left out |", "| --- | --- | --- | --- | --- |")
        for name, operator in family.OPERATORS.items():
            kernels = ", ".join(kernel_types(operator)) or "as aten's or none"
            gradient = "yes" if operator.gradient else ""
            left_out = ", ".join(f"`{argument}`" for argument in operator.left_out)
            yield f"| `{name}` | {kernels} | {operator.dtypes} | {gradient} | {left_out} |"
    yield from ("", "## Composed", "", "Functions that call the operators above.", "", "| function | what it returns |")
    yield "| --- | --- |"
    for name, function in COMPOSITES.items():
        yield f"| `{name}` | {(function.__doc__ or '').removeprefix('Return ').partition(chr(10))[0]} |"
    yield from ("", "## Refused", "", "| operators | in their place |", "| --- | --- |")
    for substitute in dict.fromkeys(SUBSTITUTES.values()):
        names = ", ".join(f"`{name}`" for name, value in SUBSTITUTES.items() if value == substitute)
        yield f"| {names} | {substitute} |"


def main() -> int:
    """Write or compare the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    register()
    assert exported()
    head = PAGE.read_text(encoding="utf-8").partition(MARK)[0]
    text = head + MARK + "\n\n" + "\n".join(lines()) + "\n"
    if check:
        return int(PAGE.read_text(encoding="utf-8") != text)
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
