#!/usr/bin/env python3
"""What tools/bench.sh runs once the programs are built: whole commands and small benchmarks over the
reference jobs, as one table; against a stored table, by ratio.

usage: bench.py PROGRAMS [--jobs PATTERN] [--store FILE] [--against FILE]
"""
import argparse
import fnmatch
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

REFERENCE = pathlib.Path(__file__).resolve().parent.parent / "schedules" / "reference"
# Real bytes are replayed where both sides fit this machine with room to spare.
REPLAYED_BYTES_MAX = 2 << 30
# (key, heading, unit's divisor)
COLUMNS = [
    ("compileSeconds", "compile s", 1), ("peakBytes", "peak GB", 1e9),
    ("verifySeconds", "verify s", 1), ("simulateSeconds", "simulate s", 1),
    ("loadSeconds", "load ms", 1e-3), ("replayBytesPerSecond", "replay GB/s", 1e9),
    ("fileBytes", "file MB", 1e6), ("predictedSeconds", "predicted ms", 1e-3), ("gap", "gap %", 1e-2),
]


def run(command):
    """Output, wall seconds and peak resident bytes of a command; ends the script if it fails."""
    start = time.monotonic()
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"bench: error: {' '.join(map(str, command))}: exit {process.returncode}")
    return output, time.monotonic() - start, usage.ru_maxrss * 1024


def measure(programs, job, directory):
    plan = pathlib.Path(directory) / "plan.reshard"
    output, seconds, peak = run([programs / "reshard-compile", job, "-o", plan, "--json"])
    compiled = json.loads(output)
    row = {"compileSeconds": seconds, "peakBytes": peak}
    for key in ("fileBytes", "predictedSeconds", "gap"):
        row[key] = compiled[key]
    for key, program in (("verifySeconds", "reshard-verify"), ("simulateSeconds", "reshard-simulate")):
        row[key] = json.loads(run([programs / program, plan, "--json"])[0])[key]
    benchmark = programs / "rank_part_benchmark"
    if benchmark.exists():
        parts = json.loads(run([benchmark, plan, "--benchmark_format=json"])[0])["benchmarks"]
        row["loadSeconds"] = max(part["real_time"] for part in parts) / 1e3
    if compiled["bytes"] + compiled["logicalBytes"] <= REPLAYED_BYTES_MAX:
        replayed = json.loads(run([programs / "reshard-replay", plan, "--refits", "5", "--json"])[0])
        row["replayBytesPerSecond"] = max(
            replayed["bytes"] / refit["seconds"] for refit in replayed["refits"])
    return row


def print_table(rows, against):
    headings = ["job"] + [heading for _, heading, _ in COLUMNS]
    lines = []
    for name, row in rows.items():
        line = [name]
        for key, _, unit in COLUMNS:
            value, before = row.get(key), against.get(name, {}).get(key)
            text = "-" if value is None else f"{value / unit:.4g}"
            if value is not None and before:
                text += f" ({value / before:.2f}x)"
            line.append(text)
        lines.append(line)
    widths = [max(len(line[i]) for line in [headings] + lines) for i in range(len(headings))]
    for line in [headings] + lines:
        print("  ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                        for i, (cell, width) in enumerate(zip(line, widths))), flush=True)


def main():
    parser = argparse.ArgumentParser(prog="bench.sh")
    parser.add_argument("programs", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--jobs", default="*", metavar="PATTERN", help="only jobs of such names")
    parser.add_argument("--store", metavar="FILE", help="write the figures to FILE")
    parser.add_argument("--against", metavar="FILE",
                        help="show ratios to the figures stored in FILE, on the same machine")
    arguments = parser.parse_args()
    against = {}
    if arguments.against:
        against = json.loads(pathlib.Path(arguments.against).read_text())
    rows = {}
    for job in sorted(REFERENCE.glob("*.job.json")):
        name = job.name.removesuffix(".job.json")
        if not fnmatch.fnmatch(name, arguments.jobs):
            continue
        if sys.stderr.isatty():
            print(name, file=sys.stderr)
        with tempfile.TemporaryDirectory() as directory:
            rows[name] = measure(arguments.programs, job, directory)
    if not rows:
        sys.exit(f"bench: error: no reference job is named {arguments.jobs}")
    print_table(rows, against)
    if arguments.store:
        pathlib.Path(arguments.store).write_text(json.dumps(rows, indent=2) + "\n")


main()
