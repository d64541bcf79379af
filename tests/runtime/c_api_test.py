"""runtime/reshard.h as Python's ctypes sees it: a job of four ranks on the host backend, and on NCCL
with doubles where they are built. Source rows become destination columns."""

import argparse
import ctypes
import json
import re
import struct
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

ROWS, COLUMNS = 8, 6
ARGUMENTS = None

HANDLE_FUNCTIONS = (
    "reshard_plan_open", "reshard_host_make", "reshard_nccl_make", "reshard_nccl_adopt",
    "reshard_engine_on_host", "reshard_engine_on_nccl", "reshard_engine_source_released")


def load(path):
    library = ctypes.CDLL(path)
    for name in HANDLE_FUNCTIONS:
        getattr(library, name).restype = ctypes.c_void_p
    for name in ("reshard_last_error", "reshard_plan_digest", "reshard_plan_parameter_name"):
        getattr(library, name).restype = ctypes.c_char_p
    for name in ("reshard_plan_staging_bytes", "reshard_plan_parameter_count",
                 "reshard_plan_parameter_bytes", "reshard_engine_steps"):
        getattr(library, name).restype = ctypes.c_int64
    library.reshard_engine_version.restype = ctypes.c_uint64
    return library


def job(folder):
    """Rows of w over ranks 0 and 1, columns of it over ranks 2 and 3; the plan of it."""
    def side(gpus, dim):
        layout = {"meshes": {"m": {"axes": [["x", 2]]}},
                  "tensors": [{"match": "*", "mesh": "m", "placements": [f"S({dim})"]}]}
        return {"gpus": gpus, "layout": {"explicit": layout}}
    text = {"cluster": {"domains": [{"type": "dgx-h100"}]},
            "model": {"w": {"shape": [ROWS, COLUMNS], "dtype": "F32"}},
            "source": side("0-1", 0), "destination": side("2-3", 1)}
    (folder / "job.json").write_text(json.dumps(text))
    plan = folder / "job.reshard"
    subprocess.run([ARGUMENTS.compile, folder / "job.json", "-o", plan], check=True,
                   capture_output=True)
    return str(plan).encode()


def value(version, row, column):
    return float(version * 1000 + row * COLUMNS + column)


def source_bytes(version, rank):
    return b"".join(struct.pack("<f", value(version, row, column))
                    for row in range(rank * 4, rank * 4 + 4) for column in range(COLUMNS))


def wanted_bytes(version, rank):
    first = (rank - 2) * 3
    return b"".join(struct.pack("<f", value(version, row, column))
                    for row in range(ROWS) for column in range(first, first + 3))


class Memory:
    """Of the host, or of the doubles' device."""

    def __init__(self, size, library=None):
        self.size, self.library = size, library
        self.host = ctypes.create_string_buffer(size)
        self.pointer = ctypes.c_void_p(ctypes.addressof(self.host))
        if library:
            self.pointer = ctypes.c_void_p()
            assert library.cudaMalloc(ctypes.byref(self.pointer), ctypes.c_size_t(size)) == 0

    def write(self, content):
        self.host[:] = content
        if self.library:
            self.library.cudaMemcpy(self.pointer, self.host, ctypes.c_size_t(self.size), 1)

    def read(self):
        if self.library:
            self.library.cudaMemcpy(self.host, self.pointer, ctypes.c_size_t(self.size), 2)
        return self.host.raw


class NcclOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("stream", ctypes.c_void_p),
                ("staging", ctypes.c_void_p), ("staging_bytes", ctypes.c_int64),
                ("eager", ctypes.c_int), ("ignore_placement", ctypes.c_int),
                ("prepare_seconds", ctypes.c_double), ("recompute", ctypes.c_void_p),
                ("recompute_argument", ctypes.c_void_p)]


class Step(ctypes.Structure):
    _fields_ = [("lane", ctypes.c_int32), ("round", ctypes.c_int32),
                ("start_ns", ctypes.c_int64), ("end_ns", ctypes.c_int64)]


class CApiTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = job(Path(folder.name))

    def replay(self, library, engine_of, on_device):
        """Opens, binds and prepares an engine per rank in a thread each, then replays twice."""
        plans = [ctypes.c_void_p(library.reshard_plan_open(self.path, rank)) for rank in range(4)]
        memory = [Memory(4 * 4 * COLUMNS if rank < 2 else 4 * 3 * ROWS,
                         library if on_device else None) for rank in range(4)]
        engines, failures = [None] * 4, []

        def prepare(rank):
            engine = ctypes.c_void_p(engine_of(plans[rank]))
            bind = (library.reshard_engine_bind_source if rank < 2
                    else library.reshard_engine_bind_destination)
            if (not engine or bind(engine, b"w", memory[rank].pointer,
                                   ctypes.c_int64(memory[rank].size)) or
                    library.reshard_engine_prepare(engine)):
                failures.append(library.reshard_last_error())
            engines[rank] = engine

        threads = [threading.Thread(target=prepare, args=(rank,)) for rank in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
        for engine in engines:
            self.assertEqual(library.reshard_engine_steps(engine, None, ctypes.c_int64(0)), 0)
            self.assertEqual(library.reshard_engine_record_steps(engine), 0)
        for version in (7, 8):
            for rank in range(2):
                memory[rank].write(source_bytes(version, rank))
            for engine in engines:
                self.assertEqual(library.reshard_engine_replay(engine, ctypes.c_uint64(version)), 0)
                self.assertIn(library.reshard_engine_state(engine), (1, 2))
            for engine in engines:
                self.assertEqual(library.reshard_engine_wait(engine, ctypes.c_double(20)), 0,
                                 library.reshard_last_error())
                self.assertEqual(library.reshard_engine_state(engine), 2)
                self.assertEqual(library.reshard_engine_version(engine), version)
            for rank in (2, 3):
                self.assertEqual(memory[rank].read(), wanted_bytes(version, rank))
            self.check_steps(library, engines)
        # What runs is given up; nothing is lost by giving up twice.
        self.assertEqual(library.reshard_engine_replay(engines[0], ctypes.c_uint64(9)), 0)
        for _ in range(2):
            self.assertEqual(library.reshard_engine_abort(engines[0]), 0)
            self.assertEqual(library.reshard_engine_state(engines[0]), 3)
        for engine in engines:
            library.reshard_engine_free(engine)
        for plan in plans:
            library.reshard_plan_free(plan)

    def check_steps(self, library, engines):
        """Of the last replay: the source packs and exchanges, the destination exchanges and unpacks."""
        for rank, engine in enumerate(engines):
            count = library.reshard_engine_steps(engine, None, ctypes.c_int64(0))
            steps = (Step * count)()
            self.assertEqual(library.reshard_engine_steps(engine, steps, ctypes.c_int64(count)), count)
            self.assertEqual({step.lane for step in steps}, {0, 1} if rank < 2 else {1, 2})
            for step in steps:
                self.assertGreaterEqual(step.round, 0)
                self.assertGreater(step.start_ns, 0)
                self.assertGreaterEqual(step.end_ns, step.start_ns)
            for before, after in zip(steps, steps[1:]):
                self.assertLessEqual(before.end_ns, after.end_ns)

    def test_describes_a_plan(self):
        library = load(ARGUMENTS.library)
        plan = ctypes.c_void_p(library.reshard_plan_open(self.path, 2))
        self.assertEqual(library.reshard_plan_rank_count(plan), 4)
        self.assertEqual(len(library.reshard_plan_digest(plan)), 32)
        self.assertGreater(library.reshard_plan_staging_bytes(plan), 0)
        self.assertEqual(library.reshard_plan_parameter_count(plan, 0), 0)
        self.assertEqual(library.reshard_plan_parameter_count(plan, 1), 1)
        self.assertEqual(library.reshard_plan_parameter_name(plan, 1, ctypes.c_int64(0)), b"w")
        self.assertEqual(library.reshard_plan_parameter_bytes(plan, 1, ctypes.c_int64(0)), 96)
        self.assertIsNone(library.reshard_plan_parameter_name(plan, 1, ctypes.c_int64(1)))
        self.assertEqual(library.reshard_plan_parameter_bytes(plan, 1, ctypes.c_int64(-1)), -1)
        library.reshard_plan_free(plan)
        library.reshard_plan_free(None)

    def test_replays_on_the_host(self):
        library = load(ARGUMENTS.library)
        host = ctypes.c_void_p(library.reshard_host_make(4, 0))
        self.replay(library, lambda plan: library.reshard_engine_on_host(plan, host), False)
        library.reshard_host_free(host)

    def test_says_what_went_wrong(self):
        library = load(ARGUMENTS.library)
        self.assertIsNone(library.reshard_plan_open(b"nowhere.reshard", 0))
        self.assertIn(b"nowhere.reshard", library.reshard_last_error())
        self.assertIsNone(library.reshard_plan_open(self.path, 4))
        self.assertIn(b"no rank 4", library.reshard_last_error())
        self.assertIsNone(library.reshard_host_make(0, 0))
        host = ctypes.c_void_p(library.reshard_host_make(4, 1))
        plan = ctypes.c_void_p(library.reshard_plan_open(self.path, 0))
        engine = ctypes.c_void_p(library.reshard_engine_on_host(plan, host))
        library.reshard_host_free(host)
        self.assertEqual(library.reshard_engine_replay(engine, ctypes.c_uint64(1)), 2)
        self.assertEqual(library.reshard_engine_prepare(engine), 1)
        self.assertIn(b"source parameter w: is not bound", library.reshard_last_error())
        memory = Memory(96)
        library.reshard_engine_bind_source(engine, b"w", memory.pointer, ctypes.c_int64(96))
        self.assertEqual(library.reshard_engine_prepare(engine), 0)
        # The others never come.
        self.assertEqual(library.reshard_engine_replay(engine, ctypes.c_uint64(1)), 0)
        self.assertEqual(library.reshard_engine_wait(engine, ctypes.c_double(0.05)), 4)
        self.assertIn(b"round 0 of version 1", library.reshard_last_error())
        self.assertEqual(library.reshard_engine_state(engine), 3)
        self.assertEqual(library.reshard_engine_replay(engine, ctypes.c_uint64(2)), 2)
        self.assertIsNone(library.reshard_engine_source_released(engine))
        library.reshard_engine_free(engine)
        library.reshard_plan_free(plan)

    def test_a_null_is_an_error_and_no_crash(self):
        zero, one = ctypes.c_int64(0), ctypes.c_uint64(1)
        second = ctypes.c_double(1)
        for path in filter(None, (ARGUMENTS.library, ARGUMENTS.doubles)):
            library = load(path)
            plan = ctypes.c_void_p(library.reshard_plan_open(self.path, 0))
            calls = {
                "reshard_plan_open": ((None, 0),),
                "reshard_plan_rank_count": ((None,),),
                "reshard_plan_digest": ((None,),),
                "reshard_plan_staging_bytes": ((None,),),
                "reshard_plan_parameter_count": ((None, 0), (plan, 2)),
                "reshard_plan_parameter_name": ((None, 0, zero),),
                "reshard_plan_parameter_bytes": ((None, 0, zero),),
                "reshard_nccl_unique_id": ((None, ctypes.c_size_t(128)),),
                "reshard_nccl_make": ((None, b"", ctypes.c_size_t(128), second),
                                      (plan, None, ctypes.c_size_t(128), second)),
                "reshard_nccl_adopt": ((None,),),
                "reshard_engine_on_host": ((None, None), (plan, None)),
                "reshard_engine_on_nccl": ((None, None, None), (plan, None, None)),
                "reshard_engine_bind_source": ((None, b"w", None, zero),),
                "reshard_engine_bind_destination": ((None, b"w", None, zero),),
                "reshard_engine_prepare": ((None,),),
                "reshard_engine_replay": ((None, one),),
                "reshard_engine_replay_on": ((None, one, None),),
                "reshard_engine_wait": ((None, second),),
                "reshard_engine_source_released": ((None,),),
                "reshard_engine_abort": ((None,),),
                "reshard_engine_record_steps": ((None,),),
                "reshard_engine_steps": ((None, None, zero),),
                "reshard_engine_state": ((None,),),
                "reshard_engine_version": ((None,),),
            }
            for name, variants in calls.items():
                for arguments in variants:
                    # Another error before, so that what is asked for is this call's.
                    library.reshard_plan_open(b"nowhere.reshard", 0)
                    returned = getattr(library, name)(*arguments)
                    failed = {"reshard_engine_version": 0}.get(name, -1)
                    self.assertIn(returned, (None, failed, 1, 2), name)
                    said = library.reshard_last_error()
                    self.assertNotIn(b"nowhere", said, name)
                    self.assertRegex(said, b"null|NCCL|unique id|needs a plan|a side is", name)
            for name in ("plan", "host", "nccl", "engine"):
                getattr(library, f"reshard_{name}_free")(None)
            # Every function of the header but those that make or free has been called.
            header = (Path(__file__).parents[2] / "runtime/reshard.h").read_text()
            declared = set(re.findall(r"RESHARD_API [^;(]*?(reshard_\w+)\(", header))
            rest = {name for name in declared if not name.endswith("_free")} - set(calls)
            self.assertEqual(rest, {"reshard_last_error", "reshard_host_make"})
            library.reshard_plan_free(plan)

    def test_replays_on_nccl(self):
        if not ARGUMENTS.doubles:
            return  # this build has no NCCL: there is nothing to be called
        library = load(ARGUMENTS.doubles)
        unique_id = ctypes.create_string_buffer(128)
        self.assertEqual(library.reshard_nccl_unique_id(unique_id, ctypes.c_size_t(128)), 0)
        # One process on one machine plays four GPUs of the plan, with another device each.
        devices = iter(range(4))
        lock = threading.Lock()

        def engine_of(plan):
            with lock:
                library.cudaSetDevice(next(devices))
            nccl = ctypes.c_void_p(library.reshard_nccl_make(
                plan, unique_id, ctypes.c_size_t(128), ctypes.c_double(20)))
            options = NcclOptions(size=ctypes.sizeof(NcclOptions))
            engine = library.reshard_engine_on_nccl(plan, nccl, ctypes.byref(options))
            library.reshard_nccl_free(nccl)  # the engine keeps what it needs
            return engine

        self.replay(library, engine_of, True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", required=True)
    parser.add_argument("--compile", required=True)
    parser.add_argument("--doubles")
    ARGUMENTS, rest = parser.parse_known_args()
    unittest.main(argv=sys.argv[:1] + rest)
