"""The names of ``mindspore.profiler``, made for one framework and one backend."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attrs import frozen

from drynpu_mindspore.profiler._analysing import DEFAULT_PROCESSES, analyse_folder
from drynpu_mindspore.profiler._backend import Backend
from drynpu_mindspore.profiler._controller import HANDLER_MARK, make_handler
from drynpu_mindspore.profiler._directory_name import RunDirectoryName
from drynpu_mindspore.profiler._environment import EnvProfiler
from drynpu_mindspore.profiler._generation import Generation
from drynpu_mindspore.profiler._guarded import caught
from drynpu_mindspore.profiler._host import Host, UserLog
from drynpu_mindspore.profiler._mstx import Mstx
from drynpu_mindspore.profiler._profile import Profile
from drynpu_mindspore.profiler._profiler import Profiler
from drynpu_mindspore.profiler._profiler_v22 import ProfilerV22
from drynpu_mindspore.profiler._profiling import Profiling
from drynpu_mindspore.profiler._schedule import Schedule
from drynpu_mindspore.profiler._session import Session
from drynpu_mindspore.profiler.dynamic import DynamicMonitor


@frozen(kw_only=True)
class Surface:
    """
    What scripts import; the enumerations, which no process changes, are names of this room.

    Attributes
    ----------
    session:
        What the classes share.
    """

    session: Session
    Profiler: type[Profiling]
    profile: type[Profile]
    schedule: type[Schedule]
    tensorboard_trace_handler: Callable[..., Any]
    tensor_board_trace_handler: Callable[..., Any]
    """The handler of 2.4: scripts pass the function itself to a profiler."""
    analyse: Callable[..., None]
    mstx: type[Mstx]
    EnvProfiler: type[EnvProfiler]
    DynamicProfilerMonitor: type[Any]

    def finish(self) -> None:
        """Stop every profiler that still records, before the interpreter begins to shut down."""
        for each in (self.EnvProfiler, *self.session.started):
            caught(self.session, "finish", each._finish)


def build_surface(host: Host, backend: Backend, generation: Generation = Generation.V27) -> Surface:
    """Make the classes and functions of one process, which share one session."""
    user_log = UserLog(host.log)
    schedule: type[Schedule] = _bound("Schedule", "schedule", (Schedule,), _user_log=user_log)
    session = Session(
        host=host,
        backend=backend,
        generation=generation,
        schedule_class=schedule,
        user_log=user_log,
        place=RunDirectoryName(user_log),
    )
    profile: type[Profile] = _bound("Profile", "profiler", (Profile,), _session=session)
    base = ProfilerV22 if generation is Generation.V22 else Profiler
    handler = _handler(session)
    parts = {"_session": session, "_make_profile": profile, "_make_handler": staticmethod(handler)}
    return Surface(
        session=session,
        Profiler=_bound("Profiler", "profiler", (base,), _session=session),
        profile=profile,
        schedule=schedule,
        tensorboard_trace_handler=handler,
        tensor_board_trace_handler=_uncalled_handler(session),
        analyse=_analyse(session),
        mstx=_bound("Mstx", "mstx", (Mstx,), _session=session),
        EnvProfiler=_bound("EnvProfiler", "envprofiler", (EnvProfiler,), **parts),
        DynamicProfilerMonitor=_bound(
            "DynamicProfilerMonitor",
            "dynamic_profiler",
            (DynamicMonitor, host.callback_base),
            **parts,
            _make_schedule=schedule,
        ),
    )


def _bound(name: str, module: str, bases: tuple[type, ...], **parts: object) -> Any:
    """Return a subclass that shows itself as the class of the framework."""
    return type(name, bases, {"__module__": f"mindspore.profiler.{module}", "__doc__": bases[0].__doc__, **parts})


def _handler(session: Session) -> Callable[..., Any]:
    def tensorboard_trace_handler(
        dir_name: str | None = None,
        worker_name: str | None = None,
        analyse_flag: bool = True,
        async_mode: bool = False,
    ) -> Callable[..., Any] | None:
        """Set where results go, and return the ``on_trace_ready`` that writes the deliverables there."""
        return caught(
            session,
            "tensorboard_trace_handler",
            lambda: make_handler(session, dir_name, worker_name, analyse_flag, async_mode),
        )

    setattr(tensorboard_trace_handler, HANDLER_MARK, session.analyse)
    return tensorboard_trace_handler


def _uncalled_handler(session: Session) -> Callable[..., Any]:
    def tensor_board_trace_handler() -> None:
        """Write the deliverables of the recording that is complete; what goes wrong is logged."""
        try:
            session.analyse()
        except Exception as error:  # noqa: BLE001 - the one thing of those releases that caught what it could not do
            session.user_log.error(f"Call tensorboard_trace_handler failed. Exception: {error}")

    setattr(tensor_board_trace_handler, HANDLER_MARK, tensor_board_trace_handler)
    return tensor_board_trace_handler


def _analyse(session: Session) -> Callable[..., None]:
    def analyse(
        profiler_path: str,
        max_process_number: int = DEFAULT_PROCESSES,
        pretty: bool = False,
        step_list: list[int] | None = None,
        data_simplification: bool = True,
    ) -> None:
        """Analyse the run that *profiler_path* is, or the runs in it, in at most that many processes."""
        number: Any = max_process_number
        if not isinstance(number, int) or isinstance(number, bool) or number < 1:
            session.user_log.warning(
                f"Parameter 'max_process_number' should be of type int, but got {type(number).__name__}. "
                f"reset to int {DEFAULT_PROCESSES}."
            )
            number = DEFAULT_PROCESSES
        caught(
            session,
            "analyse",
            lambda: analyse_folder(session, profiler_path, number, pretty, step_list, data_simplification),
        )

    return analyse
