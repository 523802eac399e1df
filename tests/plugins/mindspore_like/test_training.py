"""``Model``, callbacks and datasets: what is called, in order, and what it is told (mindspore_profiler.md 6)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mindspore_like as ms
from drynpu import OptionError
from mindspore_like import Callback, LossMonitor, Model, RunContext, TimeMonitor
from mindspore_like._callback import CallbackParams, Callbacks
from mindspore_like.dataset import GeneratorDataset

NAMES = [
    f"on_{mode}_{when}"
    for mode in ("train", "eval")
    for when in ("begin", "epoch_begin", "step_begin", "step_end", "epoch_end", "end")
]
DATA = [(1, 2), (3, 4), (5, 6)]


def spy(seen: list[Any], *told: str, name: str = "") -> Callback:
    """A callback that notes what is called with which values."""

    def note(method: str) -> Any:
        def call(self: Callback, run_context: RunContext) -> None:
            params = run_context.original_args()
            seen.append((name + method, *(params.get(each) for each in told)))

        return call

    return type("Spy", (Callback,), {method: note(method) for method in NAMES})()


@pytest.fixture
def graph_mode() -> Any:
    ms.set_context(mode=ms.GRAPH_MODE)
    yield
    ms.set_context(mode=ms.PYNATIVE_MODE, device_target="Ascend")


def test_the_order_of_a_training_and_its_numbers() -> None:
    seen: list[Any] = []

    def step(x: int, y: int) -> int:
        seen.append(("run", x))
        return x + y

    Model(step).train(2, DATA[:2], callbacks=spy(seen, "cur_epoch_num", "cur_step_num", "net_outputs"))
    assert seen == [
        ("on_train_begin", None, 0, None),
        ("on_train_epoch_begin", 1, 0, None),
        ("on_train_step_begin", 1, 1, None),
        ("run", 1),
        ("on_train_step_end", 1, 1, 3),
        ("on_train_step_begin", 1, 2, 3),
        ("run", 3),
        ("on_train_step_end", 1, 2, 7),
        ("on_train_epoch_end", 1, 2, 7),
        ("on_train_epoch_begin", 2, 2, 7),
        ("on_train_step_begin", 2, 3, 7),
        ("run", 1),
        ("on_train_step_end", 2, 3, 3),
        ("on_train_step_begin", 2, 4, 3),
        ("run", 3),
        ("on_train_step_end", 2, 4, 7),
        ("on_train_epoch_end", 2, 4, 7),
        ("on_train_end", 2, 4, 7),
    ]


def test_what_a_training_tells_of_itself() -> None:
    told: dict[str, Any] = {}

    class Look(Callback):
        def on_train_step_begin(self, run_context: RunContext) -> None:
            params: Any = run_context.original_args()
            assert params.cur_step_num == params["cur_step_num"]
            told.update(params)

    look, model = Look(), Model(max)
    model.train(3, DATA, [look], initial_epoch=2)
    assert (told["epoch_num"], told["batch_num"], told["mode"], told["cur_epoch_num"]) == (1, 3, "train", 3)
    assert (told["train_dataset"], told["train_dataset_element"], told["list_callback"]) == (DATA, (5, 6), [look])
    assert (told["network"], told["loss_fn"], told["optimizer"]) == (max, None, None)
    assert (told["parallel_mode"], told["device_number"]) == ("stand_alone", 1)
    assert (told["dataset_sink_mode"], told["last_save_ckpt_step"], told["latest_ckpt_file"]) == (False, None, None)


@pytest.mark.usefixtures("graph_mode")
class TestSinking:
    def steps(self, **options: Any) -> list[Any]:
        seen: list[Any] = []
        ran: list[int] = []
        model = Model(lambda x, _: ran.append(x))
        model.train(2, DATA, spy(seen, "cur_step_num"), dataset_sink_mode=True, **options)
        return [[step for name, step in seen if name == "on_train_step_end"], ran]

    def test_an_epoch_is_one_step_to_callbacks(self) -> None:
        assert self.steps() == [[3, 6], [1, 3, 5, 1, 3, 5]]

    def test_an_epoch_goes_on_where_the_last_one_ended(self) -> None:
        assert self.steps(sink_size=2) == [[2, 4], [1, 3, 5, 1]]

    def test_in_pynative_mode_steps_are_told_one_by_one(self) -> None:
        ms.set_context(mode=ms.PYNATIVE_MODE)
        assert self.steps() == [[1, 2, 3, 4, 5, 6], [1, 3, 5, 1, 3, 5]]

    def test_the_cpu_sinks_nothing(self) -> None:
        ms.set_device("CPU")
        assert self.steps() == [[1, 2, 3, 4, 5, 6], [1, 3, 5, 1, 3, 5]]


def test_old_names_are_called_by_the_new_ones(capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[str] = []
    old = ("begin", "epoch_begin", "step_begin", "step_end", "epoch_end", "end")

    def note(name: str) -> Any:
        return lambda self, run_context: seen.append(name)

    made = type("Old", (Callback,), {name: note(name) for name in old})()
    Model(max).train(1, DATA[:1], made)
    assert seen == list(old)
    assert "For Old callback, {'" in capsys.readouterr().err
    with pytest.raises(ValueError, match="Use methods prefixed with 'on_train' or 'on_eval' instead"):
        Model(max).fit(1, DATA, callbacks=made)


def test_callbacks_run_in_list_order_and_are_left_when_a_step_fails() -> None:
    seen: list[Any] = []

    class Entered(Callback):
        def __enter__(self) -> Callback:
            seen.append("enter")
            return spy(seen, name="inner ")

        def __exit__(self, *error: Any) -> None:
            seen.append(error[0].__name__)

    def fail(*batch: int) -> None:
        raise ArithmeticError

    with pytest.raises(ArithmeticError):
        Model(fail).train(1, DATA, [spy(seen, name="first "), Entered()])
    assert seen[:3] == ["enter", ("first on_train_begin",), ("inner on_train_begin",)]
    assert seen[-1] == "ArithmeticError"


def test_a_callback_ends_the_training() -> None:
    ran: list[int] = []

    class Stop(Callback):
        def on_train_step_end(self, run_context: RunContext) -> None:
            assert not run_context.get_stop_requested()
            run_context.request_stop()

    seen: list[Any] = []
    Model(lambda *batch: ran.append(1)).train(4, DATA, [Stop(), spy(seen)])
    assert len(ran) == 1
    assert [name for (name,) in seen[-2:]] == ["on_train_epoch_end", "on_train_end"]


class Total:
    def clear(self) -> None:
        self.total = 0

    def update(self, *outputs: int) -> None:
        self.total += outputs[0]

    def eval(self) -> int:
        return self.total


def test_an_evaluation_between_epochs_leaves_the_training_its_numbers() -> None:
    seen: list[Any] = []
    told = ("mode", "cur_step_num", "batch_num", "eval_results")
    Model(max, metrics={"total": Total()}).fit(2, DATA, DATA[:2], valid_frequency=2, callbacks=spy(seen, *told))
    names = [each[0] for each in seen]
    assert [each for each in names if "eval" in each].count("on_eval_step_end") == 2
    assert names.index("on_eval_begin") > names.index("on_train_epoch_end"), "after the second epoch"
    assert seen[-1] == ("on_train_end", "train", 6, 3, None)
    assert ("on_eval_end", "eval", 2, 2, {"total": 6}) in seen
    assert seen[-2] == ("on_train_epoch_end", "train", 6, 3, {"total": 6})


def test_an_evaluation_returns_its_metrics() -> None:
    assert Model(max, metrics={"total": Total()}).eval(DATA) == {"total": 12}
    with pytest.raises(ValueError, match=r"For Model\.eval, the model argument 'metrics' can not be None or empty"):
        Model(max).eval(DATA)


def test_a_loss_is_called_with_the_result_and_the_label() -> None:
    seen: list[Any] = []
    model = Model(lambda x: x * 10, loss_fn=lambda out, label: out - label)
    model.train(1, DATA[:1], spy(seen, "net_outputs"))
    assert seen[-1] == ("on_train_end", 8)
    with pytest.raises(ValueError, match="should return two elements, but got 3"):
        model.train(1, [(1, 2, 3)])


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"epoch": 0}, ValueError, "must be a positive int, but got 0"),
        ({"epoch": 1, "initial_epoch": 1}, ValueError, "must bigger than parameter 'initial_epoch'"),
        ({"epoch": 1, "sink_size": 0}, ValueError, "'sink_size' must be -1 or positive, but got 0"),
        ({"epoch": 1, "train_dataset": []}, ValueError, "There is no valid data in dataset"),
        ({"epoch": 1, "train_dataset": iter(DATA)}, TypeError, r"needs get_dataset_size\(\) or a length"),
        ({"epoch": 1, "callbacks": [1]}, TypeError, "must be Callback functions"),
        ({"epoch": 1, "callbacks": print}, TypeError, "is not a Callback or a list of Callback"),
    ],
)
def test_what_cannot_be_trained_is_said(options: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        Model(max).train(**{"train_dataset": DATA, **options})


def test_an_optimizer_is_refused() -> None:
    with pytest.raises(OptionError, match="mindspore_like has no gradients"):
        Model(max, optimizer=object())


def test_the_context_of_a_run_is_a_dict() -> None:
    with pytest.raises(TypeError, match="should be dict type, but got <class 'list'>"):
        RunContext([])  # type: ignore[arg-type]
    params = CallbackParams(a=1)
    params.b = 2
    assert params == {"a": 1, "b": 2}
    with pytest.raises(KeyError):
        _ = params.c


def test_monitors_print_losses_and_times(capsys: pytest.CaptureFixture[str]) -> None:
    model = Model(lambda x, _: ms.Tensor(float(x)))
    model.train(1, DATA, [LossMonitor(2), TimeMonitor()])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "epoch: 1 step: 2, loss is 3.0"
    assert lines[1].startswith("Train epoch time: ")
    assert lines[1].endswith(" ms")
    with pytest.raises(ValueError, match="In epoch: 1 step: 1, loss is NAN or INF"):
        Model(lambda *_: np.float32("nan")).train(1, DATA, LossMonitor())
    with pytest.raises(ValueError, match="must be a non-negative int, but got -1"):
        LossMonitor(-1)


class Indexed:
    def __len__(self) -> int:
        return 5

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        return np.full(2, index, np.float32), index


@pytest.mark.parametrize("source", [Indexed(), lambda: iter([Indexed()[i] for i in range(5)])])
def test_a_dataset_gives_rows_and_batches(source: Any) -> None:
    data = GeneratorDataset(source, ["x", "label"])
    assert (data.get_dataset_size(), data.get_col_names()) == (5, ["x", "label"])
    assert [int(row["label"]) for row in data.create_dict_iterator()] == [0, 1, 2, 3, 4]
    batched = data.batch(2)
    assert batched.get_dataset_size() == 3
    assert [row[0].shape for row in batched] == [(2, 2), (2, 2), (1, 2)]
    assert data.batch(2, drop_remainder=True).get_dataset_size() == len(list(data.batch(2, True))) == 2
    (first, *_) = data.create_tuple_iterator(output_numpy=True)
    assert isinstance(first[0], np.ndarray)
    with pytest.raises(ValueError, match="does not shuffle"):
        GeneratorDataset(source, "x", shuffle=True)
    with pytest.raises(ValueError, match="batch_size must be a positive int, once; got 2"):
        batched.batch(2)


def test_the_device_is_what_the_script_says(graph_mode: Any) -> None:
    ms.set_context(device_target="Davinci", device_id=3, jit_config={"jit_level": "O1"}, max_device_memory="2GB")
    keys = ("device_target", "device_id", "mode", "max_device_memory", "save_graphs")
    assert [ms.get_context(key) for key in keys] == ["Ascend", 3, ms.GRAPH_MODE, "2GB", None]
    ms.set_device("Ascend", 0)
    assert ms.get_context("device_id") == 0
    for call, error, text in (
        (lambda: ms.set_context(device_target="GPU"), RuntimeError, "Unsupported device target GPU"),
        (lambda: ms.set_context(device_target="x"), ValueError, "'device_target' must be one of"),
        (lambda: ms.set_context(device_id=4096), ValueError, r"must be in range \[0, 4095\]"),
        (lambda: ms.set_context(mode=2), ValueError, "should be context.GRAPH_MODE"),
        (lambda: ms.set_context(colour=1), ValueError, "keyword argument colour is not recognized"),
        (lambda: ms.get_context("colour"), ValueError, "argument colour is not recognized"),
        (lambda: ms.set_device("x"), ValueError, "must be one of"),
        (lambda: ms.set_device("CPU", -1), ValueError, "must bigger than or equal to 0"),
    ):
        with pytest.raises(error, match=text):
            call()
    assert Callbacks.from_argument(None).members == []
