"""Print as JSON the public names that are documented for Ascend, and the ones that a table calls."""

from __future__ import annotations

import inspect
import json
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import mindspore.ops.auto_generate.gen_ops_prim as prim
from mindspore import mint, nn, ops

MODULES: dict[str, ModuleType] = {
    "ops": ops,
    "mint": mint,
    "mint.nn": mint.nn,
    "mint.nn.functional": mint.nn.functional,
    "mint.linalg": mint.linalg,
    "mint.special": mint.special,
    "nn": nn,
}
TABLES = ("mindspore-calls.yaml", "mindspore-ops-calls.yaml", "mindspore-primitives/*.yaml")
HELPERS = ("primitive_helpers.py", "run_ops_calls.py")
"""Files that have what calls of the tables name besides MindSpore."""
_SHORT = {"F": "mint.nn.functional"}
_PLATFORMS = re.compile(r"Supported Platforms:\s*([^\n]*)")
_CALL = re.compile(rf"\b({'|'.join(sorted([*map(re.escape, MODULES), 'F', 'prim'], key=len, reverse=True))})\.(\w+)")


def has_ascend(value: Any) -> bool:
    """Return whether the documentation of a name lists Ascend among its platforms."""
    found = _PLATFORMS.search(inspect.getdoc(value) or "")
    return found is not None and "Ascend" in found[1]


def documented() -> dict[str, Any]:
    """Return what is documented for Ascend, by its full name."""
    return {
        f"{path}.{name}": value
        for path, module in MODULES.items()
        for name, value in vars(module).items()
        if not name.startswith("_") and not inspect.ismodule(value) and has_ascend(value)
    }


def main(docs: str) -> None:
    tables = [path for pattern in TABLES for path in sorted(Path(docs).glob(pattern))]
    text = "\n".join(path.read_text() for path in [*tables, *map(Path(__file__).with_name, HELPERS)])
    calls = {(_SHORT.get(path, path), name) for path, name in _CALL.findall(text)}
    objects = [getattr({**MODULES, "prim": prim}[path], name, None) for path, name in calls]
    identities = {id(each) for each in objects if each is not None}
    names = documented()
    called = [name for name, value in names.items() if id(value) in identities]
    print(json.dumps({"documented": sorted(names), "called": sorted(called)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
