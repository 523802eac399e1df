"""
Names for TensorFlow's objects in annotations.

TensorFlow has no types, so a type checker takes every name here for Any. The name tells a reader what is meant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

Tensor: TypeAlias = Any
"""A tensor, of a graph or with values."""
TensorLike: TypeAlias = Any
"""What TensorFlow makes a tensor of: a tensor, a variable, an array, a number."""
Variable: TypeAlias = Any
DType: TypeAlias = Any
Shape: TypeAlias = Any
"""A shape, or what TensorFlow makes one of: a tensor, a sequence of numbers."""
GradientPair: TypeAlias = tuple[Tensor, Variable]
"""A gradient and its variable."""
Initializer: TypeAlias = Any
Dataset: TypeAlias = Any

WithGradient: TypeAlias = tuple[Any, Callable[..., Any]]
"""What a function of ``tf.custom_gradient`` returns: results, and the function that computes their gradients."""

Graph: TypeAlias = Any
Operation: TypeAlias = Any
NodeDef: TypeAlias = Any
"""A node in a serialized graph."""
GraphDef: TypeAlias = Any
NodeStats: TypeAlias = Any
"""What TensorFlow says of a node that ran."""

Session: TypeAlias = Any
Fetches: TypeAlias = Any
"""What a session can run: operations, tensors, their names, and collections of them."""
Feeds: TypeAlias = Any
"""Values by tensor or name."""
ConfigProto: TypeAlias = Any
RunOptions: TypeAlias = Any
RunMetadata: TypeAlias = Any
CallableOptions: TypeAlias = Any
RunContext: TypeAlias = Any
RunValues: TypeAlias = Any

Optimizer: TypeAlias = Any
Cell: TypeAlias = Any
"""A cell of a recurrent network."""
State: TypeAlias = Any
"""The state of a cell: a tensor, or tuples of them."""
Scope: TypeAlias = Any
"""A variable scope or its name."""
EstimatorSpec: TypeAlias = Any
Hook: TypeAlias = Any
"""A hook on the runs of a session."""
Scaffold: TypeAlias = Any
Strategy: TypeAlias = Any
"""A strategy of distribution."""
Coordinator: TypeAlias = Any
Private: TypeAlias = Any
"""A module, class or function that TensorFlow has for itself."""
