#!/usr/bin/env python3
"""The README keeps its word: its example job compiles, and --json prints the fields it lists.

    readme_test.py --programs build/release/bin --source .
"""

import argparse
import json
import pathlib
import re
import subprocess
import tempfile
import unittest


class Readme(unittest.TestCase):
    programs = None
    source = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.text = (self.source / "README.md").read_text()
        for name, contents in re.findall(r"^```json (\S+)\n(.*?)^```", self.text, re.M | re.S):
            (self.folder / name).write_text(contents)

    def run_json(self, *words):
        done = subprocess.run([self.programs / words[0], *words[1:], "--json"], cwd=self.folder,
                              capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def listed_fields(self, command):
        """The fields that the tables of the README say `command` prints."""
        table = self.text.split("### Fields of --json")[1].split("\n## ")[0]
        fields = []
        for line in table.splitlines():
            cells = [cell.strip() for cell in line.strip("|").split(" | ")]
            if len(cells) == 3 and command in cells[2].split(", "):
                fields += re.findall(r"`(\w+)`", cells[0])
        return fields

    def assert_fields(self, command, printed):
        self.assertEqual(sorted(printed), sorted(self.listed_fields(command)), command)

    def test_a_family_of_ones_own_needs_no_compiling(self):
        compiled = self.run_json("reshard-compile", "my-family-job.json", "-o", "mine.reshard")
        # Embedding, a norm and a pair of 4 * width by width in each of 4 layers, a norm.
        words, width = 1024, 512
        elements = words * width + 4 * (width + 2 * 4 * width * width) + width
        self.assertEqual(compiled["tensors"], 1 + 4 * 3 + 1)
        self.assertEqual(compiled["logicalBytes"], 2 * elements)

    def test_example_compiles_and_fields_are_those_listed(self):
        compiled = self.run_json("reshard-compile", "job.json", "-o", "plan.reshard")
        self.assert_fields("compile", compiled)
        verified = self.run_json("reshard-verify", "plan.reshard", "--job", "job.json")
        self.assert_fields("verify", verified)
        simulated = self.run_json("reshard-simulate", "plan.reshard")
        self.assert_fields("simulate", simulated)
        self.assertEqual(compiled["predictedSeconds"], simulated["predictedSeconds"])
        self.assertEqual(compiled["commitSeconds"], simulated["commitSeconds"])
        for name in ("bytes", "digest", "gap", "stagingBytesMax", "opsPerGroupMax", "peersMax"):
            self.assertEqual(compiled[name], verified[name], name)
            self.assertEqual(compiled[name], simulated[name], name)
        scenarios = self.run_json("reshard-simulate", "plan.reshard", "--what-if", "nic 0*0.5",
                                  "--sweep", "spine=1,2")
        listed = self.listed_fields("simulate --what-if") + self.listed_fields("simulate --sweep")
        self.assertEqual(sorted(set(scenarios) - set(simulated)), listed)
        self.assertEqual([point["edits"] for point in scenarios["sweep"]["scenarios"]],
                         ["spine=1", "spine=2"])
        inspected = self.run_json("reshard-inspect", "plan.reshard")
        self.assert_fields("inspect", inspected)
        for name in set(compiled) & set(inspected):
            self.assertEqual(compiled[name], inspected[name], name)
        self.assertEqual(compiled["fileBytes"], (self.folder / "plan.reshard").stat().st_size)

    def test_fields_of_the_other_commands_are_those_listed(self):
        self.run_json("reshard-compile", "job.json", "-o", "plan.reshard")
        for option, value in (("--rank", "0"), ("--class", "0"), ("--diff", "plan.reshard")):
            printed = self.run_json("reshard-inspect", "plan.reshard", option, value)
            self.assert_fields(f"inspect {option}", printed)
        self.assert_fields("draw", self.run_json("reshard-draw", "plan.reshard", "-o", "plan.svg"))
        self.assert_fields("replay", self.run_json("reshard-replay", "plan.reshard", "--check"))

    def test_fields_of_import_are_those_listed_and_its_cluster_is_read(self):
        matrix = "GPU0 GPU1 NIC0 NIC1 CPU\nGPU0 X NV18 PIX SYS\nGPU1 NV18 X SYS PIX\n" \
                 "NIC0 PIX SYS X SYS\nNIC1 SYS PIX SYS X\n"
        (self.folder / "topo-m.txt").write_text(matrix)
        printed = self.run_json("reshard-topology", "import", "topo-m.txt", "--nodes", "8", "-o", "cluster.json")
        self.assert_fields("topology", printed)
        self.assertEqual(printed["clusterBytes"], (self.folder / "cluster.json").stat().st_size)
        self.assertEqual(printed["gpus"], 16)
        self.run_json("reshard-compile", "job.json", "-o", "plan.reshard")

    def test_fields_of_describe_are_those_listed(self):
        self.assert_fields("layout describe", self.run_json("reshard-layout", "describe", "job.json"))

    def test_example_moves_what_its_shapes_say(self):
        # 1024x512 + 2 of 256x512 + 512x1024 + 512 elements of 2 bytes; two replicas of the engine,
        # each of whose 4 ranks holds its quarter but for the norm, which all 8 ranks hold.
        cut = 2 * (1024 * 512 + 2 * 256 * 512 + 512 * 1024)
        norm = 2 * 512
        compiled = self.run_json("reshard-compile", "job.json", "-o", "plan.reshard")
        self.assertEqual(compiled["logicalBytes"], cut + norm)
        self.assertEqual(compiled["bytes"], 2 * cut + 8 * norm)
        self.assertEqual(compiled["tensors"], 5)

    def test_packed_example_moves_each_byte_once_and_fills_with_zeros(self):
        # q, k, v and o cut over 8 ranks; the norm whole on all 8, with 128 zeros of 2 bytes behind.
        compiled = self.run_json("reshard-compile", "packed.job.json", "-o", "packed.reshard")
        self.assertEqual(compiled["bytes"], 2 * (1536 * 512 + 512 * 1024) + 8 * 2 * 512)
        inspected = self.run_json("reshard-inspect", "packed.reshard", "--rank", "9")
        self.assertEqual(inspected["zeroedBytes"], 2 * 128)
        self.run_json("reshard-replay", "packed.reshard", "--check")

    def test_cast_example_moves_what_its_shapes_say(self):
        # As above, o.weight at a byte an element; its blocks of 64 x 128 are 8 x 8, and of their F32
        # scales each rank needs the 8 x 2 of its columns. The trainer's shards of 64 rows are whole
        # blocks.
        cut = 2 * (1024 * 512 + 2 * 256 * 512) + 512 * 1024 + 4 * 8 * 8
        norm = 2 * 512
        compiled = self.run_json("reshard-compile", "fp8.job.json", "-o", "plan.reshard")
        self.assertEqual(compiled["logicalBytes"], cut + norm)
        self.assertEqual(compiled["bytes"], 2 * cut + 8 * norm)
        self.assertEqual(compiled["tensors"], 6)
        self.run_json("reshard-verify", "plan.reshard")
        replayed = self.run_json("reshard-replay", "plan.reshard", "--check")
        self.assertEqual(replayed["bytes"], compiled["bytes"])
        rank = self.run_json("reshard-inspect", "plan.reshard", "--rank", "0")
        # Five stored parameters; o.weight is computed as values and as scales, each other as BF16.
        self.assertEqual(rank["source"]["parameters"], 5)
        self.assertEqual(rank["source"]["computedParameters"], 6)

    def test_formatting_and_order_of_names_do_not_count(self):
        self.run_json("reshard-compile", "job.json", "-o", "first.reshard")
        for path in self.folder.glob("*.json"):
            value = json.loads(path.read_text())
            path.write_text(json.dumps(dict(reversed(value.items())), indent=1))
        self.run_json("reshard-compile", "job.json", "-o", "second.reshard")
        self.assertEqual((self.folder / "first.reshard").read_bytes(),
                         (self.folder / "second.reshard").read_bytes())

    def test_every_program_is_described(self):
        for program in sorted(self.programs.glob("reshard-*")):
            self.assertIn(f"| `{program.name} ", self.text, program.name)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", required=True, type=pathlib.Path)
    parser.add_argument("--source", required=True, type=pathlib.Path)
    arguments, rest = parser.parse_known_args()
    Readme.programs = arguments.programs.resolve()
    Readme.source = arguments.source.resolve()
    unittest.main(argv=["readme_test", *rest])
