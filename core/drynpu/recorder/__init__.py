"""The life of a recording: actions between steps, host samples, and the directory that is written at its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drynpu._lazy import lazy_room

if TYPE_CHECKING:
    from drynpu.recorder._actions import ScheduleWarning, Transition, TransitionStep, transition
    from drynpu.recorder._chosen import framework_plan, load_chosen_chip
    from drynpu.recorder._collector import Collected, Collector
    from drynpu.recorder._commands import (
        CHECK_VARIABLE,
        COLLECT_VARIABLE,
        PROFILE_VARIABLE,
        CheckCommand,
        CollectionCommand,
        CollectionReport,
        ProfileCommand,
    )
    from drynpu.recorder._control import (
        ControlClient,
        ControlCommand,
        Controllable,
        ControlReply,
        at_process_end,
        control_socket,
        serve_control,
    )
    from drynpu.recorder._end_info import with_end_info
    from drynpu.recorder._joining import join_graphs, join_recordings
    from drynpu.recorder._journal import JOURNAL_PREFIX, SAVE_INTERVAL_NS
    from drynpu.recorder._parts import OptionalParts
    from drynpu.recorder._rank_link import RankLink
    from drynpu.recorder._rank_server import REDUCTIONS
    from drynpu.recorder._recorder import Recorder, rank_number
    from drynpu.recorder._recording import Outcome, Setup, simulate_devices, write_devices, write_recording
    from drynpu.recorder._recovery import Recovered, find_journals, recover
    from drynpu.recorder._rendezvous import RankCall, RankRendezvous, RankStore, announce
    from drynpu.recorder._run_journal import RUN_VARIABLE, RunJournal
    from drynpu.recorder._sampler import HostSampler
    from drynpu.recorder._symmetry import SymmetricPeers
    from drynpu.recorder._world import WORLD_VARIABLE, FolderStore, WorldCommand, note_end
    from drynpu.simulate import Planner
else:
    __getattr__ = lazy_room(__name__)

__all__ = [
    "CHECK_VARIABLE",
    "COLLECT_VARIABLE",
    "JOURNAL_PREFIX",
    "PROFILE_VARIABLE",
    "REDUCTIONS",
    "RUN_VARIABLE",
    "SAVE_INTERVAL_NS",
    "WORLD_VARIABLE",
    "CheckCommand",
    "Collected",
    "CollectionCommand",
    "CollectionReport",
    "Collector",
    "ControlClient",
    "ControlCommand",
    "ControlReply",
    "Controllable",
    "FolderStore",
    "HostSampler",
    "OptionalParts",
    "Outcome",
    "Planner",
    "ProfileCommand",
    "RankCall",
    "RankLink",
    "RankRendezvous",
    "RankStore",
    "Recorder",
    "Recovered",
    "RunJournal",
    "ScheduleWarning",
    "Setup",
    "SymmetricPeers",
    "Transition",
    "TransitionStep",
    "WorldCommand",
    "announce",
    "at_process_end",
    "control_socket",
    "find_journals",
    "framework_plan",
    "join_graphs",
    "join_recordings",
    "load_chosen_chip",
    "note_end",
    "rank_number",
    "recover",
    "serve_control",
    "simulate_devices",
    "transition",
    "with_end_info",
    "write_devices",
    "write_recording",
]
