#!/usr/bin/env python3
"""reshard-replay --backend mpi, as its user starts it: 8 processes on however few cores there are.

    mpi_replay_test.py --programs build/release/bin --source .

Three things: it replays and checks, it refuses a wrong number of processes, and when a process is killed
every other one says which round it was in, whom it waited for, and leaves, soon after the deadline.
"""

import argparse
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time

RANKS = 8
DEADLINE_SECONDS = 3
# The promise is deadline + 1 s; a machine with other things to do may take longer to say so.
PATIENCE_SECONDS = 60

JOB = {
    "cluster": {"domains": [{"type": "dgx-h100", "count": 1}]},
    "model": "model.json",
    "source": {"gpus": "0-3", "layout": {"explicit": {
        "meshes": {"m": {"axes": [["x", 4]]}},
        "tensors": [{"match": "*", "mesh": "m", "placements": ["S(0)"]}]}}},
    "destination": {"gpus": "4-7", "layout": {"explicit": {
        "meshes": {"m": {"axes": [["dp", 2], ["tp", 2]]}},
        "tensors": [{"match": "c", "mesh": "m", "placements": ["R", "R"]},
                    {"match": "*", "mesh": "m", "placements": ["R", "S(1)"]}]}}},
}
MODEL = {
    "a": {"shape": [512, 1030], "dtype": "BF16"},
    "b": {"shape": [1000, 510], "dtype": "F32"},
    "c": {"shape": [510], "dtype": "BF16"},
}

faults = []


def expect(condition, what):
    if not condition:
        faults.append(what)


def mpirun(processes, *options):
    # Open MPI refuses root unless told otherwise, and more processes than cores.
    return ["mpirun", *options, "--oversubscribe", "-n", str(processes)]


def environment():
    return {**os.environ, "LC_ALL": "C", "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def replays_and_checks(replay, plan):
    trace = plan.with_name("measured.json")
    done = subprocess.run([*mpirun(RANKS), *replay, "--refits", "3", "--check", "--json", "--trace",
                           str(trace)],
                          capture_output=True, text=True, timeout=300, env=environment())
    expect(done.returncode == 0, f"replay: exit {done.returncode}: {done.stderr}")
    if done.returncode != 0:
        return
    report = json.loads(done.stdout)
    expect(report["backend"] == "mpi" and report["ranks"] == RANKS, f"replay: {report}")
    verdicts = [refit["verdict"] for refit in report["refits"]]
    expect(verdicts == ["right"] * 3, f"replay: {verdicts}")
    done = subprocess.run([str(pathlib.Path(replay[0]).with_name("reshard-simulate")), str(plan),
                           "--overlay", str(trace), "--json"], capture_output=True, text=True)
    expect(done.returncode == 0, f"overlay: {done.stderr}")
    for lane in json.loads(done.stdout or '{"overlay": {"lanes": [{}]}}')["overlay"]["lanes"]:
        expect(lane.get("measuredSteps") == lane.get("predictedSteps") != None, f"overlay: {lane}")


def refuses_other_numbers(replay, plan):
    done = subprocess.run([*mpirun(2), *replay], capture_output=True, text=True, timeout=300,
                          env=environment())
    expect(done.returncode == 2, f"2 processes: exit {done.returncode}")
    expect(f"run it under mpirun -n {RANKS}" in done.stderr, f"2 processes: {done.stderr}")


def processes_of(plan):
    """Process numbers by rank, of the processes that replay this very plan file."""
    found = {}
    for folder in pathlib.Path("/proc").iterdir():
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
            variables = (folder / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if not words[0].endswith(b"reshard-replay") or str(plan).encode() not in words:
            continue
        for variable in variables:
            if variable.startswith(b"OMPI_COMM_WORLD_RANK="):
                found[int(variable.split(b"=")[1])] = int(folder.name)
    return found


def survivors_of(victim, replay, plan):
    """Kills rank `victim` in the middle of endless refits; what the others say."""
    output = tempfile.TemporaryFile("w+")
    errors = tempfile.TemporaryFile("w+")
    started = subprocess.Popen(
        [*mpirun(RANKS, "--enable-recovery"), *replay, "--refits", "1000000", "--deadline",
         str(DEADLINE_SECONDS)], stdout=output, stderr=errors, text=True, env=environment())
    try:
        patience = time.monotonic() + PATIENCE_SECONDS
        ranks = {}
        while len(ranks) < RANKS and time.monotonic() < patience:
            time.sleep(0.2)
            ranks = processes_of(plan)
        expect(len(ranks) == RANKS, f"{len(ranks)} processes came up")
        time.sleep(3)  # into the refits
        os.kill(ranks[victim], signal.SIGKILL)
        killed = time.monotonic()
        started.wait(timeout=DEADLINE_SECONDS + PATIENCE_SECONDS)
        print(f"rank {victim} killed; mpirun ended {time.monotonic() - killed:.1f} s later, "
              f"the deadline is {DEADLINE_SECONDS} s")
    except (subprocess.TimeoutExpired, KeyError, ProcessLookupError) as error:
        started.kill()
        faults.append(f"killing rank {victim}: {error!r}")
    expect(not processes_of(plan), f"killing rank {victim}: somebody is still running")
    errors.seek(0)
    return [line for line in errors.read().splitlines() if line.startswith("reshard-replay: ")]


def names_who_is_missing(victim, replay, plan):
    lines = survivors_of(victim, replay, plan)
    said = {}
    for line in lines:
        found = re.search(r"rank (\d+): round \d+ of version \d+ was not over after 3 s: "
                          r"it waited for ranks? ([\d, ]+)", line)
        expect(found is not None, f"killing rank {victim}: {line}")
        if found:
            said[int(found[1])] = {int(peer) for peer in found[2].split(",")}
    others = set(range(RANKS)) - {victim}
    expect(set(said) == others, f"killing rank {victim}: errors of {sorted(said)}")
    expect(any(victim in peers for peers in said.values()),
           f"killing rank {victim}: nobody waited for it: {said}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", type=pathlib.Path, required=True)
    parser.add_argument("--source", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    programs = arguments.programs.resolve()
    with tempfile.TemporaryDirectory() as folder:
        job = pathlib.Path(folder, "job.json")
        plan = pathlib.Path(folder, "plan.reshard")
        job.write_text(json.dumps(JOB))
        pathlib.Path(folder, "model.json").write_text(json.dumps(MODEL))
        subprocess.run([programs / "reshard-compile", job, "-o", plan], check=True,
                       stdout=subprocess.DEVNULL)
        replay = [str(programs / "reshard-replay"), str(plan), "--backend", "mpi"]
        replays_and_checks(replay, plan)
        refuses_other_numbers(replay, plan)
        for victim in (2, 5):  # one that sends, one that receives
            names_who_is_missing(victim, replay, plan)
    for fault in faults:
        print("FAULT:", fault)
    raise SystemExit(1 if faults else 0)


if __name__ == "__main__":
    main()
