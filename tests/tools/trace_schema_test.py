#!/usr/bin/env python3
"""Traces against a JSON Schema of the Trace Event Format, and what the schema cannot say: every rank,
lane and NIC has a named track, and every arrow joins slices of two ranks.

    trace_schema_test.py --programs build/release/bin --source .

Where Python's jsonschema is not installed it says so and ends with status 77.
"""

import argparse
import collections
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import jsonschema
except ImportError:
    print("skipped: Python's jsonschema is not installed, so no schema has judged a trace")
    sys.exit(77)

RANKS = NICS = 16  # of tiny-moe


class TraceSchema(unittest.TestCase):
    programs = None
    source = None

    @classmethod
    def setUpClass(cls):
        schema = json.loads((cls.source / "tests/tools/trace_event.schema.json").read_text())
        jsonschema.Draft7Validator.check_schema(schema)
        cls.validator = jsonschema.Draft7Validator(schema)
        cls.folder = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls.folder.name)
        job = cls.source / "schedules/reference/tiny-moe.job.json"
        cls.run_program("reshard-compile", job, "-o", folder / "tiny.reshard")
        cls.run_program("reshard-simulate", folder / "tiny.reshard", "--trace", folder / "predicted.json")
        cls.run_program("reshard-replay", folder / "tiny.reshard", "--backend", "host", "--trace",
                        folder / "measured.json")
        cls.traces = {name: json.loads((folder / f"{name}.json").read_text())
                      for name in ("predicted", "measured")}

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def run_program(cls, name, *words):
        done = subprocess.run([cls.programs / name, *words], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr

    def events(self, trace, phase):
        return [event for event in self.traces[trace]["traceEvents"] if event["ph"] == phase]

    def test_traces_follow_the_schema(self):
        for name, trace in self.traces.items():
            faults = [f"{list(fault.path)}: {fault.message[:200]}" for fault in self.validator.iter_errors(trace)]
            self.assertEqual(faults[:5], [], name)

    def test_the_schema_refuses_what_viewers_do(self):
        good = self.events("predicted", "X")[0]
        for change in ({"ph": "Q"}, {"ts": "0"}, {"dur": -1}, {"pid": None}, {"name": ""}, {"args": []}):
            damaged = {**self.traces["predicted"], "traceEvents": [{**good, **change}]}
            self.assertFalse(self.validator.is_valid(damaged), change)

    def test_every_rank_lane_and_nic_has_its_track(self):
        names = [event for event in self.events("predicted", "M") if event["name"] == "process_name"]
        self.assertEqual(len({event["pid"] for event in names}), len(names))
        ranks = {event["pid"] for event in names if event["args"]["name"].startswith("rank ")}
        self.assertEqual(len(ranks), RANKS)
        threads = {(event["pid"], event["tid"]) for event in self.events("predicted", "M")
                   if event["name"] == "thread_name"}
        slices = {(event["pid"], event["tid"]) for event in self.events("predicted", "X")}
        self.assertLessEqual(slices, threads)
        self.assertEqual({process for process, _ in slices}, ranks)
        counters = {event["name"] for event in self.events("predicted", "C")}
        nics = {name.split()[1] for name in counters if name.startswith("NIC ")}  # "NIC 3 out"
        self.assertEqual(nics, {str(nic) for nic in range(NICS)})

    def test_arrows_join_slices_of_two_ranks(self):
        slices = collections.defaultdict(list)
        for event in self.events("predicted", "X"):
            slices[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
        ends = collections.defaultdict(list)
        for phase in "sf":
            for event in self.events("predicted", phase):
                ends[event["id"]].append(event)
                inside = any(begin - 1e-3 <= event["ts"] <= end + 1e-3
                             for begin, end in slices[event["pid"], event["tid"]])
                self.assertTrue(inside, event)
        self.assertGreater(len(ends), 0)
        for both in ends.values():
            self.assertEqual([event["ph"] for event in both], ["s", "f"])
            self.assertNotEqual(both[0]["pid"], both[1]["pid"])
            self.assertLess(both[0]["ts"], both[1]["ts"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", required=True, type=pathlib.Path)
    parser.add_argument("--source", required=True, type=pathlib.Path)
    arguments = parser.parse_args()
    TraceSchema.programs = arguments.programs.resolve()
    TraceSchema.source = arguments.source.resolve()
    unittest.main(argv=["trace_schema_test"])
