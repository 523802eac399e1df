"""One result directory, from its creation to its deliverables."""

from __future__ import annotations

import gc
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import torch
from attrs import define, evolve, field

from drynpu import CaptureError, OutputError, __version__
from drynpu.kernels import build_rule_book
from drynpu.options import Activity, ProfilingRequest, Settings
from drynpu.platforms import Chip, load_chip
from drynpu.plugins import build_manager
from drynpu.raw import ClockAnchors, write_document
from drynpu.recorder import HostSampler, Outcome, Setup, write_recording
from drynpu.simulate import HostSamples, Recording, Target
from drynpu_torch import device
from drynpu_torch.capture import Capture, Captured, KinetoTracer, RecordedThreads, without_collections
from drynpu_torch.distributed import Exchange
from drynpu_torch.profiler._flops import flop_formulas
from drynpu_torch.profiler._process import PROCESS
from drynpu_torch.rules import FALLBACKS

__all__ = ["Result", "rank_id"]

_PREFIX = "torch"


def rank_id() -> str | int | None:
    """Return the rank as the vendor does: the text of RANK, else the process group's rank, else None."""
    if "RANK" in os.environ:
        return os.environ["RANK"]
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized():
        return int(distributed.get_rank())
    return None


@define(kw_only=True)
class Result:
    """
    A recording and the directory it goes to.

    The duties come in the order of the session's action table: :meth:`init`, :meth:`start`, :meth:`step` at every
    step boundary, :meth:`stop`, :meth:`finalize`; :meth:`delete` removes a directory without data.
    """

    request: ProfilingRequest
    raw_only: bool = False
    settings: Settings = field(factory=lambda: Settings.from_environ(os.environ))
    path: Path | None = None
    outcome: Outcome | None = None
    results: tuple[object, ...] = ()
    """What Kineto returned, where shapes, memory and frames were recorded; for the memory timeline."""
    _made: bool = False
    _chip: Chip | None = None
    _capture: Capture | None = None
    _captured: Captured | None = None
    _anchors: ClockAnchors | None = None
    _live_bytes: int = 0
    _sampler: HostSampler | None = None
    _host_samples: HostSamples | None = None
    _user_marks: device.UserMarks | None = None

    def init(self, path: Path | None = None) -> None:
        """
        Create the result directory, by default a new one where the vendor's profiler would; *path* may be there.

        Raises
        ------
        OutputError
            If it cannot be created; the message names the path and the reason.
        ChipError
            If the chip of the settings does not exist.
        """
        self._chip = load_chip(self.settings.chip, extra_files=build_manager().chip_files())
        exist_ok = path is not None
        path = PROCESS.result_directory(raw_only=self.raw_only) if path is None else path
        try:
            path.mkdir(mode=0o750, parents=True, exist_ok=exist_ok)
        except OSError as error:
            raise OutputError(
                f"cannot create the result directory {path}: {error.strerror}. Choose a writable directory with "
                "tensorboard_trace_handler(dir_name) or ASCEND_WORK_PATH."
            ) from error
        self.path, self.outcome, self._made = path, None, not exist_ok

    def start(self) -> None:
        """
        Start recording.

        Raises
        ------
        CaptureError
            If another profiler is active; a result directory of our own is removed again.
        """
        switches = self.request.switches
        if self._chip is None or self.path is None:
            return
        self._must_be_alone()
        self._anchors = ClockAnchors.now(round(self._chip.hwts_mhz * 1_000_000))
        self._live_bytes = _live_device_bytes() if switches.profile_memory else 0
        marks_wanted = switches.tx and Activity.DEVICE in self.request.activities
        frames = switches.with_stack or switches.with_modules
        tracer = KinetoTracer(
            memory=switches.profile_memory,
            stack=switches.with_stack,
            frames=frames,
            keep_results=switches.record_shapes and switches.profile_memory and frames,
            threads=RecordedThreads(PROCESS.child_threads),
        )
        capture = Capture(
            tracer=tracer,
            automatic_marks=marks_wanted,
            flop_formulas=flop_formulas() if marks_wanted and switches.with_flops else None,
            gc_threshold_ms=switches.gc_threshold_ms,
        )
        try:
            capture.start()
        except CaptureError:
            self.delete()
            raise
        self._capture = capture
        self._sampler = HostSampler(self.request.sampling)
        self._sampler.start()
        state = device.state()
        state.recorder = capture.marks
        stream = state.stream_of(state.current_device)
        if stream is not None:  # selected before, when nobody recorded it
            capture.marks.on_stream(stream.stream_id)
        if marks_wanted:
            filters = self.request.filters
            state.user_marks = device.UserMarks(
                state.range_ids,
                include=frozenset(filters.tx_domains_include),
                exclude=frozenset(filters.tx_domains_exclude),
            )

    @property
    def recording(self) -> bool:
        """Whether operators are being recorded right now."""
        return self._capture is not None

    @property
    def finished(self) -> bool:
        """Whether a recording has been written here."""
        return self.outcome is not None

    @property
    def taken_over(self) -> bool:
        """Whether another profiler took operators of this recording, which is not written yet."""
        return self._captured is not None and self._captured.taken_over

    @property
    def operators(self) -> int:
        """Number of operators recorded and not written yet."""
        return 0 if self._captured is None else len(self._captured.operators.start_ns)

    def warm_up(self) -> None:
        """
        Start and stop the tracer once: its first start loads libraries.

        Raises
        ------
        CaptureError
            If another profiler is active; the result directory is removed again.
        """
        self._must_be_alone()
        tracer = KinetoTracer()
        tracer.start()
        tracer.stop()

    def step(self) -> None:
        """Tell that a step has ended while recording."""
        if self._capture is not None:
            self._capture.step()

    @without_collections()
    def stop(self) -> None:
        """Stop recording and keep what was recorded."""
        if self._capture is None:
            return
        state = device.state()
        self._user_marks, state.user_marks, state.recorder = state.user_marks, None, None
        self._host_samples = None if self._sampler is None else self._sampler.stop()
        self._captured, self._capture = self._capture.stop(), None

    def finalize(self, info: Mapping[str, object], metadata: Mapping[str, object]) -> None:
        """Simulate, and write the raw data, ``profiler_info*.json`` and ``profiler_metadata.json``."""
        if self.path is None:
            return
        rank = rank_id()
        document = dict(info)
        if self.write() is not None:
            assert self.outcome is not None
            assert self._anchors is not None
            document["start_info"] = {
                "syscnt_enable": False,
                "freq": 100,
                "start_cnt": 0,
                "start_monotonic": self._anchors.monotonic_raw_ns,
            }
            document["end_info"] = {
                "collectionTimeEnd": self.outcome.end_ns,
                "MonotonicTimeEnd": self.outcome.end_ns - self._anchors.offset_ns,
            }
            metadata = {**metadata, "drynpu": self.outcome.describe()}
        document["torch_npu_version"] = f"{torch.__version__.split('+')[0]}+drynpu{__version__}"
        document["cann_version"] = "not known"
        suffix = "" if rank is None else f"_{rank}"
        if rank is not None:
            document["rank_id"] = rank
        write_document(self.path / f"profiler_info{suffix}.json", json.dumps(document, indent=4))
        write_document(self.path / "profiler_metadata.json", json.dumps(metadata))

    @without_collections()
    def write(self) -> Outcome | None:
        """Simulate, and write the raw data alone; ``None`` if nothing was recorded since the last time."""
        if self._captured is None or self._anchors is None or self._chip is None:
            return None
        self.outcome = self._write(self._captured, self._anchors, self._chip, rank_id())
        self.results, self._captured = self._captured.results, None
        return self.outcome

    def delete(self) -> None:
        """Remove the result directory, unless it was given: then it may hold what others left there."""
        if self.path is not None:
            if self._made:
                shutil.rmtree(self.path, ignore_errors=True)
            self.path = None

    def _must_be_alone(self) -> None:
        # PyTorch does not tell: it knows of recordings of this thread alone, and ours are of all threads.
        if device.state().recorder is not None:
            self.delete()
            raise CaptureError(
                "another recording is already running in this process (of torch_npu.profiler, drynpu run --profile or "
                "drynpu msprof); only one can run at a time. Stop that one first."
            )

    def _write(self, captured: Captured, anchors: ClockAnchors, chip: Chip, rank: str | int | None) -> Outcome:
        with Exchange(captured.communication) as exchange:
            outcome = self._write_alone(captured, anchors, chip, rank, exchange)
        return evolve(outcome, notes=(*outcome.notes, *exchange.notes))

    def _write_alone(
        self, captured: Captured, anchors: ClockAnchors, chip: Chip, rank: str | int | None, exchange: Exchange
    ) -> Outcome:
        assert self.path is not None  # narrowed by finalize
        recording = Recording(
            operators=captured.operators,
            allocations=captured.allocations,
            marks=tuple(captured.marks.marks),
            streams=tuple(captured.marks.streams),
            begin_ns=max(captured.begin_ns, anchors.collection_begin_us * 1000),
            end_ns=max(captured.end_ns, anchors.collection_begin_us * 1000 + 1),
            live_before_bytes=self._live_bytes,
            host_samples=self._host_samples,
            collectives=captured.communication.collectives(marked=self._user_marks is not None),
            meeting=exchange,
            python_frames=captured.frames,
            garbage_ns=captured.garbage_ns,
            tx_marks=() if self._user_marks is None else tuple(self._user_marks.marks),
        )
        target = Target(
            directory=self.path,
            framework=_PREFIX,
            pid=os.getpid(),
            device_id=device.state().current_device,
            rank_id=int(rank) if rank is not None else -1,
            prof_number=next(PROCESS.prof_numbers),
            host_data=Activity.HOST in self.request.activities,
            device_data=Activity.DEVICE in self.request.activities,
        )
        rules = build_rule_book(build_manager().kernel_rules("torch"), fallbacks=FALLBACKS)
        return write_recording(
            recording,
            target,
            Setup(
                request=self.request,
                chip=chip,
                clock=self.settings.clock,
                seed=self.settings.seed,
                anchors=anchors,
                plan=rules.plan,
            ),
        )


def _live_device_bytes() -> int:
    """Return the bytes of all live tensors, each storage once: what the device holds when a recording begins."""
    seen: dict[int, int] = {}
    for value in gc.get_objects():
        # By type: isinstance would wake lazy objects such as deprecated names of torch.distributed.
        if issubclass(type(value), torch.Tensor) and value.layout is torch.strided and not value.is_meta:
            storage = value.untyped_storage()
            seen[storage.data_ptr()] = storage.nbytes()
    return sum(seen.values())
