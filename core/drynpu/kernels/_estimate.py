"""What the model says about one kernel, and how sure it is."""

from __future__ import annotations

from attrs import frozen

from drynpu.kernels._account import KernelCost
from drynpu.kernels._cost import cost
from drynpu.kernels._families import family_of
from drynpu.kernels._tuning import Tuning
from drynpu.kernels._types import KernelSpec
from drynpu.platforms import Chip


@frozen
class Estimate:
    """
    A predicted duration in us with the interval that holds 80 % of such kernels.

    ``bound`` is what the duration is spent on most: ``launch``, or a pipe (``cube``, ``vector``, ``read``, ``write``,
    ``feed``); ``support`` is the measurement behind it: ``seen`` (kernels of the type), ``family``, or ``physics``.
    """

    us: float
    low_us: float
    high_us: float
    bound: str
    family: str
    support: str


def estimate(spec: KernelSpec, chip: Chip, tuning: Tuning | None = None) -> Estimate:
    """Return the prediction for *spec* on *chip*; its duration comes from :func:`cost`."""
    tuning = tuning or Tuning()
    account = cost(spec, chip, tuning)
    us = account.duration_ns / 1000
    low, high = tuning.calibration.interval(spec.op_type, chip.generation, us)
    support = tuning.calibration.support(spec.op_type, chip.generation)
    return Estimate(us, us * low, us * high, _bound(account), family_of(spec.op_type).name, support)


def _bound(account: KernelCost) -> str:
    cube, vector = account.cube, account.vector
    busy = {
        "cube": cube.mac_ns,
        "vector": vector.vec_ns,
        "read": max(cube.mte2_ns, vector.mte2_ns),
        "write": max(cube.fixpipe_ns, vector.mte3_ns),
        "feed": cube.mte1_ns,
    }
    name = max(busy, key=lambda one: busy[one])
    return name if busy[name] > account.duration_ns / 2 else "launch"
