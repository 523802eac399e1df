"""Random numbers, drawn from MindSpore's seed and offset, so that a seed that a script sets repeats them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from drynpu_mindspore_kernels.compositions._arguments import Numbers


def _generator(seed: Any, offset: Any) -> np.random.Generator:
    """Return a generator for a launch; a device draws other numbers from the same seed."""
    return np.random.default_rng([int(seed) & 0xFFFFFFFF, int(offset) & 0xFFFFFFFF])


def _sizes(shape: Any) -> tuple[int, ...]:
    return tuple(int(size) for size in np.ravel(shape))


def _uniform(shape: Numbers, seed: Any, offset: Any, dtype: Any = None) -> Any:
    del dtype
    return _generator(seed, offset).random(_sizes(shape), np.float32)


def _uniform_like(x: Any, seed: Any, offset: Any, dtype: Any = None) -> Any:
    return _uniform(x.shape, seed, offset, dtype)


def _normal(shape: Numbers, seed: Any, offset: Any, dtype: Any = None) -> Any:
    del dtype
    return _generator(seed, offset).standard_normal(_sizes(shape), np.float32)


def _normal_like(x: Any, seed: Any, offset: Any, dtype: Any = None) -> Any:
    return _normal(x.shape, seed, offset, dtype)


def _integers(low: Any, high: Any, shape: Numbers, seed: Any, offset: Any, dtype: Any = None) -> Any:
    del dtype
    return _generator(seed, offset).integers(int(low), int(high), _sizes(shape))


def _integers_like(x: Any, low: Any, high: Any, seed: Any, offset: Any, dtype: Any = None) -> Any:
    return _integers(low, high, x.shape, seed, offset, dtype)


def _permutation(count: Any, seed: Any, offset: Any, dtype: Any = None) -> Any:
    del dtype
    return _generator(seed, offset).permutation(int(count))


def _gaussian(mean: Any, deviation: Any, seed: Any, offset: Any) -> Any:
    shape = np.broadcast_shapes(np.shape(mean), np.shape(deviation))
    return mean + deviation * _generator(seed, offset).standard_normal(shape, np.float32)


def _gaussian_of_size(mean: Any, deviation: Any, size: Numbers, seed: Any, offset: Any) -> Any:
    return mean + deviation * _normal(size, seed, offset)


def _gaussian_in_place(x: Any, mean: Any, deviation: Any, seed: Any, offset: Any) -> Any:
    return _gaussian_of_size(mean, deviation, x.shape, seed, offset)


def _uniform_in_place(x: Any, low: Any, high: Any, seed: Any, offset: Any) -> Any:
    return low + (high - low) * _uniform(x.shape, seed, offset)


_ALL_INTEGERS = 1 << 24
"""Whole numbers below this are exact in float32, in which random_ draws where it has no upper limit."""


def _integers_in_place(x: Any, low: Any = 0, high: Any = None, seed: Any = 0, offset: Any = 0) -> Any:
    return _integers(low, _ALL_INTEGERS if high is None else high, x.shape, seed, offset)


def _bernoulli(x: Any, seed: Any, offset: Any) -> Any:
    return _generator(seed, offset).random(x.shape) < x


def _bernoulli_in_place(x: Any, share: Any, seed: Any, offset: Any) -> Any:
    return _generator(seed, offset).random(x.shape) < share


def _multinomial(x: Any, samples: Any, replacement: Any, seed: Any, offset: Any) -> Any:
    generator = _generator(seed, offset)
    rows = [
        generator.choice(
            x.shape[-1], int(samples), bool(replacement), row.astype(np.float64) / row.sum(dtype=np.float64)
        )
        for row in x.reshape(-1, x.shape[-1])
    ]
    return np.array(rows)


def _dropout(x: Any, share: Any, seed: Any, offset: Any) -> Any:
    mask = _kept(x.shape, share, seed, offset)
    return _masked(x, mask, share), _bits(mask)


def _kept(shape: Any, share: Any, seed: Any, offset: Any) -> Any:
    return _generator(seed, offset).random(_sizes(shape)) >= share


def _bits(mask: Any) -> Any:
    """Return the mask of a device: a bit for each element, in whole pieces of 128 bits."""
    bits = np.packbits(mask.ravel(), bitorder="little")
    return np.pad(bits, (0, -len(bits) % 16))


def kept_bits(count: int, share: Any, seed: Any, offset: Any) -> Any:
    """Return the mask of :func:`_bits` of so many elements, of which a *share* is dropped."""
    return _bits(_kept(np.array([count]), share, seed, offset))


def _masked(x: Any, mask: Any, share: Any) -> Any:
    kept = 1 - float(share)
    return np.where(mask, x / kept, 0) if kept else np.zeros_like(x)


def _draw_mask(shape: Numbers, share: Any, seed: Any, offset: Any, dtype: Any = None) -> Any:
    del dtype
    return _bits(_kept(shape, share, seed, offset))


def _apply_mask(x: Any, bits: Any, share: Any) -> Any:
    mask = np.unpackbits(bits.view(np.uint8).ravel(), count=x.size, bitorder="little").reshape(x.shape)
    return _masked(x, mask, share)


def _first_permutation(count: Any, *, max_length: int = 1, pad: int = -1) -> Any:
    """Return numbers below *count* in any order, and padding behind them."""
    total = int(np.ravel(count)[0])
    return np.concatenate([np.random.default_rng().permutation(total), np.full(max_length - total, pad)])


def _gamma(shape: Numbers, alpha: Any, beta: Any, *, seed: int = 0, seed2: int = 0) -> Any:
    """Return numbers of a shape and an inverse scale; two seeds of 0 stand for none."""
    generator = _generator(seed, seed2) if seed or seed2 else np.random.default_rng()
    sizes = np.broadcast_shapes(_sizes(shape), np.shape(alpha), np.shape(beta))
    return generator.standard_gamma(np.broadcast_to(alpha, sizes)) / beta


RANDOM: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "Gamma": _gamma,
        "Randperm": _first_permutation,
        "RandExt": _uniform,
        "RandLikeExt": _uniform_like,
        "Randn": _normal,
        "RandnLike": _normal_like,
        "RandInt": _integers,
        "RandIntLike": _integers_like,
        "RandpermExt": _permutation,
        "NormalTensorTensor": _gaussian,
        "NormalTensorFloat": _gaussian,
        "NormalFloatTensor": _gaussian,
        "NormalFloatFloat": _gaussian_of_size,
        "UniformExt": _uniform_in_place,
        "BernoulliExt": _bernoulli,
        "MultinomialExt": _multinomial,
        "DropoutExt": _dropout,
        "DropoutGenMaskExt": _draw_mask,
        "DropoutDoMaskExt": _apply_mask,
        "DropoutGradExt": _apply_mask,
        "InplaceNormal": _gaussian_in_place,
        "InplaceUniform": _uniform_in_place,
        "InplaceRandom": _integers_in_place,
        "InplaceBernoulliScalar": _bernoulli_in_place,
        "InplaceBernoulliTensor": _bernoulli_in_place,
    }
)
"""By primitive, as MindSpore's documentation of the primitive or of its function defines it."""
