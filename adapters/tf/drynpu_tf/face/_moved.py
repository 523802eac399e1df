"""
Names of the releases that scripts for Ascend were written for, and where they stand today.

Scripts import from ``tensorflow.python`` and from ``keras`` what is no public name: of TensorFlow 1.15 with
``npu_bridge``, of 2.6 with ``npu_device``. Below are the names that model scripts for Ascend use (counted in the
public ModelZoo-TensorFlow) and that have the same function today.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import MappingProxyType, ModuleType

# N27, docs/tricks.md
_NAMES: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "framework.graph_util": {
            "convert_variables_to_constants": "framework.convert_to_constants",
            "extract_sub_graph": "framework.graph_util_impl",
            "must_run_on_cpu": "framework.graph_util_impl",
            "remove_training_nodes": "framework.graph_util_impl",
            "tensor_shape_from_node_def_name": "framework.graph_util_impl",
        },
        "framework.ops": {
            "IndexedSlices": "framework.indexed_slices",
            "Tensor": "framework.tensor",
            "convert_to_tensor_v2": "framework.tensor_conversion",
            "convert_to_tensor_v2_with_dispatch": "framework.tensor_conversion",
            "register_tensor_conversion_function": "framework.tensor_conversion_registry",
        },
        "ops.array_ops": dict.fromkeys(("parallel_stack", "stack", "unstack"), "ops.array_ops_stack"),
        "ops.control_flow_ops": {
            "Assert": "ops.control_flow_assert",
            "case": "ops.control_flow_case",
            "cond": "ops.cond",
            "while_loop": "ops.while_loop",
        },
        "ops.gradients_impl": {
            "_AggregateIndexedSlicesGradients": "eager.backprop_util.AggregateIndexedSlicesGradients"
        },
        "ops.variable_scope": {"variable": "ops.variable_v1.VariableV1"},
        "pywrap_tensorflow": {"NewCheckpointReader": "training.py_checkpoint_reader"},
        "util.nest": {"is_sequence": "util.nest.is_nested"},
    }
)
"""By module of ``tensorflow.python``: the name that it had, and the module of today or the name there, if another."""

_MODULES: Mapping[str, str] = MappingProxyType(
    {
        "keras.backend_config": "keras.src.backend_config",
        "keras.engine": "keras.src.engine",
        "keras.engine.base_layer": "keras.src.engine.base_layer",
        "keras.engine.base_layer_utils": "keras.src.engine.base_layer_utils",
        "keras.layers.core": "keras.src.layers",
        "keras.optimizer_v2": "keras.src.optimizers.legacy",
        "keras.optimizer_v2.gradient_descent": "keras.src.optimizers.legacy.gradient_descent",
        "keras.optimizer_v2.optimizer_v2": "keras.src.optimizers.legacy.optimizer_v2",
        "keras.utils.control_flow_util": "keras.src.utils.control_flow_util",
        "keras.utils.conv_utils": "keras.src.utils.conv_utils",
        "keras.utils.data_utils": "keras.src.utils.data_utils",
        "keras.utils.losses_utils": "keras.src.utils.losses_utils",
        "keras.utils.metrics_utils": "keras.src.utils.metrics_utils",
        "keras.utils.tf_utils": "keras.src.utils.tf_utils",
        "tensorflow.python.distribute.distribution_strategy_context": "tensorflow.python.distribute.distribute_lib",
        "tensorflow.python.training.distribution_strategy_context": "tensorflow.python.distribute.distribute_lib",
        "tensorflow.python.training.tracking": "tensorflow.python.trackable",
        "tensorflow.python.training.tracking.base": "tensorflow.python.trackable.base",
        "tensorflow.python.training.tracking.tracking": "tensorflow.python.trackable.autotrackable",
    }
)
"""Modules that were, and the one that holds their names today."""


def is_former(name: str) -> bool:
    """Return whether a module, or a name with its module, stood there in the releases that scripts were written for."""
    module, _, last = name.rpartition(".")
    return name in _MODULES or last in _NAMES.get(module.removeprefix("tensorflow.python."), ())


def restore_names() -> None:
    """
    Give TensorFlow and Keras the names again that earlier releases had; what there is stays as it is.

    Modules are made when a script imports them, so that Keras is not imported for one that does not use it.
    """
    for place, names in _NAMES.items():
        module = _module(f"tensorflow.python.{place}")
        for name, source in names.items():
            value = _value(name, source)
            if module is not None and value is not None and not hasattr(module, name):
                setattr(module, name, value)
    _restore_batch_norm()
    if not any(isinstance(finder, _FormerModules) for finder in sys.meta_path):
        # Last, so that it answers only for what nobody else has.
        sys.meta_path.append(_FormerModules())


def _restore_batch_norm() -> None:
    """Give TensorFlow 2.15 its layer of batch normalization, which it looks for in a package that it does not bring."""
    normalization = _module("tensorflow.python.layers.normalization")
    keras = _module("keras.src.legacy_tf_layers.normalization")
    if normalization is not None and keras is not None and _module("tf_keras") is None:
        vars(normalization).update(
            BatchNorm=keras.BatchNormalization,
            BatchNormalization=keras.BatchNormalization,
            batch_norm=keras.batch_normalization,
            batch_normalization=keras.batch_normalization,
        )


def _value(name: str, source: str) -> object:
    """Return *name* of the module *source*, or what *source* names in its module."""
    home = _module(f"tensorflow.python.{source}")
    if home is None:
        source, _, name = source.rpartition(".")
        home = _module(f"tensorflow.python.{source}")
    return getattr(home, name, None)


def _module(place: str) -> ModuleType | None:
    try:
        return importlib.import_module(place)
    except ImportError:
        return None


class _FormerModules(MetaPathFinder, Loader):
    """Finds modules of earlier releases: a module under the old name, with what its successor holds."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Answer for the modules of the table whose successor is there."""
        del path, target
        home = _MODULES.get(fullname)
        if home is None or _module(home) is None:
            return None
        return ModuleSpec(fullname, self, is_package=any(name.startswith(f"{fullname}.") for name in _MODULES))

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave making the module to Python."""

    def exec_module(self, module: ModuleType) -> None:
        """Give the module what its successor holds."""
        home = vars(importlib.import_module(_MODULES[module.__name__]))
        vars(module).update({name: value for name, value in home.items() if not name.startswith("__")})
