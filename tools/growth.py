#!/usr/bin/env python3
"""How compile time and memory grow: with GPUs (more replicas of one model) and with fragments (more
layers on the same GPUs), each step twice the one before.

usage: growth.py PROGRAMS [--gpus-max N] [--layers-max N]

Prints processor seconds of whole commands, which other work on the machine disturbs less than the time
on the clock, and how the seconds per n log n compare with those of the first row, n being what grows.
"""
import argparse
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

REFERENCE = pathlib.Path(__file__).resolve().parent.parent / "schedules" / "reference"
GPUS_MIN, LAYERS_MIN = 64, 47
DOMAIN_GPUS = 64


def job(gpus, layers):
    """Qwen3-235B, or as many layers of it: stages of 2, experts 16 ways, to engines of 8."""
    config = json.loads((REFERENCE / "qwen3-235b.config.json").read_text())
    config["num_hidden_layers"] = layers
    first = layers // 2
    return {
        "cluster": {"domains": [{"type": "gb200-nvl72", "gpus": min(DOMAIN_GPUS, gpus // 2),
                                 "count": max(2, gpus // DOMAIN_GPUS)}]},
        "model": config,
        "source": {"gpus": f"0-{gpus // 2 - 1}",
                   "layout": {"megatron": {"pipeline": 2, "expert": 16, "expertTensor": 1,
                                           "layersPerStage": [first, layers - first]}}},
        "destination": {"gpus": f"{gpus // 2}-{gpus - 1}", "layout": {"vllm": {"tensor": 8}}}}


def measure(programs, directory, gpus, layers):
    path = pathlib.Path(directory) / "job.json"
    path.write_text(json.dumps(job(gpus, layers)))
    command = [programs / "reshard-compile", path, "-o", pathlib.Path(directory) / "plan.reshard", "--json"]
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"growth: error: {' '.join(map(str, command))}: exit {process.returncode}")
    row = json.loads(output)
    row["processorSeconds"] = usage.ru_utime + usage.ru_stime
    row["peakBytes"] = usage.ru_maxrss * 1024
    return row


def table(programs, directory, name, sizes, size_of):
    print(f"{name:>9}  {'fragments':>9}  {'classes':>7}  {'processor s':>11}  {'peak GB':>7}  {'file MB':>7}  "
          f"{'gap %':>5}  {'to n log n':>10}")
    first = None
    for gpus, layers in sizes:
        row = measure(programs, directory, gpus, layers)
        n = size_of(gpus, row)
        each = row["processorSeconds"] / (n * math.log2(n))
        first = first or each
        shown = gpus if name == "GPUs" else layers
        print(f"{shown:9,}  {row['fragments']:9,}  {row['classes']:7,}  {row['processorSeconds']:11.2f}  "
              f"{row['peakBytes'] / 1e9:7.2f}  {row['fileBytes'] / 1e6:7.1f}  {100 * row['gap']:5.1f}  "
              f"{each / first:9.2f}x", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", type=pathlib.Path, metavar="PROGRAMS")
    parser.add_argument("--gpus-max", type=int, default=16384)
    parser.add_argument("--layers-max", type=int, default=752)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        doublings = [2**i for i in range(32)]
        table(arguments.programs, directory, "GPUs",
              [(GPUS_MIN * k, 94) for k in doublings if GPUS_MIN * k <= arguments.gpus_max],
              lambda gpus, row: gpus)
        print()
        table(arguments.programs, directory, "layers",
              [(128, LAYERS_MIN * k) for k in doublings if LAYERS_MIN * k <= arguments.layers_max],
              lambda gpus, row: row["fragments"])


if __name__ == "__main__":
    main()
