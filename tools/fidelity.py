#!/usr/bin/env python3
"""Predicted beside published refit times, one set of constants for all rows.

usage: tools/fidelity.py [--bin DIR] [--constants FILE] [--rows J9,J10] [--update FILE | --check FILE]

Prints the table of simulator/FIDELITY.md. --update writes it into the file, between its two marks;
--check compares the rows asked for, and the sums if all are, with what stands there.

A row is one published figure: a job, how it was refitted, and how long that took. Where a method is
a sequence (shard to shard for most bytes, then a broadcast of the rest) its steps are jobs of their
own, each simulated by itself, and their times added up.
"""

import argparse
import dataclasses
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
REFERENCE = ROOT / "schedules" / "reference"
BEGIN = "<!-- table: tools/fidelity.py --update simulator/FIDELITY.md -->"
END = "<!-- end of the table -->"

# What NeMo RL sends shard to shard: gate, up and down projections and experts, but no shared ones.
BULK = ["*.mlp.experts.*", "*.mlp.gate_proj.*", "*.mlp.up_proj.*", "*.mlp.down_proj.*"]
REST = ["*.self_attn.*", "*norm.weight", "*embed_tokens.weight", "lm_head.weight", "*.mlp.gate.*", "*.shared_experts.*"]
# M2N's rules by name for the dim that tensor parallelism cuts; all else is replicated.
COLUMNS = ["*.q_proj.weight", "*.k_proj.weight", "*.v_proj.weight", "*.q_a_proj.weight", "*.q_b_proj.weight",
           "*.kv_a_proj_with_mqa.weight", "*.kv_b_proj.weight", "*.gate_proj.weight", "*.up_proj.weight",
           "*embed_tokens.weight", "lm_head.weight",
           "*.experts.*.gate_proj.weight_scale_inv", "*.experts.*.up_proj.weight_scale_inv"]
ROWS = ["*.o_proj.weight", "*.down_proj.weight", "*.experts.*.down_proj.weight_scale_inv"]


# nccl_m2n's benchmark of one tensor (benchmarks/reshard_bench.cc) moves ncclInt8, whatever the model has.
BENCH_DTYPE = "I8"
# Of four replicas two send where M2N goes by domains (getTargetRepRange() of src/reshard_loadbalance.cc).
BENCH_SOURCE, BENCH_REPLICAS = "0-31", 2


@dataclasses.dataclass(frozen=True)
class Step:
    planner: str
    tensors: str = "all"  # of the job: all, bulk, rest
    layout: str = "m2n"  # m2n: the destination by M2N's rules; own: the job's; bench: as M2N's benchmark


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    job: str
    method: str
    steps: tuple
    published: tuple  # seconds: one figure, or the ends of a range


SHARD_TO_SHARD = (Step("m2n", "bulk"), Step("packed", "rest"))
TWO_STEPS = "m2n, then the rest broadcast"
NEMO = (Step("nemo", layout="own"),)
PACKED = (Step("packed", layout="own"),)
DIRECT = (Step("direct"),)
M2N = (Step("m2n"),)
BENCH_DIRECT = (Step("direct", layout="bench"),)
BENCH_M2N = (Step("m2n", layout="bench"),)

TABLE = (
    Row("J1", "deepseek-v3-gb200-256", "m2n", M2N, (1.447,)),
    Row("J1", "deepseek-v3-gb200-256", "direct", DIRECT, (3.838,)),
    Row("J2", "qwen3-235b-gb200-128", "m2n", M2N, (0.989,)),
    Row("J2", "qwen3-235b-gb200-128", "direct", DIRECT, (2.175,)),
    Row("J3", "deepseek-v3-h100-512", "packed", PACKED, (14.9,)),
    Row("J3", "deepseek-v3-h100-512", "nemo", NEMO, (2.39, 2.83)),
    Row("J4", "deepseek-v3-gb200-512", "packed", PACKED, (6.1,)),
    Row("J4", "deepseek-v3-gb200-512", TWO_STEPS, SHARD_TO_SHARD, (1.93, 2.59)),
    Row("J5", "qwen3-235b-h100-256", "packed", PACKED, (6.4,)),
    Row("J5", "qwen3-235b-h100-256", TWO_STEPS, SHARD_TO_SHARD, (1.9,)),
    Row("J8", "qwen3-30b-h100-32", "nemo", NEMO, (0.74, 1.00)),
    Row("J9", "qwen3-4b-h100-16", "nemo", NEMO, (0.21, 0.34)),
    Row("J10", "moe-ffn-nvl72", "direct", BENCH_DIRECT, (0.0773,)),
    Row("J10", "moe-ffn-nvl72", "m2n", BENCH_M2N, (0.0098,)),
)


