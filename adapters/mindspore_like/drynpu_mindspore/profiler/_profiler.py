"""``Profiler``: the profiler of all releases, as 2.4 and later have it (mindspore_profiler.md 5.3, 5.5)."""

from __future__ import annotations

from drynpu_mindspore.profiler._analysing import DEFAULT_PROCESSES, analyse_folder, read_analysis
from drynpu_mindspore.profiler._guarded import caught, guarded
from drynpu_mindspore.profiler._profiling import Profiling
from drynpu_mindspore.profiler._schedule import always_record
from drynpu_mindspore.profiler._values import DeviceTarget

_DEPRECATED = (
    "'mindspore.Profiler' will be deprecated and removed in a future version. "
    "Please use the api 'mindspore.profiler.profile' instead."
)


class Profiler(Profiling):
    """
    The profiler that all releases have.

    Keywords are fields of :class:`~drynpu_mindspore.profiler.Parameters`, in older releases of ``_legacy``.
    """

    _called = "profiler"
    _waits_for_step = False
    """A schedule was given, and `step` has not been called."""

    def __init__(self, **kwargs: object) -> None:
        if self._session.generation.is_current:
            self._session.user_log.warning(_DEPRECATED)
        starts = self._prepare(kwargs)
        self._has_schedule = kwargs.get("schedule") is not None
        self._waits_for_step = self._has_schedule
        parameters = self._state.parameters
        scheduled = self._has_schedule and parameters is not None
        self._follow(parameters.schedule if parameters and scheduled else always_record, shows_steps=scheduled)
        self._session.started.add(self)
        if starts:
            self.start()

    @guarded
    def stop(self) -> None:
        """Stop recording; with a schedule this completes the run."""
        if self._waits_for_step:
            self._session.user_log.warning("The profiler has schedule. Please use step() to collect data.")
            return
        if self._is_closed():
            return
        self._has_started = False
        self._close_step()
        if self._has_schedule:
            self._controller.transit(self.current_action, None)
        else:
            self._session.stop()
            self._session.write_metadata()

    @guarded
    def step(self) -> None:
        """Go on to the next step of the schedule."""
        if not self._has_schedule:
            self._session.user_log.error("With no schedule in the Profiler, step takes no effect!")
            return
        if not self._has_started:
            self._session.user_log.error("Profiler is stopped, step takes no effect!")
            return
        self._advance()
        self._waits_for_step = False

    @guarded
    def analyse(
        self, offline_path: object = None, pretty: bool = False, step_list: list[int] | None = None, mode: str = "sync"
    ) -> None:
        """Stop, and write the deliverables; with a schedule the handler writes them, and this only stops."""
        session = self._session
        if self._has_started:
            session.stop()
            self._has_started = False
        if self._has_schedule:
            session.user_log.warning("The profiler has schedule. Please use 'on_trace_ready' to analyse data.")
            return
        if not session.generation.is_current:
            session.analyse()
            session.finalize()
            return
        if offline_path:
            session.user_log.warning(
                "The parameter 'offline_path' for Profiler.analyse() is deprecated, please use "
                "Profiler.offline_analyse() instead."
            )
        state = self._state
        state.how = read_analysis(state.how, pretty, step_list, mode, session.user_log)
        session.finalize()
        session.analyse()
        session.clear()

    @classmethod
    def offline_analyse(
        cls,
        path: str,
        pretty: bool = False,
        step_list: list[int] | None = None,
        data_simplification: bool | None = None,
    ) -> None:
        """Analyse the run at *path*, or the runs in it; the default of *data_simplification* depends on the release."""
        session = cls._session
        if data_simplification is None:
            data_simplification = session.generation.is_current
        caught(
            session,
            "offline_analyse",
            lambda: analyse_folder(session, path, DEFAULT_PROCESSES, pretty, step_list, data_simplification),
        )

    @guarded
    def op_analyse(self, op_name: str | list[str], device_id: int | None = None) -> str | None:
        """
        Raise, or log: there is no analysis of single operators.

        Raises
        ------
        RuntimeError
            Always on Ascend, in the vendor's words; elsewhere once the arguments are right. Since 2.6 it is logged.
        TypeError
            Not on Ascend: *device_id* is no number, *op_name* is neither a name nor names.
        """
        self._session.user_log.warn(
            "mindspore.Profiler.op_analyse is deprecated and will be removed in future versions.  "
        )
        device_target = self._session.host.device_target()
        if device_target == DeviceTarget.NPU.value:
            raise RuntimeError("The Interface 'Profiler.op_analyse()' is not supported on Ascend currently.")
        if device_id and not isinstance(device_id, int):
            raise TypeError(
                f"For 'Profiler.op_analyse()', the parameter device_id must be int, but got type {type(device_id)}"
            )
        if not isinstance(op_name, (str, list)):
            raise TypeError(
                f"For 'Profiler.op_analyse()', the parameter op_name must be str or list, but got type {type(op_name)}"
            )
        if not op_name:
            raise TypeError("For 'Profiler.op_analyse()', the parameter op_name cannot be None.")
        raise RuntimeError(f"The Interface 'Profiler.op_analyse()' is not simulated on {device_target}.")

    def _finish(self) -> None:
        """Stop at the end of the process, or of the object."""
        if self._has_started:
            self.stop()
            self._session.user_log.warning("Profiler is stopped at the end of the program.")

    @guarded
    def __del__(self) -> None:
        self._finish()
