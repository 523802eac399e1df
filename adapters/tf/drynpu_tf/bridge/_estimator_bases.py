"""
The classes of ``tf.estimator`` that the vendor's classes derive from, or a stand-in that says where they are.

TensorFlow 2.16 took Estimator out. Everything else of ``npu_bridge`` works without it.
"""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v2 as tf

__all__ = ["EstimatorBase", "EstimatorSpecBase", "RunConfigBase", "estimator_is_there", "need_estimator"]


def need_estimator(name: str) -> None:
    """
    Refuse to make a *name* where TensorFlow has no Estimator.

    Raises
    ------
    ImportError
        It says which version has one.
    """
    if not estimator_is_there:
        raise ImportError(
            f"{name} needs tf.estimator, which TensorFlow {tf.__version__} does not have: it was removed in 2.16. "
            "The last version with it is 2.15: pip install 'tensorflow-cpu>=2.15,<2.16'"
        )


class _Missing:
    """Base of the vendor's classes where there is no Estimator."""

    def __new__(cls, *args: object, **kwargs: object) -> Any:
        need_estimator(cls.__name__)
        return super().__new__(cls)


RunConfigBase: type = _Missing
EstimatorBase: type = _Missing
EstimatorSpecBase: type = _Missing
try:
    from tensorflow_estimator.python.estimator.estimator import Estimator as EstimatorBase  # type: ignore[no-redef]
    from tensorflow_estimator.python.estimator.model_fn import (  # type: ignore[no-redef]
        EstimatorSpec as EstimatorSpecBase,
    )
    from tensorflow_estimator.python.estimator.run_config import (  # type: ignore[no-redef]
        RunConfig as RunConfigBase,
    )
except ImportError:
    estimator_is_there = False
else:
    estimator_is_there = True
