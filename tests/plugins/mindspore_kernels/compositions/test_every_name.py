"""Every public name of ops, mint and nn for Ascend stands in a table of calls, or has a reason not to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

pytestmark = pytest.mark.slow

_HERE = Path(__file__).parent
DOCS = _HERE.parents[3] / "docs" / "lists"
REASONS: dict[str, str] = yaml.safe_load((DOCS / "mindspore-uncalled.yaml").read_text())
UNCALLED = {name for names in REASONS.values() for name in names.split()}


@pytest.fixture(scope="module")
def names(scripts: Any) -> dict[str, set[str]]:
    done = scripts(_HERE / "list_names.py", str(DOCS))
    return {kind: set(found) for kind, found in json.loads(done.stdout.splitlines()[-1]).items()}


def test_the_modules_have_the_names_that_the_documentation_counts(names: dict[str, set[str]]) -> None:
    assert len(names["documented"]) > 1500


def test_every_documented_name_is_called_or_has_a_reason(names: dict[str, set[str]]) -> None:
    assert sorted(names["documented"] - names["called"] - UNCALLED) == []


def test_reasons_are_for_names_that_exist_and_are_not_called(names: dict[str, set[str]]) -> None:
    assert sorted(UNCALLED - names["documented"]) == []
    assert sorted(UNCALLED & names["called"]) == []
