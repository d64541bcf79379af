#!/usr/bin/env python3
"""tools/reshard_layout_dump.py without torch: stand-ins have what the helper asks of tensors.

    layout_dump_test.py --programs build/release/bin --source .
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

dump = None  # tools/reshard_layout_dump.py, once the source tree is known


class Replicate:
    pass


class Shard:
    def __init__(self, dim):
        self.dim = dim


class _StridedShard:
    def __init__(self, dim, split_factor):
        self.dim = dim
        self.split_factor = split_factor


class Partial:
    pass


class Grid:
    """The tensor of ranks in a mesh."""

    def __init__(self, shape, ranks):
        self.shape = shape
        self.ranks = ranks

    def flatten(self):
        return self

    def tolist(self):
        return self.ranks


class Mesh:
    def __init__(self, names, shape, ranks):
        self.mesh_dim_names = names
        self.mesh = Grid(shape, ranks)


class Plain:
    def __init__(self, shape, dtype="torch.bfloat16", contiguous=True):
        self.shape = shape
        self.dtype = dtype
        self.contiguous = contiguous

    def is_contiguous(self):
        return self.contiguous


class Distributed(Plain):
    def __init__(self, shape, mesh, placements, local, dtype="torch.float32"):
        super().__init__(shape, dtype)
        self.device_mesh = mesh
        self.placements = placements
        self.local = local

    def to_local(self):
        return Plain(self.local, self.dtype)


class Module:
    def __init__(self, state):
        self.state = state

    def state_dict(self, keep_vars):
        assert keep_vars
        return self.state


def merged(states, **options):
    return dump.merge({rank: dump.local_records(state) for rank, state in enumerate(states)},
                      **options)


class Dump(unittest.TestCase):
    programs = None
    source = None

    def test_buffers_and_other_state(self):
        state = {"w": Plain([2, 3]), "steps": Plain([], "torch.int64"), "_extra_state": b"bytes"}
        layout, tensors = merged([Module(state), Module(state)])
        self.assertEqual(tensors, {"w": {"shape": [2, 3], "dtype": "BF16"},
                                   "steps": {"shape": [], "dtype": "I64"}})
        self.assertEqual(layout["meshes"], {"m0": {"axes": [["copy", 2]], "ranks": "0-1"}})
        self.assertEqual(layout["tensors"][1],
                         {"match": "w", "mesh": "m0", "placements": ["R"]})

    def test_mesh_order_of_two_cuts(self):
        # 8 rows over dp 2, then tp 2: two each, in rank order.
        mesh = Mesh(("dp", "tp"), (2, 2), [0, 1, 2, 3])
        state = {"w": Distributed([8], mesh, (Shard(0), Shard(0)), [2])}
        layout, _ = merged([state] * 4)
        self.assertEqual(layout["tensors"][0],
                         {"match": "w", "mesh": "m0", "placements": ["S(0)", "S(0)"]})

    def test_storage_of_fsdp_is_the_truth(self):
        # Nine rows, FSDP 4 over tensor 2: tensor rank 0 has five, dealt out 2, 2, 1, 0, tensor rank
        # 1 four, one each. By the placements (3, 0) would have row 8 and (3, 1) nothing.
        mesh = Mesh(("dp", "tp"), (4, 2), list(range(8)))
        rows = [2, 1, 2, 1, 1, 1, 0, 1]
        states = [{"w": Distributed([9], mesh, (_StridedShard(0, 2), Shard(0)), [n])} for n in rows]
        layout, tensors = merged(states)
        self.assertEqual(layout["tensors"][0], {"match": "w", "mesh": "m0",
                                                "placements": ["S(0)", "S(0)"],
                                                "order": ["tp", "dp"]})
        for rank, state in enumerate(states):
            dump.check(state, layout, tensors, rank)
        with self.assertRaisesRegex(dump.LayoutError, r"w: local shape is \[2\], the layout says"):
            dump.check(states[0], layout, tensors, 6)

    def test_strided_shards_that_are_no_fsdp(self):
        # arange(5) over two, split 2: [0, 1, 3] and [2, 4].
        mesh = Mesh(None, (2,), [0, 1])
        states = [{"w": Distributed([5], mesh, (_StridedShard(0, 2),), [n])} for n in (3, 2)]
        layout, _ = merged(states)
        self.assertEqual(layout["meshes"]["m0"]["axes"], [["d0", 2]])
        self.assertEqual(layout["tensors"][0]["placements"], ["_S(0, 2)"])

    def test_stages_and_copies_of_meshes(self):
        # Two stages of two ranks, each with a mesh of its own; the tied embedding on both.
        states = []
        for stage, ranks in enumerate(([0, 1], [2, 3])):
            mesh = Mesh(("dp",), (2,), ranks)
            state = {f"layer.{stage}": Distributed([4], mesh, (Shard(0),), [2]),
                     "embedding": Distributed([6], mesh, (Shard(0),), [3])}
            states += [state, state]
        layout, _ = merged(states)
        by_name = {rule["match"]: rule for rule in layout["tensors"]}
        self.assertEqual(layout["meshes"][by_name["layer.1"]["mesh"]],
                         {"axes": [["dp", 2]], "ranks": "2-3"})
        self.assertEqual(layout["meshes"][by_name["embedding"]["mesh"]],
                         {"axes": [["copy", 2], ["dp", 2]], "ranks": "0-3"})
        self.assertEqual(by_name["embedding"]["placements"], ["R", "S(0)"])

    def test_names_of_tensors_may_differ(self):
        layout, tensors = merged([{"layers.0.w": Plain([2])}],
                                 tensor_name=lambda name: "model." + name)
        self.assertEqual(list(tensors), ["model.layers.0.w"])
        self.assertEqual(layout["parameters"],
                         [{"name": "layers.0.w", "parts": ["model.layers.0.w"]}])
        dump.check({"layers.0.w": Plain([2])}, layout, tensors, 0)

    def test_what_cannot_be_said_names_the_tensor(self):
        mesh = Mesh(("dp",), (2,), [0, 1])

        def refused(pattern, *states, records=None):
            with self.assertRaisesRegex(dump.LayoutError, pattern):
                dump.merge(records or {rank: dump.local_records(state)
                                       for rank, state in enumerate(states)})

        partial = {"w": Distributed([4], mesh, (Partial(),), [4])}
        refused("w is partial", partial, partial)
        refused("w is not contiguous", {"w": Plain([4], contiguous=False)})
        refused("w: dtype complex64 has no name", {"w": Plain([4], "torch.complex64")})
        refused("w: shape differs between the ranks", {"w": Plain([4])}, {"w": Plain([5])})
        odd = {"w": Distributed([4], mesh, (Shard(0),), [1])}
        refused("w: placements .* do not say the local shapes", odd, odd)
        half = {"w": Distributed([4], mesh, (Shard(0),), [2])}
        refused("w: its meshes have ranks 0-1, but ranks 0 hold it", half, {})
        refused("w: fingerprint differs",
                records={0: {"w": {"dtype": "U8", "shape": [1], "local": [1], "fingerprint": 3}},
                         1: {"w": {"dtype": "U8", "shape": [1], "local": [1], "fingerprint": 4}}})

    def test_check_finds_what_is_missing(self):
        layout, tensors = merged([{"a": Plain([2]), "b": Plain([3])}])
        with self.assertRaisesRegex(dump.LayoutError, "b: the layout has it on this rank"):
            dump.check({"a": Plain([2])}, layout, tensors, 0)
        with self.assertRaisesRegex(dump.LayoutError, "c: the layout has it not"):
            dump.check({"a": Plain([2]), "b": Plain([3]), "c": Plain([1])}, layout, tensors, 0)
        with self.assertRaisesRegex(dump.LayoutError, "b: dtype is U8, the layout says BF16"):
            dump.check({"a": Plain([2]), "b": Plain([3], "torch.uint8")}, layout, tensors, 0)

    def test_the_programs_read_what_it_writes(self):
        """FSDP 4 over tensor 2 to one rank that has all, both dumped: compiles, and moves all."""
        mesh = Mesh(("dp", "tp"), (4, 2), list(range(8)))
        rows = [2, 1, 2, 1, 1, 1, 0, 1]
        states = [{"w": Distributed([9], mesh, (_StridedShard(0, 2), Shard(0)), [n],
                                    "torch.bfloat16"),
                   "norm": Plain([3])} for n in rows]
        source, tensors = merged(states)
        destination, again = merged([{"w": Plain([9]), "norm": Plain([3])}])
        self.assertEqual(tensors, again)
        with tempfile.TemporaryDirectory() as folder:
            job = {"cluster": {"domains": [{"type": "dgx-h100", "count": 2}]},
                   "model": {"tensors": tensors},
                   "source": {"gpus": "0-7", "layout": {"explicit": source}},
                   "destination": {"gpus": "8", "layout": {"explicit": destination}}}
            pathlib.Path(folder, "job.json").write_text(json.dumps(job))
            done = subprocess.run([self.programs / "reshard-compile", "job.json", "-o", "p.reshard",
                                   "--json"], cwd=folder, capture_output=True, text=True,
                                  timeout=120)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(json.loads(done.stdout)["bytes"], 2 * (9 + 3))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", type=pathlib.Path, required=True)
    parser.add_argument("--source", type=pathlib.Path, required=True)
    arguments, rest = parser.parse_known_args()
    Dump.programs = arguments.programs.resolve()
    Dump.source = arguments.source.resolve()
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(Dump.source / "tools"))
    import reshard_layout_dump as dump
    unittest.main(argv=[sys.argv[0], *rest])
