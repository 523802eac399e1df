"""``examples/third_party_adapter``, installed beside ours, proves that plugins need nothing but the public API."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from drynpu.plugins import ALWAYS_LOADED

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "third_party_adapter"


@pytest.fixture(scope="module")
def environment(shared_environment: Any, wheel: Path, dependencies: Path) -> Any:
    shared_environment.link_dependencies(dependencies)
    shared_environment.install(wheel)
    shared_environment.install(EXAMPLE)
    return shared_environment


def test_it_uses_only_public_names() -> None:
    for path in (EXAMPLE / "drynpu_acme").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("drynpu."):
                assert not any(part.startswith("_") for part in f"{node.module}.{node.names[0].name}".split("."))


def test_it_is_found_without_being_imported(environment: Any) -> None:
    code = """
import sys
from drynpu.plugins import build_manager
plugins = build_manager()
print(plugins.names, plugins.loaded, plugins.place("acme"), "drynpu_acme" in sys.modules)
"""
    bundled = sorted(path.name for path in (ROOT / "plugins").iterdir() if path.is_dir())
    assert environment.say(code) == (
        f"{(*ALWAYS_LOADED, *bundled, 'acme')} () drynpu.adapters: acme = drynpu_acme.plugin (drynpu-acme) False"
    )


def test_its_chip_can_be_chosen(environment: Any) -> None:
    code = """
from drynpu.platforms import load_chip
from drynpu.plugins import build_manager
chip = load_chip("acmehalf910b2", extra_files=build_manager().chip_files())
print(chip.name, chip.cube_cores, chip.split)
"""
    assert environment.say(code) == "AcmeHalf910B2 12 True"


def test_its_rule_makes_a_kernel(environment: Any) -> None:
    code = """
from drynpu.kernels import Signature, TensorDesc
from drynpu.plugins import build_manager
rule = build_manager(["acme"]).kernel_rules("torch")["acme::gated_silu"]
half = TensorDesc((4, 128), "FLOAT16")
plan = rule(Signature("acme::gated_silu", (half, half)))
(kernel,) = plan.kernels
print(plan.api, kernel.op_type, kernel.task_type.value, kernel.bytes_read, kernel.bytes_written, kernel.vector_ops)
print(rule(Signature("acme::gated_silu", (half, None))))
"""
    assert environment.say(code).splitlines() == [
        "aclnnAcmeGatedSilu GatedSilu AI_VECTOR_CORE 2048 1024 3072",
        "None",
    ]


def test_its_rule_stands_beside_the_bundled_ones(environment: Any) -> None:
    code = """
from drynpu.plugins import build_manager
rules = build_manager().kernel_rules("torch")
print("acme::gated_silu" in rules, "aten::addmm" in rules)
"""
    assert environment.say(code) == "True True"


def test_its_verb_is_on_the_command_line_until_it_is_switched_off(environment: Any) -> None:
    done = environment.run("-m", "drynpu", "acme-rules")
    assert "acme::gated_silu" in done.stdout.split()
    done = environment.run("-m", "drynpu", "acme-rules", check=False, DRYNPU_PLUGINS="-acme")
    assert done.returncode == 2
    assert "No such command 'acme-rules'. It is a verb of the plugin 'acme', which DRYNPU_PLUGINS" in done.stderr
