#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks a Perfetto trace or a bundle against the rules of the format, without any code of ours.

    check_trace.py FILE [--slices] [--open]

--slices adds the slices, marks, flows and tracks themselves; --open accepts slices without an end.

Packets are split by hand (that also finds packed numbers, which no decoder reports), the timeline inside a bundle's records is
unpacked with zlib, and stock `protoc --decode` with the shipped proto/perfetto.proto turns the rest into text. Then a viewer is simulated:
sequences, interned names, clocks, a stack per track, flows, counters. Prints a JSON report; exit 1 when "errors" is not empty.
"""
import collections
import json
import os
import re
import subprocess
import sys
import zlib

PROTO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../proto/perfetto.proto")
MAX_COMPRESSED = 512 << 10  # of one block of compressed packets, unpacked
MAX_DEPTH = 512
FIRST_OWN_FIELD = 2000  # fields of a bundle's records
SEQUENCE_CLOCK, TRACE_CLOCK = 64, 6
# Numbers of the public format, typed from its documentation and not from our .proto.
NUMBERS = {
    "Trace": {"packet": 1},
    "Packet": {"clock_snapshot": 6, "timestamp": 8, "sequence_id": 10, "track_event": 11, "interned_data": 12,
               "sequence_flags": 13, "compressed_packets": 50, "timestamp_clock_id": 58, "defaults": 59,
               "track_descriptor": 60, "first_packet_on_sequence": 87, "trace_attributes": 126},
    "ClockSnapshot": {"clocks": 1}, "Clock": {"clock_id": 1, "timestamp": 2, "is_incremental": 3},
    "PacketDefaults": {"track_event": 11, "timestamp_clock_id": 58},
    "TrackEventDefaults": {"track_uuid": 11, "extra_counter_track_uuids": 31, "extra_double_counter_track_uuids": 45},
    "InternedData": {"event_categories": 1, "event_names": 2, "annotation_names": 3, "annotation_texts": 29},
    "InternedString": {"iid": 1, "text": 2},
    "TrackEvent": {"category_iids": 3, "annotations": 4, "type": 9, "name_iid": 10, "track_uuid": 11,
                   "extra_counter_values": 12, "categories": 22, "name": 23, "counter_value": 30,
                   "double_counter_value": 44, "extra_double_counter_values": 46, "flow_ids": 47,
                   "terminating_flow_ids": 48},
    "Annotation": {"name_iid": 1, "bool_value": 2, "uint_value": 3, "int_value": 4, "double_value": 5, "text_value": 6,
                   "pointer_value": 7, "name": 10, "text_value_iid": 17},
    "TrackDescriptor": {"uuid": 1, "name": 2, "process": 3, "thread": 4, "parent_uuid": 5, "counter": 8,
                        "child_ordering": 11, "sibling_order_rank": 12},
    "Process": {"pid": 1, "command_line": 2, "name": 6}, "Thread": {"pid": 1, "tid": 2, "name": 5},
    "Counter": {"unit": 3}, "TraceAttributes": {"attributes": 1}, "Attribute": {"key": 1, "text": 3},
}
INTERNED = {"event_categories": "category_iids", "event_names": "name_iid", "annotation_names": "note name",
            "annotation_texts": "text_value_iid"}
UNPACKED = {3, 12, 31, 45, 46, 47, 48}


class Broken(Exception):
    """The file cannot be split into packets."""


def read_varint(data, at):
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise Broken(f"bad varint at {at}")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """(number, wire type, value) of each field of a message; value is bytes for lengths, else a number."""
    at = 0
    while at < len(data):
        key, at = read_varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, at = read_varint(data, at)
        elif wire in (1, 2, 5):
            size, at = read_varint(data, at) if wire == 2 else ({1: 8, 5: 4}[wire], at)
            if at + size > len(data):
                raise Broken(f"field {number} is cut")
            value, at = data[at:at + size], at + size
        else:
            raise Broken(f"wire type {wire}")
        yield number, wire, value


def packets_of(data, errors, is_nested=False):
    """Raw packets that hold something of the timeline, compressed ones unpacked."""
    if data[:1] != b"\x0a" and data:
        raise Broken("the file does not begin with 0x0A")
    for number, wire, packet in fields(data):
        if (number, wire) != (1, 2):
            raise Broken(f"field {number} between packets")
        parts = list(fields(packet))
        for part, part_wire, value in parts:
            if part == 50:
                if is_nested:
                    errors.append("compressed packets inside compressed packets")
                unpacker = zlib.decompressobj()
                unpacked = unpacker.decompress(value) + unpacker.flush()
                if not unpacker.eof or unpacker.unused_data:
                    errors.append("compressed packets are not one whole zlib stream")
                if len(unpacked) > MAX_COMPRESSED:
                    errors.append(f"compressed packets unpack to {len(unpacked)} bytes")
                yield from packets_of(unpacked, errors, True)
            elif part == 11:
                bad = [n for n, w, _ in fields(value) if w == 2 and n in UNPACKED]
                if bad:
                    errors.append(f"packed numbers in field {bad[0]} of an event")
        if any(part < FIRST_OWN_FIELD and part != 50 for part, _, _ in parts):
            yield packet


def put_varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def decode(packets):
    """The packets as nested dicts of lists, by stock protoc."""
    stream = b"".join(b"\x0a" + put_varint(len(packet)) + packet for packet in packets)
    text = subprocess.run(["protoc", f"--proto_path={os.path.dirname(PROTO)}", "--decode=opsdebug.perfetto.Trace",
                           os.path.basename(PROTO)], input=stream, stdout=subprocess.PIPE, check=True).stdout
    top = collections.defaultdict(list)
    stack = [top]
    for line in text.decode("latin-1").splitlines():
        line = line.strip()
        if line.endswith(" {"):
            child = collections.defaultdict(list)
            stack[-1][line[:-2]].append(child)
            stack.append(child)
        elif line == "}":
            stack.pop()
        elif line:
            name, value = line.split(": ", 1)
            stack[-1][name].append(unquote(value) if value[0] == '"' else value)
    return top["packet"]


def unquote(text):
    plain = {"n": "\n", "r": "\r", "t": "\t"}
    return re.sub(r"\\([0-7]{3}|.)", lambda m: chr(int(m[1], 8)) if len(m[1]) == 3 else plain.get(m[1], m[1]), text[1:-1])


def one(message, name, default=None):
    return message[name][0] if name in message and message[name] else default


def number(message, name, default=0):
    return int(one(message, name, default))


class Sequence:
    def __init__(self):
        self.is_clear = self.was_first = False
        self.clear()

    def clear(self):
        self.names = {kind: {} for kind in INTERNED}
        self.track = self.time = self.clock = None
        self.counters = {"extra_counter": [], "extra_double_counter": []}


class Viewer:
    def __init__(self, errors):
        self.errors = errors
        self.sequences = collections.defaultdict(Sequence)
        self.tracks, self.owners = {}, {}
        self.events = collections.defaultdict(list)  # by track: (time, order, event, names)
        self.samples = collections.defaultdict(list)
        self.order = 0
        self.flows = collections.defaultdict(lambda: {"from": [], "to": []})
        self.slices, self.instants, self.open = [], [], []

    def fail(self, text):
        if len(self.errors) < 50:
            self.errors.append(f"packet {self.order}: {text}")

    def packet(self, packet):
        self.order += 1
        for unknown in (name for name in packet if name.isdigit() and int(name) < FIRST_OWN_FIELD):
            self.fail(f"field {unknown} is not in the .proto")
        for descriptor in packet["track_descriptor"]:
            self.descriptor(descriptor)
        if packet["sequence_id"] or packet["track_event"]:
            self.of_sequence(packet)

    def descriptor(self, descriptor):
        uuid, parent, text = number(descriptor, "uuid"), number(descriptor, "parent_uuid"), json.dumps(descriptor)
        if uuid in self.tracks and self.tracks[uuid]["text"] == text:
            return
        if uuid == 0 or uuid in self.tracks:
            self.fail(f"track {uuid} is declared twice or 0")
        if parent and parent not in self.tracks:
            self.fail(f"track {uuid} has the unknown parent {parent}")
        process, thread = one(descriptor, "process"), one(descriptor, "thread")
        for owner in (process, thread):
            if owner is not None:
                key = (number(owner, "pid"), number(owner, "tid", -1))
                if 0 in key or key in self.owners:
                    self.fail(f"process or thread {key} is declared twice or 0")
                self.owners[key] = uuid
        kind = "counter" if descriptor["counter"] else "thread" if thread else "process" if process else "plain"
        name = one(descriptor, "name") or one(thread or process or {}, "name", "")
        self.tracks[uuid] = {"kind": kind, "name": name, "parent": parent, "text": text}

    def of_sequence(self, packet):
        sequence_id, flags = number(packet, "sequence_id"), number(packet, "sequence_flags")
        sequence = self.sequences[sequence_id]
        if sequence_id == 0:
            self.fail("an event without a sequence id")
        if packet["first_packet_on_sequence"]:
            if sequence.was_first:
                self.fail(f"sequence {sequence_id} has two first packets")
            sequence.was_first = True
        if flags & 1:
            sequence.clear()
            sequence.is_clear = True
        elif not sequence.is_clear:
            self.fail(f"sequence {sequence_id} is used before its state was cleared")
        for defaults in packet["defaults"]:
            sequence.clock = number(defaults, "timestamp_clock_id")
            for event in defaults["track_event"]:
                sequence.track = number(event, "track_uuid")
                for kind, uuids in sequence.counters.items():
                    uuids.extend(int(uuid) for uuid in event[f"{kind}_track_uuids"])
        for interned in packet["interned_data"]:
            self.intern(sequence, interned)
        for snapshot in packet["clock_snapshot"]:
            self.snapshot(sequence, snapshot)
            if packet["track_event"]:
                self.fail("an event in the packet of a clock snapshot is lost")
                return
        for event in packet["track_event"]:
            if not flags & 2 and (event["name_iid"] or sequence.clock):
                self.fail("an event that needs state does not say so")
            self.event(sequence, packet, event)

    def intern(self, sequence, interned):
        for kind, entries in interned.items():
            if kind not in INTERNED:
                self.fail(f"unknown interned data {kind}")
                continue
            for entry in entries:
                iid = number(entry, "iid")
                if iid == 0 or iid in sequence.names[kind]:
                    self.fail(f"{kind} {iid} is defined twice or 0")
                sequence.names[kind][iid] = one(entry, "text", "")

    def snapshot(self, sequence, snapshot):
        clocks = {number(clock, "clock_id"): clock for clock in snapshot["clocks"]}
        if TRACE_CLOCK not in clocks:
            self.fail("a clock snapshot without the clock of the trace")
            return
        if SEQUENCE_CLOCK in clocks:
            clock = clocks[SEQUENCE_CLOCK]
            if one(clock, "is_incremental") != "true":
                self.fail("the clock of the sequence is not incremental")
            if number(clock, "timestamp") != number(clocks[TRACE_CLOCK], "timestamp"):
                self.fail("the clocks of the snapshot differ")
            sequence.time = number(clock, "timestamp")

    def time_of(self, sequence, packet):
        clock = number(packet, "timestamp_clock_id", sequence.clock or TRACE_CLOCK)
        stamp = number(packet, "timestamp")
        if stamp >= 1 << 63:
            self.fail("a negative time or delta")
        if clock == TRACE_CLOCK:
            return stamp
        if clock != SEQUENCE_CLOCK or sequence.time is None:
            self.fail(f"clock {clock} is not known to the sequence")
            return stamp
        sequence.time += stamp
        return sequence.time

    def named(self, sequence, kind, message, by_iid, inline):
        iid = number(message, by_iid)
        if iid and iid not in sequence.names[kind]:
            self.fail(f"{kind} {iid} is used before it is defined")
        return sequence.names[kind].get(iid) if iid else one(message, inline)

    def notes(self, sequence, event):
        notes = {}
        for note in event["annotations"]:
            name = self.named(sequence, "annotation_names", note, "name_iid", "name")
            if not name or name in notes:
                self.fail(f"an annotation without a name, or {name} twice")
            text = self.named(sequence, "annotation_texts", note, "text_value_iid", "text_value")
            values = [one(note, f"{kind}_value") for kind in ("bool", "uint", "int", "double", "pointer")]
            values = [value for value in values + [text] if value is not None]
            if len(values) != 1:
                self.fail(f"annotation {name} has {len(values)} values")
            if one(note, "double_value") in ("nan", "inf", "-inf", "-nan"):
                self.fail(f"annotation {name} is not finite")
            notes[name] = values[0] if values else None
        return notes

    def event(self, sequence, packet, event):
        track = number(event, "track_uuid", sequence.track or 0)
        if track not in self.tracks:
            self.fail(f"an event on the undeclared track {track}")
        time, kind = self.time_of(sequence, packet), one(event, "type")
        entry = {"time": time, "kind": kind, "track": track,
                 "name": self.named(sequence, "event_names", event, "name_iid", "name"),
                 "category": self.named(sequence, "event_categories", event, "category_iids", "categories"),
                 "args": self.notes(sequence, event)}
        for end, field in (("from", "flow_ids"), ("to", "terminating_flow_ids")):
            for flow in event[field]:
                self.flows[flow][end].append((time, self.order, entry))
        if kind == "TYPE_COUNTER":
            value = one(event, "counter_value", one(event, "double_counter_value"))
            self.sample(track, time, value)
        else:
            self.events[track].append((time, self.order, entry))
        extra = 0
        for of_kind, uuids in sequence.counters.items():
            values = event[f"{of_kind}_values"]
            extra += len(values)
            if len(values) > len(uuids):
                self.fail("more counter values than counters")
            for uuid, value in zip(uuids, values):
                self.sample(uuid, time, value)
        if extra > 8:
            self.fail("more than 8 counter values on one event")

    def sample(self, track, time, value):
        if self.tracks.get(track, {}).get("kind") != "counter":
            self.fail(f"a sample on {track}, which is no counter declared before")
        if value is None or not abs(float(value)) < float("inf"):
            self.fail("a sample that is not finite")
        self.samples[track].append((time, self.order, float(value or 0)))

    def finish(self):
        for track, events in self.events.items():
            events.sort(key=lambda event: event[:2])
            self.stack(track, [event for _, _, event in events])
        for flow, ends in self.flows.items():
            if len(ends["from"]) != 1 or len(ends["to"]) != 1:
                self.fail(f"flow {flow} leaves {len(ends['from'])} and reaches {len(ends['to'])} slices")
            elif ends["from"][0][:2] >= ends["to"][0][:2]:
                self.fail(f"flow {flow} arrives before it leaves")
        for track, samples in self.samples.items():
            if max(samples)[2] != 0:
                self.fail(f"counter {self.tracks[track]['name']} does not end with 0")

    def stack(self, track, events):
        open_slices, begun_at = [], None
        for event in events:
            if event["kind"] == "TYPE_SLICE_BEGIN":
                event["depth"], begun_at = len(open_slices), event["time"]
                open_slices.append(event)
                if not event["name"]:
                    self.fail(f"a slice without a name on track {track}")
            elif event["kind"] == "TYPE_SLICE_END":
                if not open_slices:
                    self.fail(f"an end without a begin on track {track} at {event['time']}")
                    continue
                begin = open_slices.pop()
                if begin["time"] < event["time"] == begun_at:
                    self.fail(f"an end after a begin of the same time on track {track} at {event['time']}")
                if event["name"]:
                    self.fail("an end with a name")
                begin["duration"] = event["time"] - begin["time"]
                self.slices.append(begin)
            elif event["kind"] == "TYPE_INSTANT":
                self.instants.append(event)
            else:
                self.fail(f"event type {event['kind']}")
        self.open.extend(open_slices)
        if any(begin["depth"] >= MAX_DEPTH for begin in self.slices):
            self.fail("slices deeper than 512 are dropped by viewers")


def check_numbers(errors):
    """The shipped .proto against the public format's numbers."""
    message, seen = None, collections.defaultdict(dict)
    for line in open(PROTO):
        if match := re.match(r"\s*message (\w+) {", line):
            message = match[1]
        elif match := re.match(r"\s*(?:optional|repeated) \w+ (\w+) = (\d+);", line):
            owner = "ClockSnapshot" if match[1] == "clocks" else "TraceAttributes" if match[1] == "attributes" else message
            seen[owner][match[1]] = int(match[2])
        elif "[packed" in line or 'syntax = "proto3"' in line:
            errors.append(f"perfetto.proto packs numbers: {line.strip()}")
    for name in sorted(set(seen) | set(NUMBERS)):
        if seen.get(name) != NUMBERS.get(name):
            errors.append(f"perfetto.proto: message {name} has other fields than the format: {seen.get(name)}")


