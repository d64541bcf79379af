#!/usr/bin/env python3
"""tools/calibrate finds the constants that a sample was made with, and refuses what is no sample.

    calibrate_test.py --programs build/release/bin --source .
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

HEAD = """# nThread 1 nGpus 1 minBytes 8 maxBytes 1073741824 step: 2(factor) warmup iters: 5 iters: 20
# Using devices
#  Rank  0 Group  0 Pid   4242 on      node0 device  0 [0x18] Sample GPU
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
"""


def sample(latency_us, gbps):
    """What sendrecv_perf prints for latency + bytes / rate; in place is slower and does not count."""
    text = HEAD
    for power in range(3, 31):
        size = 1 << power
        time = latency_us + size / gbps / 1e3
        rate = size / time / 1e3
        text += (f"{size:12d} {size // 4:12d}     float    none      -1 {time:9.2f} {rate:7.2f} {rate:7.2f} "
                 f"     0 {2 * time:9.2f} {rate / 2:7.2f} {rate / 2:7.2f}    N/A\n")
    return text + "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 21.5\n"


class Calibrate(unittest.TestCase):
    programs = None
    source = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, text):
        (self.folder / name).write_text(text)
        return name

    def run_it(self, *words):
        return subprocess.run([sys.executable, self.source / "tools" / "calibrate", *words],
                              cwd=self.folder, capture_output=True, text=True, timeout=60)

    def constants(self, name="mine.json"):
        return json.loads((self.folder / name).read_text())["constants"]

    def test_finds_what_the_samples_were_made_with(self):
        done = self.run_it("--network", self.write("network.txt", sample(27, 48)),
                           "--channel", self.write("channel.txt", sample(27, 13.1)),
                           "--nvlink", self.write("nvlink.txt", sample(17, 370)),
                           "--nvlink-channel", self.write("one.txt", sample(17, 37)),
                           "--date", "2026-11-29", "-o", "mine.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        constants = self.constants()
        self.assertAlmostEqual(constants["networkChannelGBps"]["value"], 13.1, delta=0.01)
        self.assertAlmostEqual(constants["groupUs"]["value"], 27 - 0.19 * 14 - 5, delta=0.02)
        self.assertAlmostEqual(constants["nvlinkChannelShare"]["value"], 0.1, delta=0.001)
        self.assertEqual(constants["networkChannelGBps"]["date"], "2026-11-29")
        self.assertIn("channel.txt", constants["networkChannelGBps"]["source"])
        self.assertIn("GBps of a NIC in cluster.json: 48", done.stdout)
        self.assertIn("nvlinkGBps in cluster.json: at least 370", done.stdout)

    def test_leaves_the_rest_as_it_is(self):
        done = self.run_it("--channel", self.write("channel.txt", sample(27, 12)), "-o", "mine.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        base = json.loads((self.source / "simulator/constants/default.json").read_text())["constants"]
        constants = self.constants()
        self.assertEqual({name for name in base if base[name] != constants[name]},
                         {"networkChannelGBps"})

    def test_the_simulator_takes_what_it_writes(self):
        self.run_it("--channel", self.write("channel.txt", sample(27, 12)), "-o", "mine.json")
        job = self.source / "schedules/reference/tiny-moe.job.json"
        done = subprocess.run([self.programs / "reshard-simulate", job, "--constants", "mine.json"],
                              cwd=self.folder, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_refuses_what_is_no_sample(self):
        for text in ("", "hello\n", HEAD, sample(27, 48).split("\n", 8)[7] + "\n"):
            done = self.run_it("--network", self.write("bad.txt", text), "-o", "mine.json")
            self.assertEqual(done.returncode, 1, text)
            self.assertEqual(len(done.stderr.splitlines()), 1)
            self.assertFalse((self.folder / "mine.json").exists())
        done = self.run_it("--network", "none.txt", "-o", "mine.json")
        self.assertIn("none.txt: cannot be read", done.stderr)
        done = self.run_it("--network", self.write("fast.txt", sample(3, 48)), "-o", "mine.json")
        self.assertIn("less than a hop of 2.66 us", done.stderr)
        self.assertEqual(self.run_it("-o", "mine.json").returncode, 2)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", required=True, type=pathlib.Path)
    parser.add_argument("--source", required=True, type=pathlib.Path)
    arguments, rest = parser.parse_known_args()
    Calibrate.programs = arguments.programs.resolve()
    Calibrate.source = arguments.source.resolve()
    unittest.main(argv=["calibrate_test", *rest])
