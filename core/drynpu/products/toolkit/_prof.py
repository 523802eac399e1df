"""A PROF directory from a recording: the host's records, each device's records, control files."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import chain
from pathlib import Path

import numpy as np

from drynpu.arrays import Bools, Records
from drynpu.deliverables.calls.api_calls import api_events
from drynpu.deliverables.counters.records import counter_notes, counter_records
from drynpu.deliverables.record_context import GroupRecords, RecordContext
from drynpu.deliverables.record_group import RecordGroup
from drynpu.deliverables.registry import record_kinds, registered_groups
from drynpu.deliverables.step_form import step_form
from drynpu.deliverables.tasks.device_records import device_records, step_records
from drynpu.deliverables.tasks.host_records import host_records
from drynpu.layouts.tasks import NODE_BASIC_INFO
from drynpu.options import Level
from drynpu.products._framework_files import recorded_steps
from drynpu.products.toolkit._controls import host_info, sample
from drynpu.raw import DeviceInfo, ProfWriter
from drynpu.simulate import PYTORCH
from drynpu.simulate.loads import find_iterations


def write_prof(
    hosts: Sequence[RecordContext],
    devices: Sequence[RecordContext],
    groups: Sequence[RecordGroup] | None = None,
) -> tuple[Path, tuple[str, ...]]:
    """
    Write a PROF directory: the host's records of *hosts*, and the records of each of *devices*.

    What is there once, such as the name and the control files, is of the first host. Hosts of one directory share
    their ``texts``, ``types`` and ``mark_numbers``. Records belong to *groups*, by default all registered ones.
    """
    groups = registered_groups() if groups is None else groups
    context = hosts[0]
    destination, request = context.destination, context.request
    begun = datetime.fromtimestamp(context.recording.begin_ns / 1e9)
    writer = ProfWriter.create(
        destination.directory,
        record_kinds(groups),
        index=destination.prof_number,
        pid=destination.pid,
        now=begun,
        storage_limit_mb=request.output.storage_limit_mb,
        reserved=destination.prof_path,
    )
    try:
        notes = _write_all(writer, hosts, devices, groups)
    except BaseException:
        # A part of a recording beside a second try of it, or beside the next one, would be read as one with it.
        shutil.rmtree(writer.path, ignore_errors=True)
        raise
    return writer.path, notes


def _write_all(
    writer: ProfWriter,
    hosts: Sequence[RecordContext],
    devices: Sequence[RecordContext],
    groups: Sequence[RecordGroup],
) -> tuple[str, ...]:
    """Write control files, records and dictionaries; return what was asked for and is not written."""
    context = hosts[0]
    destination, request = context.destination, context.request
    of_hosts = [_all_records(each, groups) for each in hosts]
    known = {id(each): records for each, records in zip(hosts, of_hosts, strict=True)}
    of_devices = [known.get(id(each)) or _all_records(each, groups) for each in devices]
    parameters = sample(request, context.chip, destination, writer.path)
    for records in of_hosts[0]:
        parameters |= records.sample
    writer.write_controls(
        host_info(destination, context.chip, context.anchors),
        [DeviceInfo.of_chip(each.chip, each.destination.device_id) for each in devices],
        parameters,
        context.anchors,
        max(each.simulation.end_ns for each in hosts),
    )
    for records in chain(*of_hosts):
        _write_host(writer, records)
    for device, device_groups in zip(devices, of_devices, strict=True):
        for records in device_groups:
            _write_device(writer, records, device.destination.device_id)
    writer.write_dictionaries(context.host.texts.hashes, context.host.types.types)
    built = chain(*of_hosts, *of_devices)
    return tuple(dict.fromkeys(note for records in built for note in records.notes))


def _write_device(writer: ProfWriter, records: GroupRecords, device_id: int) -> None:
    for kind, rows in records.device.items():
        writer.write(kind, rows, device_id=device_id)
    for kind, lines in records.device_text.items():
        writer.write_text(kind, lines, device_id=device_id)


def _all_records(context: RecordContext, groups: Sequence[RecordGroup]) -> list[GroupRecords]:
    further = [group.build(context) for group in groups if group.build is not None]
    core = _core_records(context) if context.request.level > Level.NONE else _call_records(context)
    return [core, *further]


def _write_host(writer: ProfWriter, records: GroupRecords) -> None:
    for kind, rows in records.host.items():
        writer.write(kind, rows)
    for kind, rows in records.host_ageing.items():
        writer.write(kind, rows, aging=True)
    for kind, lines in records.host_text.items():
        by_process = lines if isinstance(lines, Mapping) else {None: lines}
        for pid, process_lines in by_process.items():
            writer.write_text(kind, process_lines, pid=pid)


def _call_records(context: RecordContext) -> GroupRecords:
    """Build what a recording without tasks still has: calls into ACL and the runtime, if they are asked for."""
    return GroupRecords(host={"api_event": api_events(context.host)})


def _core_records(context: RecordContext) -> GroupRecords:
    """Build what every recording of tasks has: API calls, launches, descriptions, tasks, counters, samples."""
    simulation, request, anchors = context.simulation, context.request, context.anchors
    device = device_records(simulation, anchors)
    device |= step_form(step_records(_steps(context), anchors), context.chip.platform)
    device |= counter_records(simulation, request, device_cntvct=anchors.device_cntvct)
    host, ageing = host_records(context.host), dict[str, Records]()
    if NODE_BASIC_INFO.name in host:
        launch = context.host.launches.launch
        static = _in_graphs(context)[launch[~context.host.is_copy[launch]]]
        described = host[NODE_BASIC_INFO.name]
        host[NODE_BASIC_INFO.name], ageing[NODE_BASIC_INFO.name] = described[static], described[~static]
    return GroupRecords(host=host, host_ageing=ageing, device=device, notes=counter_notes(request, context.chip))


def _in_graphs(context: RecordContext) -> Bools:
    """Return which launches belong to an iteration of a graph that a compiler made; shape ``[m]``."""
    lowered = context.simulation.lowered
    issued = context.recording.operators.start_ns[lowered.dispatch_op]
    iteration, _ = find_iterations([graph for graph in context.recording.graphs if not graph.is_captured], issued)
    return np.asarray(iteration[lowered.launch_dispatch] >= 0)


def _steps(context: RecordContext) -> tuple[tuple[int, int, int], ...]:
    """Return number, start and end of the steps that are marked on the device, on the shown host timeline."""
    if context.destination.framework == PYTORCH:
        return ()
    rows, numbers = recorded_steps(context.recording.operators)
    simulation = context.simulation
    columns = (numbers, simulation.op_start_ns[rows], simulation.op_end_ns[rows])
    return tuple(zip(*(column.tolist() for column in columns), strict=True))
