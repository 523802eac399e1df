"""Run every call of docs/lists/mindspore-ops-calls.yaml: ``drynpu run run_ops_calls.py CALLS.yaml OUT.pickle``."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import Any

import mindspore as ms
import mindspore.mint.nn.functional as F
import yaml
from mindspore import mint, nn, ops
from mindspore.experimental import optim
from mindspore.profiler import profile, tensorboard_trace_handler

sys.path.insert(0, str(Path(__file__).parent))
from inputs import inputs, numbers

GRAPH_STEP = 6
"""Of so many cells one is compared in GRAPH mode as well: compiling takes longer than all the rest."""


def first(result: Any) -> Any:
    """Return the first of several results, as an array."""
    result = result[0] if isinstance(result, (tuple, list)) and len(result) else result
    return result.asnumpy() if isinstance(result, ms.Tensor) else result


def value_of(call: str, names: dict[str, Any]) -> Any:
    """Return what a call gives, or the error that ended it."""
    try:
        return first(eval(call, names))
    except Exception as error:  # noqa: BLE001 - the test shows it
        return f"{type(error).__name__}: {error}"


def filled(cell: Any) -> Any:
    """Return a cell whose parameters have the numbers that the formulas know."""
    for place, parameter in enumerate(cell.trainable_params()):
        parameter.set_data(ms.Tensor(numbers(tuple(parameter.shape), place)))
    return cell


def changed(method: Any, start: Any) -> Any:
    """Return a tensor after a method, whatever that returns."""
    tensor = start.copy()
    method(tensor)
    return tensor


def after(optimizer: Any, start: Any, *gradients: Any) -> Any:
    """Return a parameter after a step of an optimizer for each gradient."""
    parameter = ms.Parameter(start.copy(), name="parameter")
    step = optimizer([parameter])
    for gradient in gradients:
        step((gradient.copy(),))
    return parameter


def measured(metric: Any, *batch: Any) -> Any:
    """Return what a metric says after one batch."""
    metric.clear()
    metric.update(*batch)
    return metric.eval()


def trainer(kind: Any, *scale: Any) -> Any:
    """Return a cell that trains a dense layer by gradient descent."""
    network = nn.WithLossCell(filled(nn.Dense(6, 3)), nn.MSELoss())
    return kind(network, nn.SGD(network.trainable_params(), 0.1), *scale)


def exported(cell: Any, *batch: Any) -> Any:
    """Return the graph of a cell, read from the file that it was written into."""
    ms.export(cell, *batch, file_name="exported", file_format="MINDIR")
    return ms.load("exported.mindir")


def second_order(layer: Any, *batch: Any) -> Any:
    """Return the first parameter of a layer after a step of THOR."""
    network = filled(nn.SequentialCell(layer))
    rates, dampings = ms.Tensor([0.1, 0.1]), ms.Tensor([0.03, 0.03])
    optimizer = nn.thor(network, rates, dampings, 0.9, batch_size=len(batch[0]), frequency=2)
    return trained(nn.TrainOneStepCell(nn.WithLossCell(network, nn.MSELoss()), optimizer), *batch)


def trained(cell: Any, *batch: Any) -> Any:
    """Return the first parameter after a step of training."""
    cell.set_train()(*batch)
    return cell.trainable_params()[0]


def main(calls: str, out: str) -> None:
    ms.set_context(mode=ms.PYNATIVE_MODE, device_target="Ascend")
    values = {name: ms.Tensor(array) for name, array in inputs().items()}
    names = {"ms": ms, "mint": mint, "nn": nn, "ops": ops, "F": F, "optim": optim, **values}
    names |= {
        "filled": filled,
        "after": after,
        "changed": changed,
        "exported": exported,
        "measured": measured,
        "second_order": second_order,
        "trained": trained,
        "trainer": trainer,
    }
    families = yaml.safe_load(Path(calls).read_text())
    found: dict[str, Any] = {}
    with profile(on_trace_ready=tensorboard_trace_handler("profiled")):
        for call in (call for name, family in families.items() if name != "graphs" for call in family):
            found[call] = value_of(call, names)
    ms.set_context(mode=ms.GRAPH_MODE)
    for call in [*[*families["cells"], *families["networks"]][::GRAPH_STEP], *families["further_cells"]]:
        found[f"GRAPH {call}"] = value_of(call, names)
    found |= {call: value_of(call, names) for call in families["graphs"]}
    Path(out).write_bytes(pickle.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
