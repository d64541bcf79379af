#!/usr/bin/env python3
"""Case C20 over MPI, with real processes: a rank of the small plan dies by SIGKILL before, during and
after every round and inside the commit.

    mpi_deaths_test.py --mpirun mpirun --program build/release/tests/mpi_dying_rank

The small plan has five ranks and five rounds (tests/schedules/small_plan.h). Rank 2 receives in rounds 0
to 3 and relays in rounds 1 to 4. Of the commit's tree rank 0 is the top and rank 1 the only other rank
with children, 3 and 4.
"""

import argparse
import concurrent.futures
import os
import re
import subprocess
import unittest

RANKS = 5
DEADLINE_SECONDS = 1
# The promise is deadline + 1 s; a machine with other things to do may take longer to say so.
PATIENCE_SECONDS = 60
COMMIT_TAG = 0
ARGUMENTS = None

LINE = re.compile(r"said: (\d+) ([\d.]+) (.*)")
ERROR = re.compile(r"rank (\d+): round \d of version 1 was not over after 1 s: "
                   r"it waited for (?:itself|ranks? ([\d, ]+))( in the commit)?; ")


def run(rank, tag, when, times=1):
    """What each survivor said, by rank: the time it took and its words."""
    environment = {**os.environ, "LC_ALL": "C", "OMPI_ALLOW_RUN_AS_ROOT": "1",
                   "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                   "RESHARD_MPI_DEATH": f"{rank}:{tag}:{when}:{times}"}
    done = subprocess.run(
        [ARGUMENTS.mpirun, "--enable-recovery", "--oversubscribe", "-n", str(RANKS),
         ARGUMENTS.program, str(DEADLINE_SECONDS)],
        capture_output=True, text=True, timeout=PATIENCE_SECONDS, env=environment)
    return {int(rank): (float(seconds), words)
            for rank, seconds, words in LINE.findall(done.stdout)}


class MpiDeaths(unittest.TestCase):
    def check(self, point):
        """How many survivors did not install, and the longest any of them waited."""
        victim, tag = point[:2]
        said = run(*point)
        self.assertEqual(set(said), set(range(RANKS)) - {victim}, f"{point}: {said}")
        missing, failed = set(), 0
        for rank, (_, words) in said.items():
            if words == "installed":
                continue
            failed += 1
            found = ERROR.match(words)
            self.assertIsNotNone(found, f"{point}: {words}")
            self.assertEqual(int(found[1]), rank)
            missing |= {int(peer) for peer in (found[2] or "").split(",") if peer}
        # Nobody commits without the victim; once it has sent all its tokens nobody misses it.
        if tag != COMMIT_TAG:
            self.assertEqual(failed, RANKS - 1, f"{point}: {said}")
        if failed:
            self.assertIn(victim, missing, f"{point}: {said}")
        return failed, max(seconds for seconds, _ in said.values())

    def check_all(self, points):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            results = list(pool.map(self.check, points))
        print(f"{len(points)} deaths; the longest wait of a survivor was "
              f"{max(seconds for _, seconds in results):.2f} s, the deadline is {DEADLINE_SECONDS} s")
        return [failed for failed, _ in results]

    def test_without_a_death_all_install(self):
        said = run(-1, 0, "before")
        self.assertEqual([words for _, words in said.values()], ["installed"] * RANKS)

    def test_before_during_and_after_every_round(self):
        self.check_all([(2, 1 + round_number, when) for round_number in range(5)
                        for when in ("before", "during", "after")])

    def test_inside_the_commit(self):
        # Rank 1 receives from its children, sends to and receives from its parent, sends to its
        # children: its operations have ended three times.
        failed = self.check_all([(1, COMMIT_TAG, "before"), (1, COMMIT_TAG, "during"),
                                 (1, COMMIT_TAG, "after", 1), (1, COMMIT_TAG, "after", 2),
                                 (1, COMMIT_TAG, "after", 3)])
        self.assertEqual(failed[:3], [4, 4, 4])
        # Its parent has its token; only its children wait for the verdict.
        self.assertEqual(failed[3], 2)
        self.assertLessEqual(failed[4], 2)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--mpirun", required=True)
    parser.add_argument("--program", required=True)
    ARGUMENTS, rest = parser.parse_known_args()
    unittest.main(argv=["mpi_deaths_test.py", *rest])
