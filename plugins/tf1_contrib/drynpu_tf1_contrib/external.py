"""``tf.contrib.opt.ScipyOptimizerInterface``: SciPy minimizes what a graph computes."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from drynpu_tf.foreign import Fetches, Session, Tensor, Variable

_Vector = np.ndarray[Any, np.dtype[np.float64]]


class ScipyOptimizerInterface:
    """
    Minimize a loss by ``scipy.optimize.minimize``, which sees all variables as one vector of float64.

    Parameters
    ----------
    loss:
        A scalar.
    var_list:
        The variables that change; all trainable ones if not given.
    equalities, inequalities:
        Tensors to be 0, or not negative; a method with constraints (SLSQP) is chosen then.
    var_to_bounds:
        By variable: the lower and the upper bound, which broadcast to its shape.
    optimizer_kwargs:
        Arguments of ``scipy.optimize.minimize``: ``method`` (L-BFGS-B), ``options`` ...

    Raises
    ------
    ModuleNotFoundError
        SciPy is not installed; the script has to bring it.
    """

    def __init__(
        self,
        loss: Tensor,
        var_list: Sequence[Variable] | None = None,
        equalities: Sequence[Tensor] | None = None,
        inequalities: Sequence[Tensor] | None = None,
        var_to_bounds: Mapping[Any, tuple[Any, Any]] | None = None,
        **optimizer_kwargs: Any,
    ) -> None:
        self._scipy = importlib.import_module("scipy.optimize")
        self._variables = list(tf.trainable_variables() if var_list is None else var_list)
        self._constraints = [("eq", each) for each in equalities or ()] + [
            ("ineq", each) for each in inequalities or ()
        ]
        self._results = [(value, self._gradient(value)) for value in (loss, *(each for _, each in self._constraints))]
        self._feeds = [tf.placeholder(variable.dtype.base_dtype, variable.shape) for variable in self._variables]
        self._update = tf.group(
            *(tf.assign(variable, feed) for variable, feed in zip(self._variables, self._feeds, strict=True))
        )
        self._sizes = [int(np.prod(variable.shape.as_list())) for variable in self._variables]
        self._bounds = self._packed_bounds(var_to_bounds)
        method = "SLSQP" if self._constraints else "L-BFGS-B"
        self._keywords = {"method": method, **optimizer_kwargs}

    def _gradient(self, value: object) -> Any:
        gradients = tf.gradients(value, self._variables)
        return tf.concat(
            [
                tf.reshape(tf.zeros_like(variable) if gradient is None else tf.convert_to_tensor(gradient), [-1])
                for gradient, variable in zip(gradients, self._variables, strict=True)
            ],
            0,
        )

    def _packed_bounds(self, bounds: Mapping[Any, tuple[Any, Any]] | None) -> list[tuple[float, float]] | None:
        if bounds is None:
            return None
        by_variable = {id(variable): pair for variable, pair in bounds.items()}
        packed: list[tuple[float, float]] = []
        for variable in self._variables:
            pair = by_variable.get(id(variable), (-np.inf, np.inf))
            lower, upper = (np.broadcast_to(each, variable.shape.as_list()).ravel() for each in pair)
            packed += zip(lower.tolist(), upper.tolist(), strict=True)
        return packed

    def minimize(
        self,
        session: Session = None,
        feed_dict: Mapping[Any, Any] | None = None,
        fetches: Sequence[Fetches] | None = None,
        step_callback: Callable[[_Vector], Any] | None = None,
        loss_callback: Callable[..., Any] | None = None,
        **run_kwargs: object,
    ) -> None:
        """
        Change the variables until SciPy is done.

        Parameters
        ----------
        session, feed_dict:
            Where and with what the loss runs; the default session if none is given.
        fetches, loss_callback:
            The values of *fetches* are given to *loss_callback* whenever the loss is computed.
        step_callback:
            Called with the vector after each step.
        run_kwargs:
            Of ``session.run``.
        """
        session = session or tf.get_default_session()
        shown = list(fetches or ())

        def run(vector: _Vector, tensors: Sequence[Tensor]) -> Any:
            self._put(session, vector)
            return session.run(list(tensors), feed_dict, **run_kwargs)

        def value_and_gradient(vector: _Vector) -> tuple[float, _Vector]:
            value, gradient, *rest = run(vector, [*self._results[0], *shown])
            if loss_callback is not None:
                loss_callback(*rest)
            return float(value), gradient.astype(np.float64)

        constraints = [
            {
                "type": kind,
                "fun": lambda vector, value=value: run(vector, [value])[0],
                "jac": lambda vector, gradient=gradient: run(vector, [gradient])[0],
            }
            for (kind, _), (value, gradient) in zip(self._constraints, self._results[1:], strict=True)
        ]
        start = np.concatenate([np.ravel(value) for value in session.run(self._variables)]).astype(np.float64)
        minimum = self._scipy.minimize(
            value_and_gradient,
            start,
            jac=True,
            callback=step_callback,
            bounds=self._bounds,
            constraints=constraints,
            **self._keywords,
        )
        tf.logging.info("Optimization terminated with: %s (%d evaluations)", minimum.message, minimum.nfev)
        self._put(session, minimum.x)

    def _put(self, session: Session, vector: _Vector) -> None:
        """Give the variables the values of a vector."""
        parts = np.split(vector, np.cumsum(self._sizes)[:-1])
        feed = {place: part.reshape(place.shape.as_list()) for place, part in zip(self._feeds, parts, strict=True)}
        session.run(self._update, feed)
