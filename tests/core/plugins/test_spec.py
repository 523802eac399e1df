from __future__ import annotations

import ast
import inspect

import pytest

from drynpu.plugins import HOOKS, _spec, hookimpl


@pytest.mark.parametrize("name", HOOKS)
def test_every_hook_is_documented_and_empty(name: str) -> None:
    function = getattr(_spec, name)
    (definition,) = ast.parse(inspect.getsource(function)).body
    assert isinstance(definition, ast.FunctionDef)
    assert len(definition.body) == 1, "a hook specification is a docstring and nothing else"
    text = ast.get_docstring(definition)
    assert text
    for parameter in inspect.signature(function).parameters:
        assert f"\n{parameter}:\n" in text, f"{name} does not say what {parameter!r} is"
    if "None" not in str(inspect.signature(function).return_annotation):
        assert "Returns\n-------" in text


def test_every_documented_function_is_a_hook() -> None:
    functions = {
        name for name, value in vars(_spec).items() if inspect.isfunction(value) and name.startswith("drynpu_")
    }
    assert functions == set(HOOKS)
    assert all(hasattr(getattr(_spec, name), "drynpu_spec") for name in HOOKS)


def test_the_marker_belongs_to_the_same_project() -> None:
    assert hookimpl.project_name == "drynpu"