def main():
    errors = []
    check_numbers(errors)
    viewer = Viewer(errors)
    try:
        data = open(sys.argv[1], "rb").read()
        for packet in decode(packets_of(data, errors)):
            viewer.packet(packet)
        viewer.finish()
    except (Broken, zlib.error) as broken:
        errors.append(str(broken))
    if "--open" not in sys.argv:
        errors.extend(f"{begin['name']} at {begin['time']} does not end" for begin in viewer.open[:10])
    by_category = collections.Counter(begin["category"] for begin in viewer.slices)
    kinds = collections.Counter(track["kind"] for track in viewer.tracks.values())
    report = {
        "slices": len(viewer.slices), "duration": sum(begin["duration"] for begin in viewer.slices),
        "max_depth": max((begin["depth"] + 1 for begin in viewer.slices), default=0),
        "flow_pairs": sum(len(ends["from"]) == len(ends["to"]) == 1 for ends in viewer.flows.values()),
        "instants": len(viewer.instants), "counters": sum(map(len, viewer.samples.values())),
        "counter_sum": sum(value for samples in viewer.samples.values() for _, _, value in samples),
        "open": len(viewer.open), "tracks": dict(kinds), "categories": dict(by_category), "errors": errors,
    }
    if "--slices" in sys.argv:
        report["list"] = [dict(begin, track=viewer.tracks[begin["track"]]["name"]) for begin in viewer.slices]
        report["marks"] = viewer.instants
        report["flows"] = [[ends[end][0][2]["args"].get("number") for end in ("from", "to")]
                           for ends in viewer.flows.values() if ends["from"] and ends["to"]]
        report["rows"] = list(viewer.tracks.values())
    json.dump(report, sys.stdout)
    print()
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
