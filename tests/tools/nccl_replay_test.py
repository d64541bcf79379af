#!/usr/bin/env python3
"""reshard-replay --backend nccl in processes, as torchrun starts them, on doubles of CUDA and NCCL that
processes share.

    nccl_replay_test.py --programs build/release/bin --replay build/release/tests/reshard_replay_on_doubles

It replays and checks, writes a trace that reshard-simulate reads, and a rank that is killed with SIGKILL,
before, during and after every NCCL group of a refit and in the commit, is named by the survivors in time.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import tempfile
import time
import unittest

RANKS = 4
DEADLINE_SECONDS = 5
# The promise is deadline + 1 s; a machine with other things to do may take longer to say so.
PATIENCE_SECONDS = 60
ARGUMENTS = None


def side(gpus, dim):
    layout = {"meshes": {"m": {"axes": [["x", 2]]}},
              "tensors": [{"match": "*", "mesh": "m", "placements": [f"S({dim})"]}]}
    return {"gpus": gpus, "layout": {"explicit": layout}}


# Little staging: a few rounds.
JOB = {"cluster": {"domains": [{"type": "dgx-h100"}]},
       "model": {"a": {"shape": [4096, 60], "dtype": "F32"},
                 "b": {"shape": [600, 200], "dtype": "BF16"}},
       "source": side("0-1", 0), "destination": side("2-3", 1), "options": {"stagingMiB": 0.5}}


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Ranks:
    """One process for each rank."""

    def __init__(self, plan, *words, kill=None, plans=None):
        port = free_port()
        self.processes = []
        for rank in range(RANKS):
            environment = {**os.environ, "LC_ALL": "C", "RANK": str(rank), "WORLD_SIZE": str(RANKS),
                           "LOCAL_RANK": str(rank), "MASTER_ADDR": "127.0.0.1",
                           "MASTER_PORT": str(port), "RESHARD_PORT": str(port),
                           "RESHARD_DOUBLES_PROCESSES": "1"}
            if kill:
                environment["RESHARD_DOUBLES_KILL"] = kill
            self.processes.append(subprocess.Popen(
                [ARGUMENTS.replay, (plans or {}).get(rank, plan), "--backend", "nccl", *words],
                env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))

    def wait(self, patience=PATIENCE_SECONDS):
        """(exit status, standard output, standard error) of each rank."""
        results = []
        try:
            for process in self.processes:
                output, errors = process.communicate(timeout=patience)
                results.append((process.returncode, output, errors))
        finally:
            for process in self.processes:
                process.kill()
        return results


class NcclReplay(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.plan = cls.folder / "job.reshard"
        cls.rounds = cls.compile(JOB, cls.plan)["rounds"]
        assert cls.rounds > 2, cls.rounds

    @classmethod
    def compile(cls, job, plan):
        source = plan.with_suffix(".json")
        source.write_text(json.dumps(job))
        done = subprocess.run([ARGUMENTS.programs / "reshard-compile", source, "-o", plan, "--json"],
                              check=True, capture_output=True)
        return json.loads(done.stdout)

    def test_replays_checks_and_says_when_steps_ran(self):
        trace = self.folder / "measured.json"
        results = Ranks(self.plan, "--refits", "3", "--check", "--json", "--trace",
                        str(trace)).wait()
        for status, output, errors in results:
            self.assertEqual(status, 0, errors)
        for _, output, _ in results[1:]:
            self.assertEqual(output, "")
        report = json.loads(results[0][1])
        self.assertEqual((report["backend"], report["ranks"]), ("nccl", RANKS))
        self.assertEqual([refit["verdict"] for refit in report["refits"]], ["right"] * 3)
        self.assertEqual(json.loads(trace.read_text())["otherData"]["kind"], "measured")
        done = subprocess.run([ARGUMENTS.programs / "reshard-simulate", self.plan, "--overlay",
                               trace, "--json"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        overlay = json.loads(done.stdout)["overlay"]
        for lane in overlay["lanes"]:
            self.assertEqual(lane["measuredSteps"], lane["predictedSteps"], lane)
            self.assertGreater(lane["measuredSteps"], 0)
        self.assertEqual(sorted(rank["rank"] for rank in overlay["ranks"]), list(range(RANKS)))
        self.assertGreater(overlay["end"]["measuredSeconds"], 0)

    def test_replays_under_mpirun(self):
        without = {name: value for name, value in os.environ.items() if name != "RANK"}
        done = subprocess.run(
            ["mpirun", "--oversubscribe", "-n", str(RANKS), ARGUMENTS.replay, self.plan, "--backend",
             "nccl", "--refits", "2", "--check", "--json"], capture_output=True, text=True,
            timeout=PATIENCE_SECONDS,
            env={**without, "LC_ALL": "C", "RESHARD_DOUBLES_PROCESSES": "1",
                 "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual((report["backend"], report["ranks"]), ("nccl", RANKS))
        self.assertEqual([refit["verdict"] for refit in report["refits"]], ["right"] * 2)

    def test_two_nodes_on_one_machine_are_another_placement(self):
        job = json.loads(json.dumps(JOB))
        job["cluster"] = {"domains": [{"type": "dgx-h100", "gpus": 2, "count": 2}]}
        plan = self.folder / "two-nodes.reshard"
        self.compile(job, plan)
        for status, _, errors in Ranks(plan).wait():
            self.assertEqual(status, 1, errors)
            self.assertRegex(errors, "rank 2: sits elsewhere than the plan believes: .* a node with "
                                     "rank 0.*--ignore-placement")
        for status, _, errors in Ranks(plan, "--ignore-placement", "--check", "--refits", "2").wait():
            self.assertEqual(status, 0, errors)

    def test_refuses_another_plan(self):
        job = json.loads(json.dumps(JOB))
        job["model"]["b"]["dtype"] = "F32"
        other = self.folder / "other.reshard"
        self.compile(job, other)
        for status, _, errors in Ranks(self.plan, plans={2: other}).wait():
            self.assertEqual(status, 1, errors)
            self.assertRegex(errors, r"rank 2: its plan is of job [0-9a-f]{32}, that of rank 0 of")

    def survivors(self, victim, results, what):
        """What the others said that could not install, by rank; nothing where all could."""
        self.assertEqual(results[victim][0], -signal.SIGKILL, what)
        said = {}
        for rank, (status, _, errors) in enumerate(results):
            if rank == victim or status == 0:
                continue
            self.assertEqual(status, 4, f"{what}, rank {rank}: {errors}")
            self.assertEqual(errors.count("\n"), 1, errors)
            said[rank] = errors
        return said

    def kill_in_group(self, victim, group, operations):
        """Whether that rank has such a group in preparing and one refit."""
        what = f"rank {victim} killed in group {group} after {operations} operations"
        results = Ranks(self.plan, "--deadline", str(DEADLINE_SECONDS),
                        kill=f"{victim}:{group}:{operations}").wait()
        if results[victim][0] != -signal.SIGKILL:
            self.assertEqual([status for status, _, _ in results], [0] * RANKS, what)
            return False
        said = self.survivors(victim, results, what)
        missing = set()
        for rank, errors in said.items():
            if group == 0:  # comparing where ranks sit
                self.assertIn("not over in time", errors, what)
                continue
            found = re.search(rf"rank {rank}: round \d+ of version 1 was not over after "
                              rf"{DEADLINE_SECONDS} s: it waited for ranks? ([\d, ]+) in", errors)
            self.assertIsNotNone(found, f"{what}: {errors}")
            missing |= {int(peer) for peer in found[1].split(",")}
        # The last group may be one whose operations nobody else waits for to end.
        if said and group > 0:
            self.assertIn(victim, missing, f"{what}: {said}")
        self.died.append((victim, group, operations, len(said)))
        return True

    def test_a_death_in_any_group_is_noticed_in_time(self):
        self.died = []
        for victim in (0, 3):  # one that sends, one that receives
            with concurrent.futures.ThreadPoolExecutor(4) as pool:
                group, is_over = 0, False
                while not is_over:
                    points = [(group + i // 2, i % 2) for i in range(4)]
                    killed = list(pool.map(lambda point: self.kill_in_group(victim, *point), points))
                    is_over = not all(killed)
                    group += 2
            rank_deaths = [death for death in self.died if death[0] == victim]
            # The comparison, rounds and the commit, before and after an operation.
            self.assertGreaterEqual(len(rank_deaths), 2 * (1 + self.rounds + 1))
            # All but those at the very end of the commit keep others from installing.
            self.assertGreaterEqual(sum(1 for death in rank_deaths if death[3] > 0),
                                    len(rank_deaths) - 2)
        print(f"{len(self.died)} deaths (rank, group, operations, survivors that failed): {self.died}")

    def test_a_process_killed_in_endless_refits_is_named(self):
        ranks = Ranks(self.plan, "--refits", "1000000", "--deadline", str(DEADLINE_SECONDS))
        time.sleep(2)  # into the refits
        self.assertEqual([process.poll() for process in ranks.processes], [None] * RANKS)
        ranks.processes[1].send_signal(signal.SIGKILL)
        killed = time.monotonic()
        said = self.survivors(1, ranks.wait(), "rank 1 killed")
        print(f"all survivors had left {time.monotonic() - killed:.1f} s after the kill, the "
              f"deadline is {DEADLINE_SECONDS} s")
        self.assertEqual(set(said), {0, 2, 3})
        self.assertTrue(any(re.search(r"waited for ranks? [\d, ]*1", text) for text in said.values()),
                        said)


def main():
    global ARGUMENTS
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", type=pathlib.Path, required=True)
    parser.add_argument("--replay", type=pathlib.Path, required=True)
    ARGUMENTS, rest = parser.parse_known_args()
    ARGUMENTS.programs, ARGUMENTS.replay = ARGUMENTS.programs.resolve(), ARGUMENTS.replay.resolve()
    unittest.main(argv=["nccl_replay_test.py", *rest])


if __name__ == "__main__":
    main()
