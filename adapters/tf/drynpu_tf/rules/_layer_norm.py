"""
Layer norms that scripts write as moments and a scaling (tf.nn.moments, tf.nn.batch_normalization): one kernel.

The pattern is Mean, SquaredDifference, Mean, Add of a constant, Rsqrt, then the scale, the shift and the sum of both.
It is fused where nobody else takes anything in between: a gradient does, so graphs that train keep their operators.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from attrs import frozen

from drynpu.kernels import TensorDesc, node_signature
from drynpu.kernels.ops import GraphOperator, Place, takers_of
from drynpu.kernels.ops.gelu import ADDITIONS

# What the engine's passes make of the pattern; for chips with cores apart the kernel that genuine tables show (4.1).
_UNIFIED, _SPLIT = "LayerNorm", "LayerNormV3"


def fuse_layer_norms(operators: Sequence[GraphOperator], known: Collection[str], *, split: bool) -> list[GraphOperator]:
    """
    Return the operators with one for each layer norm, where the last of its operators stood.

    Parameters
    ----------
    operators:
        With those outside of the engine, since what they take is not fused away.
    known:
        Operators whose results are constants.
    split:
        Whether cube and vector cores are apart.
    """
    makers = {place: op for op in operators for place in op.outputs}
    graph = _Graph(makers, takers_of(operators), known)
    norms = {id(op): norm for op in operators if (norm := graph.find(op)) is not None}
    gone = {id(part) for norm in norms.values() for part in norm.parts}
    kind = _SPLIT if split else _UNIFIED
    kept = (op for op in operators if id(op) in norms or id(op) not in gone)
    return [norms[id(op)].joined(kind) if id(op) in norms else op for op in kept]


@frozen
class _Norm:
    """A layer norm: its tensors, and its operators with the sum last; the means are the first and the third."""

    inputs: tuple[tuple[Place, TensorDesc], ...]
    parts: tuple[GraphOperator, ...]

    def joined(self, kind: str) -> GraphOperator:
        """Return the operator of type *kind* that does the work of all of them, named as the last one."""
        mean, _, variance, *_, last = self.parts
        makers = (last, mean, variance)
        places, tensors = zip(*self.inputs, strict=True)
        results = [op.call.output() for op in makers]
        return GraphOperator(
            places,
            tuple(op.outputs[0] for op in makers),
            node_signature(kind, tensors, results, {}, node=last.name),
            tuple(sorted(number for op in self.parts for number in op.members)),
        )


@frozen
class _Graph:
    """The operators around one another."""

    makers: Mapping[Place, GraphOperator]
    takers: Mapping[Place, Sequence[GraphOperator]]
    known: Collection[str]

    def find(self, last: GraphOperator) -> _Norm | None:
        """Return the layer norm that ends at *last*."""
        for scaled, shifted in self._pairs(last, *ADDITIONS):
            shift = self._maker(shifted, "Sub")
            if shift is None:
                continue
            moved = self._maker(shift.inputs[1], "Mul")
            scale = self._maker(scaled, "Mul")
            if moved is None or scale is None:
                continue
            for x, factor in self._pairs(scale, "Mul"):
                norm = self._statistics(x, factor, moved, (scale, shift, last), shift.inputs[0])
                if norm is not None:
                    return norm
        return None

    def _statistics(
        self, x: Place, factor: Place, moved: GraphOperator, behind: tuple[GraphOperator, ...], offset: Place
    ) -> _Norm | None:
        """Return the layer norm of *x* whose *factor* scales x and, in *moved*, the mean."""
        product = self._maker(factor, "Mul")
        means = [place for place, other in self._pairs(moved, "Mul") if other == factor]
        mean = self._maker(means[0], "Mean") if means else None
        if product is None or mean is None or mean.inputs[0] != x:
            return None
        for root, gamma in self._pairs(product, "Mul"):
            inverse = self._maker(root, "Rsqrt")
            total = self._maker(inverse.inputs[0], *ADDITIONS) if inverse is not None else None
            for spread, epsilon in self._pairs(total, *ADDITIONS):
                variance = self._maker(spread, "Mean")
                square = self._maker(variance.inputs[0], "SquaredDifference") if variance is not None else None
                if square is None or set(square.inputs) != {x, mean.outputs[0]} or epsilon[0] not in self.known:
                    continue
                parts = (mean, square, variance, total, inverse, product, moved, *behind)
                return self._norm(tuple(p for p in parts if p is not None), (x, gamma, offset))
        return None

    def _norm(self, parts: tuple[GraphOperator, ...], places: tuple[Place, Place, Place]) -> _Norm | None:
        """Return the layer norm of these operators if shapes and readers fit one."""
        mean, variance, last = parts[0], parts[2], parts[-1]
        tensors = [self._tensor(place, parts) for place in places]
        statistic, spread = mean.call.output(), variance.call.output()
        x, gamma, beta = tensors
        if x is None or gamma is None or beta is None or statistic is None or spread != statistic:
            return None
        dims = len(gamma.shape)
        rows = x.shape[: len(x.shape) - dims]
        whole = gamma.shape == beta.shape == x.shape[len(rows) :] and statistic.shape == (*rows, *(1,) * dims)
        inner = {id(part) for part in parts}
        leaks = any(
            id(taker) not in inner
            for part in parts[:-1]
            for place in part.outputs
            for taker in self.takers.get(place, ())
        )
        if not dims or not whole or leaks or last.name in self.known:
            return None
        return _Norm(tuple(zip(places, (x, gamma, beta), strict=True)), parts)

    def _tensor(self, place: Place, parts: Sequence[GraphOperator]) -> TensorDesc | None:
        """Return what an operator among *parts* knows of a tensor that it takes."""
        tensors = (part.call.tensor(i) for part in parts for i, source in enumerate(part.inputs) if source == place)
        return next((tensor for tensor in tensors if tensor is not None), None)

    def _maker(self, place: Place, *kinds: str) -> GraphOperator | None:
        """Return the operator that makes a tensor, if it is one of these."""
        maker = self.makers.get(place)
        return maker if maker is not None and maker.op_type in kinds else None

    @staticmethod
    def _pairs(operator: GraphOperator | None, *kinds: str) -> tuple[tuple[Place, Place], ...]:
        """Return both orders of the two inputs of an operator of these types, which may be swapped."""
        if operator is None or operator.op_type not in kinds or len(operator.inputs) < 2:
            return ()
        first, second = operator.inputs[:2]
        return (first, second), (second, first)
