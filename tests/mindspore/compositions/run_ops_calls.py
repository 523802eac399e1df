"""Run under ``drynpu run``: every call of docs/mindspore-ops-calls.yaml; ``run_ops_calls.py CALLS.yaml OUT.pickle``."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import Any

import mindspore as ms
import mindspore.mint.nn.functional as F
import yaml
from mindspore import mint, ops
from mindspore.profiler import profile, tensorboard_trace_handler

sys.path.insert(0, str(Path(__file__).parent))
from inputs import inputs


def first(result: Any) -> Any:
    """Return the first of several results, as an array."""
    result = result[0] if isinstance(result, (tuple, list)) and len(result) else result
    return result.asnumpy() if isinstance(result, ms.Tensor) else result


def main(calls: str, out: str) -> None:
    ms.set_context(mode=ms.PYNATIVE_MODE, device_target="Ascend")
    values = {name: ms.Tensor(array) for name, array in inputs().items()}
    names = {"ms": ms, "mint": mint, "ops": ops, "F": F, **values}
    found: dict[str, Any] = {}
    with profile(on_trace_ready=tensorboard_trace_handler("profiled")):
        for call in (call for family in yaml.safe_load(Path(calls).read_text()).values() for call in family):
            try:
                found[call] = first(eval(call, names))
            except Exception as error:  # noqa: BLE001 - the test shows it
                found[call] = f"{type(error).__name__}: {error}"
    Path(out).write_bytes(pickle.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
