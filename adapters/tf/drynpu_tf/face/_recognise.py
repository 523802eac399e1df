"""Recognise from its text alone a script that was written for TensorFlow 1."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from drynpu_tf.face._moved import is_former

CONTRIB = "tensorflow.contrib"
"""What the plugin ``tf1_contrib`` serves."""
_FACADE = "npu_bridge"
_STAR = "npu_bridge.npu_init"
"""``from npu_bridge.npu_init import *`` brings ``tf``."""

_V1 = "tensorflow.compat.v1"
_ENDS_EAGER = ("disable_v2_behavior", "disable_eager_execution")

_TEXT = """
AUTO_REUSE ConfigProto Dimension FixedLenFeature GPUOptions GraphKeys InteractiveSession OptimizerOptions RunMetadata
RunOptions Session add_to_collection all_variables app assign assign_add assign_sub batch_gather container contrib
get_collection get_default_graph get_default_session get_local_variable get_variable get_variable_scope gfile
global_variables global_variables_initializer initialize_all_variables is_nan layers local_variables
local_variables_initializer log logging matrix_inverse moving_average_variables multinomial parse_example
parse_single_example placeholder placeholder_with_default py_func python_io random_crop random_normal random_shuffle
random_uniform read_file report_uninitialized_variables reset_default_graph rsqrt set_random_seed sparse_placeholder
sparse_tensor_to_dense string_to_number tables_initializer to_float to_int32 to_int64 trainable_variables
truncated_normal truncated_normal_initializer variable_op_scope variable_scope variables_initializer
"""
_NAMES = frozenset(_TEXT.split())
"""Top-level names of TensorFlow 1.15 that TensorFlow 2 does not have, as scripts use them."""


def only_in_v1(source: str) -> tuple[str, ...]:
    """
    Return the names (``tf.Session``) by which a script shows that it was written for TensorFlow 1, sorted.

    An import of ``tensorflow.contrib`` shows it as well, unless the script is prepared for its failure, and so does a
    private name that stands elsewhere today (``tensorflow.python.framework.ops.IndexedSlices``).

    Empty for a script that does not import npu_bridge, that has no such name, or that Python cannot read. A script that
    imports ``tensorflow.compat.v1`` needs nothing and has none, unless npu_bridge, which ends eager execution as
    TensorFlow 1 has none, is imported on a condition alone: what comes before it would be eager.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return ()
    if not any(module.partition(".")[0] == _FACADE for module in _imported(tree)):
        return ()
    aliases = set(_aliases(tree))
    names = {
        f"{node.value.id}.{node.attr}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        if node.value.id in aliases and node.attr in _NAMES
    }
    return tuple(sorted(names | {*_contrib_imports(tree), *_private_imports(tree), *_eager_v1(tree)}))


def _private_imports(tree: ast.AST) -> Iterator[str]:
    """Yield the private names that a script imports from where they stood in TensorFlow 1."""
    yield from (name for name in _imported(tree) if name.startswith("tensorflow.python.") and is_former(name))


def _eager_v1(tree: ast.Module) -> Iterator[str]:
    """Yield ``tensorflow.compat.v1`` where nothing that surely runs ends eager execution."""
    first = {module.partition(".")[0] for statement in tree.body for module in _imported_here(statement)}
    ended = any(isinstance(node, ast.Attribute) and node.attr in _ENDS_EAGER for node in ast.walk(tree))
    if _FACADE not in first and not ended:
        yield from (module for module in _imported(tree) if module == _V1)


def _contrib_imports(tree: ast.AST) -> Iterator[str]:
    """Yield ``tensorflow.contrib`` for imports of it that no ``try`` surrounds."""
    todo = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Try):
            continue
        todo += ast.iter_child_nodes(node)
        if any(f"{module}.".startswith(f"{CONTRIB}.") for module in _imported_here(node)):
            yield CONTRIB


def _imported(tree: ast.AST) -> Iterator[str]:
    """Yield the modules that a script imports."""
    for node in ast.walk(tree):
        yield from _imported_here(node)


def _imported_here(node: ast.AST) -> Iterator[str]:
    """Yield the modules that one statement imports, and for a package what may be a module of it."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.level == 0:
        yield node.module or ""
        yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _aliases(tree: ast.AST) -> Iterator[str]:
    """Yield the names that the script gives to TensorFlow, but for one that it gives to ``tensorflow.compat.v1``."""
    v1 = {
        alias.asname
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name == _V1
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.asname or alias.name for alias in node.names if alias.name == "tensorflow")
        elif isinstance(node, ast.ImportFrom) and node.module == _STAR and "tf" not in v1:
            yield from ("tf" for alias in node.names if alias.name == "*")
