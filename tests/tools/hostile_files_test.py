#!/usr/bin/env python3
"""Files made to break a reader: every command refuses them in one line, at once and in little memory.

    hostile_files_test.py --programs build/release/bin --source .
"""

import argparse
import pathlib
import random
import resource
import subprocess
import tempfile
import time
import unittest

SECONDS_MAX = 20
MEMORY_BYTES_MAX = 1 << 30


class HostileFiles(unittest.TestCase):
    programs = None
    source = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_program(self, *words):
        def bound_memory():
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))

        return subprocess.run([self.programs / words[0], *words[1:]], cwd=self.folder, text=True,
                              capture_output=True, timeout=SECONDS_MAX, preexec_fn=bound_memory)

    def assert_refused(self, *words):
        start = time.monotonic()
        done = self.run_program(*words)
        self.assertEqual(done.returncode, 1, f"{words}: {done.stderr}")
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertLess(time.monotonic() - start, SECONDS_MAX)

    def make_plan(self):
        job = self.source / "schedules/reference/tiny-moe.job.json"
        done = self.run_program("reshard-compile", job, "-o", "good.reshard")
        self.assertEqual(done.returncode, 0, done.stderr)
        return (self.folder / "good.reshard").read_bytes()

    def test_two_gigabytes_of_brackets(self):
        with open(self.folder / "brackets.json", "wb") as file:
            file.write(b"[" * (1 << 20))
            file.truncate(2 << 30)  # sparse: the size is what the reader meets first
        self.assert_refused("reshard-compile", "brackets.json", "-o", "plan")
        self.assert_refused("reshard-simulate", "brackets.json")
        self.assert_refused("reshard-verify", "brackets.json")

    def test_two_gigabytes_of_objects(self):
        with open(self.folder / "objects.json", "wb") as file:
            file.write(b'{"a":' * (1 << 18))
            file.truncate(2 << 30)
        self.assert_refused("reshard-simulate", "objects.json")

    def test_many_brackets_within_the_size_limit(self):
        (self.folder / "deep.json").write_bytes(b"[" * (200 << 20))
        self.assert_refused("reshard-compile", "deep.json", "-o", "plan")

    def test_plans_cut_short(self):
        plan = self.make_plan()
        for size in sorted({0, 1, 4, 8, 16, 64, len(plan) // 2, len(plan) - 1}):
            (self.folder / "cut.reshard").write_bytes(plan[:size])
            self.assert_refused("reshard-verify", "cut.reshard")

    def test_plans_with_bytes_appended(self):
        plan = self.make_plan()
        (self.folder / "long.reshard").write_bytes(plan + b"\0")
        self.assert_refused("reshard-verify", "long.reshard")

    def test_plans_with_a_byte_changed(self):
        plan = self.make_plan()
        seed = 20260101
        print(f"seed {seed}")
        generator = random.Random(seed)
        for _ in range(60):
            damaged = bytearray(plan)
            damaged[generator.randrange(len(plan))] ^= 1 << generator.randrange(8)
            (self.folder / "damaged.reshard").write_bytes(damaged)
            self.assert_refused("reshard-verify", "damaged.reshard")
            self.assert_refused("reshard-simulate", "damaged.reshard")

    def test_noise(self):
        generator = random.Random(7)
        (self.folder / "noise").write_bytes(generator.randbytes(1 << 16))
        self.assert_refused("reshard-verify", "noise")
        self.assert_refused("reshard-compile", "noise", "-o", "plan")

    def assert_import_refused(self, name, contents):
        (self.folder / name).write_bytes(contents)
        self.assert_refused("reshard-topology", "import", name, "-o", "cluster.json")
        self.assertFalse((self.folder / "cluster.json").exists())

    def test_topology_files_made_to_break_parsers(self):
        entities = "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 12))
        self.assert_import_refused("entities.xml", (
            f'<!DOCTYPE system [<!ENTITY a0 "x">{entities}]><system>&a11;</system>').encode())
        self.assert_import_refused(
            "outside.xml", b'<!DOCTYPE system [<!ENTITY a SYSTEM "file:///etc/hostname">]><system>&a;</system>')
        self.assert_import_refused("deep.xml", b"<system>" + b'<pci class="0x06">' * 800000)
        self.assert_import_refused("wide.xml", b"<system>" + b"<a/>" * 4000000 + b"</system>")
        self.assert_import_refused("hosts.xml", b"<system>" + b"".join(
            b'<cpu arch="arm64" host_hash="%d"/>' % i for i in range(300000)) + b"</system>")
        self.assert_import_refused("deep.yaml", b"- topology: " + b"[" * 900000)
        self.assert_import_refused("wide.yaml", b"- " + b"a," * 400000)
        self.assert_import_refused("flow.yaml", b"- [" + b"a," * 500000 + b"]")
        aliases = b"".join(b"    - &a%d [%s]\n" % (i, b",".join([b"*a%d" % (i - 1)] * 10) if i else b"x")
                           for i in range(20))
        self.assert_import_refused("aliases.yaml", b"- topology: t\n  block:\n    blocks:\n" + aliases)
        self.assert_import_refused("names.conf", b"SwitchName=a Nodes=n[0-999999999]x[0-999999999]\n")
        self.assert_import_refused("lists.conf", b"SwitchName=a Nodes=" + b"[0-9]" * 3000000)
        self.assert_import_refused("columns.txt", b"".join(b"GPU%d " % i for i in range(90000)) + b"\n")
        self.assert_import_refused("noise", random.Random(11).randbytes(1 << 20))
        with open(self.folder / "large.xml", "wb") as file:
            file.write(b"<system>")
            file.truncate(2 << 30)
        self.assert_refused("reshard-topology", "import", "large.xml", "-o", "cluster.json")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", required=True, type=pathlib.Path)
    parser.add_argument("--source", required=True, type=pathlib.Path)
    arguments, rest = parser.parse_known_args()
    HostileFiles.programs = arguments.programs.resolve()
    HostileFiles.source = arguments.source.resolve()
    unittest.main(argv=["hostile_files_test", *rest])
