"""
What scripts import from ``npu_bridge``: configurations, Estimator, optimizers, operators, helpers (tf_adapters.md 1).

Everything here writes or reads ``ConfigProto.graph_options.rewrite_options.custom_optimizers["NpuOptimizer"]`` and
builds TensorFlow objects; what a session does with the options is the business of ``drynpu_tf.sessions``. Each module
holds one of the vendor's subjects and is imported on its own, so that ``import npu_bridge`` stays as cheap as it can.
"""

from __future__ import annotations
