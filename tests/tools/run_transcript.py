#!/usr/bin/env python3
"""Runs the commands of a transcript and holds what they print against it.

A transcript is text:

    # a comment, kept
    === NAME          a file to write into the working directory, up to a line "==="
    % COMMAND         one of the programs and its arguments, split as a shell would, to set things up
    $ COMMAND         the same, and held to what follows
    output            what it prints on standard output
    ! output          what it prints on standard error
    [exit N]          its exit status, where that is not 0

Empty lines before a command, a comment or a file are for the eye. The working directory is empty but for
`schedules` and `simulator`, links into the source tree. Times that depend on
the machine are masked. Every command is also held to what all commands promise: one that fails prints
one line on standard error, nothing on standard output, and leaves no file behind.

    run_transcript.py --programs build/release/bin --source . tests/tools/transcripts/*.txt [--update]
"""

import argparse
import difflib
import itertools
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

DURATION = r"\d[\d,.]* (?:ns|us|ms|s)\b"
RATE = r"\d[\d,.e+-]* GB/s"
WALL_CLOCK_FIELDS = r'"(compileSeconds|verifySeconds|simulateSeconds|seconds)": [-+\d.e]+'


def masked(line, program):
    """`line` without the times that differ from run to run."""
    line = re.sub(WALL_CLOCK_FIELDS, r'"\1": <seconds>', line)
    if line.startswith("spent "):
        line = re.sub(DURATION, "<time>", line)
    if program == "reshard-replay":  # all its times are measured, and widen its columns
        line = re.sub(RATE, "<rate>", re.sub(DURATION, "<time>", line))
        line = re.sub(r"(?<=\S) {2,}", "  ", line)
    return line


def run(command, folder, programs):
    words = shlex.split(command)
    program = pathlib.Path(programs, words[0])
    before = sorted(os.listdir(folder))
    done = subprocess.run([program, *words[1:]], cwd=folder, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=600,
                          env={**os.environ, "LC_ALL": "C", "NO_COLOR": "1"})
    lines = [masked(line, words[0]) for line in done.stdout.splitlines()]
    lines += ["! " + masked(line, words[0]) for line in done.stderr.splitlines()]
    broken = []
    if done.returncode != 0:
        lines.append(f"[exit {done.returncode}]")
        if done.returncode < 0:
            broken.append(f"was killed by signal {-done.returncode}")
        if len(done.stderr.splitlines()) != 1:
            broken.append("failed without exactly one line on standard error")
        if done.stdout and done.returncode != 4:  # a run that failed shows how far it came
            broken.append("failed after printing a result")
        if sorted(os.listdir(folder)) != before:
            broken.append("failed and left a file behind")
    return lines, broken


def replay(text, folder, programs, source):
    """The transcript as it is now, and what no transcript may show."""
    for name in ("schedules", "simulator"):
        os.symlink(source / name, pathlib.Path(folder, name))
    now, faults = [], []
    lines = text.splitlines()
    while lines:
        line = lines.pop(0)
        if line.startswith("=== "):
            contents = list(itertools.takewhile(lambda inner: inner != "===", lines))
            del lines[:len(contents) + 1]
            pathlib.Path(folder, line[4:]).write_text("\n".join(contents) + "\n")
            now += [line, *contents, "==="]
        elif line.startswith("$ "):
            printed, broken = run(line[2:], folder, programs)
            now += [line, *printed]
            faults += [f"{line[2:]}: {fault}" for fault in broken]
        elif line.startswith("% "):
            now.append(line)
            printed, _ = run(line[2:], folder, programs)
            if printed and printed[-1].startswith("[exit"):
                faults.append(f"{line[2:]}: {printed}")
        elif line.startswith("#"):
            now.append(line)
        elif not line and (not lines or lines[0].startswith(("$ ", "% ", "#", "=== "))):
            now.append(line)  # any other empty line is a command's
    return "\n".join(now) + "\n", faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", required=True, help="folder of the programs")
    parser.add_argument("--source", required=True, help="root of the source tree")
    parser.add_argument("--update", action="store_true", help="rewrite the transcripts")
    parser.add_argument("transcripts", nargs="+")
    arguments = parser.parse_args()
    programs = pathlib.Path(arguments.programs).resolve()
    source = pathlib.Path(arguments.source).resolve()

    failed = False
    for path in map(pathlib.Path, arguments.transcripts):
        text = path.read_text()
        with tempfile.TemporaryDirectory() as folder:
            now, faults = replay(text, folder, programs, source)
        for fault in faults:
            print(f"{path.name}: {fault}")
        if now != text and arguments.update:
            path.write_text(now)
            print(f"{path.name}: updated")
        elif now != text:
            sys.stdout.writelines(difflib.unified_diff(
                text.splitlines(True), now.splitlines(True), f"{path.name}: expected",
                f"{path.name}: now"))
        failed |= bool(faults) or (now != text and not arguments.update)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