def m2n_destination(job, gpus, tensor, tensors):
    """One mesh of engines, cut by M2N's rules; only the tensors that the step moves."""
    rule = lambda match, dim: {"match": match, "mesh": "engines",
                               "placements": ["R", "R" if dim is None else f"S({dim})"]}
    placed = [rule(match, 0) for match in COLUMNS] + [rule(match, 1) for match in ROWS] + [rule("*", None)]
    # Layer 61 of DeepSeek-V3 predicts more tokens; nobody refits it.
    absent = [{"match": "model.layers.61.*", "held": False}] if job.startswith("deepseek-v3") else []
    if tensors == "rest":
        absent += [{"match": match, "held": False} for match in BULK]
    if tensors == "bulk":
        # A rule of its own for every bulk name, and nothing else is held.
        ends = [("gate_proj", 0), ("up_proj", 0), ("down_proj", 1)]
        bulk = [(f"*.mlp.{kind}{end}.weight{scale}", dim) for end, dim in ends for kind in ("experts.*.", "")
                for scale in ("", "_scale_inv")]
        placed = [rule(match, dim) for match, dim in bulk] + [{"match": "*", "held": False}]
    return {"explicit": {"meshes": {"engines": {"axes": [["dp", gpus // tensor], ["tp", tensor]]}},
                         "tensors": absent + placed}}


def count_gpus(text):
    return sum(int(last or first) - int(first) + 1 for first, _, last in
               (piece.partition("-") for piece in text.split(",")))


def write_job(row, step, folder):
    job = json.loads((REFERENCE / f"{row.job}.job.json").read_text())
    job["cluster"] = str(REFERENCE / job["cluster"])
    if isinstance(job["model"], str):
        job["model"] = str(REFERENCE / job["model"])
    if step.layout == "bench":
        job["model"]["moe"]["dtype"] = BENCH_DTYPE
        job["source"]["gpus"] = BENCH_SOURCE
        job["source"]["layout"]["explicit"]["meshes"]["experts"]["axes"][0] = ["replica", BENCH_REPLICAS]
    elif step.layout == "m2n":
        side = job["destination"]
        side["layout"] = m2n_destination(row.job, count_gpus(side["gpus"]), side["layout"]["vllm"]["tensor"], step.tensors)
        if step.tensors != "all":
            job["options"] = {"ignore": REST if step.tensors == "bulk" else BULK}
    path = folder / f"{row.job}-{step.planner}-{step.tensors}.job.json"
    path.write_text(json.dumps(job))
    return path


def simulate(row, step, folder, arguments):
    command = [str(pathlib.Path(arguments.bin) / "reshard-simulate"), str(write_job(row, step, folder)),
               "--compare", step.planner, "--json"]
    if arguments.constants:
        command += ["--constants", arguments.constants]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip()}")
    planner = json.loads(done.stdout)["planners"][0]
    if "refusal" in planner:
        sys.exit(f"{row.name} {step.planner}: {planner['refusal']}")
    if planner["omissions"]:
        print(f"{row.name} {step.planner}: leaves out {planner['omissions']}", file=sys.stderr)
    return planner["predictedSeconds"]


def seconds_text(seconds):
    return f"{seconds:.3g} s" if seconds >= 0.1 else f"{seconds * 1e3:.3g} ms"


def error_text(error):
    return f"{error * 100:+.0f} %"


def table_lines(rows, arguments):
    lines = ["| job | method | published | predicted | of it, step by step | error |", "|---|---|---|---|---|---|"]
    errors = []
    with tempfile.TemporaryDirectory() as folder:
        for row in rows:
            steps = [simulate(row, step, pathlib.Path(folder), arguments) for step in row.steps]
            published = sum(row.published) / len(row.published)
            error = sum(steps) / published - 1
            errors.append(error)
            parts = " + ".join(seconds_text(step) for step in steps) if len(steps) > 1 else ""
            lines.append(f"| {row.name} `{row.job}` | {row.method} | "
                         f"{' to '.join(seconds_text(figure) for figure in row.published)} | "
                         f"{seconds_text(sum(steps))} | {parts} | {error_text(error)} |")
    mean = sum(abs(error) for error in errors) / len(errors)
    return lines, f"Mean absolute error of {len(errors)} rows: {mean * 100:.0f} %."


def parts_of(path):
    text = path.read_text()
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        sys.exit(f"{path}: lacks the marks of the table: put '{BEGIN}' and '{END}' where it belongs")
    before, rest = text.split(BEGIN)
    table, after = rest.split(END)
    return before, table, after


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=str(ROOT / "build" / "release" / "bin"), help="folder of reshard-simulate")
    parser.add_argument("--constants", help="constants instead of those built in")
    parser.add_argument("--rows", help="jobs to show, J9,J10; all by default")
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--update", type=pathlib.Path, metavar="FILE", help="write the table into FILE")
    group.add_argument("--check", type=pathlib.Path, metavar="FILE", help="compare with the table in FILE")
    arguments = parser.parse_args()
    names = arguments.rows.split(",") if arguments.rows else None
    known = {row.name for row in TABLE}
    if names and not known.issuperset(names):
        parser.error(f"--rows: known are {', '.join(sorted(known))}")
    if names and arguments.update:
        parser.error("--update writes the whole table: leave --rows out")
    rows = [row for row in TABLE if not names or row.name in names]
    lines, mean = table_lines(rows, arguments)
    if arguments.update:
        before, _, after = parts_of(arguments.update)
        arguments.update.write_text("".join([before, BEGIN, "\n", "\n".join(lines), "\n\n", mean, "\n", END, after]))
    elif arguments.check:
        stored = parts_of(arguments.check)[1].splitlines()
        missing = [line for line in lines + ([] if names else [mean]) if line not in stored]
        if missing:
            sys.exit(f"{arguments.check}: differs from what the command prints: run it with --update\n" + "\n".join(missing))
    else:
        print("\n".join(lines + ["", mean]))


if __name__ == "__main__":
    main()
