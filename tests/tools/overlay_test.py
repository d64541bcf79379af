#!/usr/bin/env python3
"""A replay's trace beside the prediction: measured with real bytes, read back, compared step by step.

    overlay_test.py --programs build/release/bin --source .
"""

import argparse
import json
import pathlib
import subprocess
import tempfile
import unittest


class Overlay(unittest.TestCase):
    programs = None
    source = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.run_program("reshard-compile", self.source / "schedules/reference/tiny-moe.job.json",
                         "-o", "tiny.reshard")

    def run_program(self, name, *words, status=0):
        done = subprocess.run([self.programs / name, *words], cwd=self.folder,
                              capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout if status == 0 else done.stderr

    def test_measured_steps_are_those_predicted(self):
        printed = json.loads(self.run_program("reshard-replay", "tiny.reshard", "--refits", "2",
                                              "--check", "--trace", "measured.json", "--json"))
        self.assertEqual([refit["verdict"] for refit in printed["refits"]], ["right", "right"])
        trace = json.loads((self.folder / "measured.json").read_text())
        self.assertEqual(trace["otherData"]["kind"], "measured")
        steps = [event for event in trace["traceEvents"] if event["ph"] == "X"]
        self.assertEqual(min(step["ts"] for step in steps), 0)
        # Steps of a lane follow each other, round by round.
        tracks = {}
        for step in steps:
            tracks.setdefault((step["pid"], step["tid"]), []).append(step)
        for track in tracks.values():
            for before, after in zip(track, track[1:]):
                self.assertLessEqual(before["ts"] + before["dur"], after["ts"] + 1e-6)
                self.assertLess(int(before["name"][6:]), int(after["name"][6:]))
        last = max(step["ts"] + step["dur"] for step in steps) * 1e-6
        self.assertLessEqual(last, printed["refits"][-1]["seconds"])

        simulated = json.loads(self.run_program("reshard-simulate", "tiny.reshard", "--overlay",
                                                "measured.json", "--json"))
        overlay = simulated["overlay"]
        for lane in overlay["lanes"]:
            self.assertEqual(lane["measuredSteps"], lane["predictedSteps"], lane)
            self.assertGreater(lane["measuredSteps"], 0)
        self.assertEqual(len(overlay["rounds"]), simulated["rounds"])
        self.assertEqual(sorted(rank["rank"] for rank in overlay["ranks"]), list(range(16)))
        self.assertAlmostEqual(overlay["end"]["measuredSeconds"], last, places=8)
        self.assertAlmostEqual(overlay["end"]["predictedSeconds"], simulated["predictedSeconds"],
                               delta=1e-5 * simulated["predictedSeconds"])

    def test_a_prediction_over_itself_is_equal(self):
        self.run_program("reshard-simulate", "tiny.reshard", "--trace", "predicted.json")
        overlay = json.loads(self.run_program("reshard-simulate", "tiny.reshard", "--overlay",
                                              "predicted.json", "--json"))["overlay"]
        for part in [overlay["end"]] + [lane["end"] for lane in overlay["lanes"]]:
            self.assertAlmostEqual(part["measuredSeconds"], part["predictedSeconds"], places=9)

    def test_what_is_no_trace_of_this_plan_is_refused(self):
        self.run_program("reshard-compile",
                         self.source / "schedules/reference/qwen3-4b-h100-16.job.json", "-o",
                         "other.reshard")
        self.run_program("reshard-simulate", "other.reshard", "--trace", "other.json")
        line = self.run_program("reshard-simulate", "tiny.reshard", "--overlay", "other.json",
                                status=1)
        self.assertRegex(line, r"other\.json: it is of job \w+, the plan of job \w+")
        (self.folder / "broken.json").write_text('{"traceEvents": []}')
        line = self.run_program("reshard-simulate", "tiny.reshard", "--overlay", "broken.json",
                                status=1)
        self.assertIn("broken.json: this is no trace of reshard", line)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", required=True)
    parser.add_argument("--source", required=True)
    arguments = parser.parse_args()
    Overlay.programs = pathlib.Path(arguments.programs).resolve()
    Overlay.source = pathlib.Path(arguments.source).resolve()
    unittest.main(argv=["overlay_test.py"])
