#!/usr/bin/env python3
"""A BF16 checkpoint through a job with casts, and what the engines then hold in FP8.

    casts_test.py --programs build/release/bin --source .

Layouts are rebuilt as weights_test.py does, which shares no code with reshard. The expected numbers
are computed here by looking for the nearest of all F8_E4M3 numbers; only numpy is used.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile
import unittest

import numpy

from checkpoints import BITS, DEEPSEEK, Engine, deepseek_list, deepseek_of, read_safetensors, write_safetensors

# Code c of F8_E4M3 for c = 0 .. 0x7E: 4 bits of exponent, bias 7, 3 of fraction.
E4M3 = numpy.array([(c & 7) * 2.0**-9 if c < 8 else (8 + (c & 7)) * 2.0 ** ((c >> 3) - 10) for c in range(0x7F)])
QUANTISED = [name for name, (dtype, _) in deepseek_list(DEEPSEEK).items() if dtype == "F8_E4M3"]


def number_of(bits):
    """F32 numbers of BF16 bits."""
    return (bits.astype(numpy.uint32) << 16).view(numpy.float32)


def bf16_of(numbers):
    """BF16 bits nearest to F32 numbers, ties to the even one: by exact distances in F64."""
    low = (numbers.view(numpy.uint32) >> 16).astype(numpy.uint32)
    below, above = ((low + step) << 16 for step in (0, 1))
    distances = [abs(numbers.astype(numpy.float64) - side.view(numpy.float32).astype(numpy.float64))
                 for side in (below, above)]
    up = (distances[1] < distances[0]) | ((distances[1] == distances[0]) & (low % 2 == 1))
    return (low + up).astype(numpy.uint16)


def e4m3_of(numbers):
    """Codes nearest to numbers, ties to the even one, at most 448."""
    size = numpy.minimum(abs(numbers.astype(numpy.float64)), 448.0)
    above = numpy.searchsorted(E4M3, size)  # the first code that is not below
    below = numpy.maximum(above - 1, 0)
    to_above, to_below = E4M3[above] - size, size - E4M3[below]
    code = numpy.where((to_above < to_below) | ((to_above == to_below) & (above % 2 == 0)), above, below)
    return (code | numpy.where(numpy.signbit(numbers), 0x80, 0)).astype(numpy.uint8)


def block_fp8(numbers, rows=128, columns=128):
    """Codes and F32 bits of the scales, block by block."""
    height, width = numbers.shape
    codes = numpy.zeros(numbers.shape, numpy.uint8)
    scales = numpy.zeros((-(-height // rows), -(-width // columns)), numpy.float32)
    for i in range(scales.shape[0]):
        for j in range(scales.shape[1]):
            place = numpy.s_[i * rows:(i + 1) * rows, j * columns:(j + 1) * columns]
            scale = numpy.float32(abs(numbers[place]).max()) / numpy.float32(448)
            scales[i, j] = scale if scale != 0 else numpy.float32(1)
            codes[place] = e4m3_of(numbers[place] / scales[i, j])
    return codes, scales.view(numpy.uint32)


def mxfp8(numbers, rule):
    """Codes and E8M0 bytes of blocks of 1 x 32."""
    height, width = numbers.shape
    codes = numpy.zeros(numbers.shape, numpy.uint8)
    scales = numpy.zeros((height, -(-width // 32)), numpy.uint8)
    for i in range(height):
        for j in range(scales.shape[1]):
            place = numpy.s_[i, j * 32:(j + 1) * 32]
            most = abs(numbers[place]).max()
            if most == 0:
                exponent = -127
            elif rule == "floor":
                exponent = max(int(numpy.frexp(most)[1]) - 1 - 8, -127)
            else:
                fraction, exponent = numpy.frexp(most / numpy.float32(448))
                exponent = max(int(exponent) - (1 if fraction == 0.5 else 0), -127)
            scales[i, j] = exponent + 127
            codes[place] = e4m3_of(numbers[place].astype(numpy.float64) / 2.0**exponent)
    return codes, scales


class Casts(unittest.TestCase):
    programs = None
    source = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_program(self, name, *words):
        done = subprocess.run([self.programs / name, *words], cwd=self.folder, capture_output=True, text=True,
                              timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def compile_job(self, name, job):
        (self.folder / f"{name}.json").write_text(json.dumps(job))
        return json.loads(self.run_program("reshard-compile", f"{name}.json", "-o", f"{name}.reshard", "--json"))

    def replay(self, name, weights, checkpoint):
        write_safetensors(self.folder / f"{name}.safetensors", checkpoint)
        printed = json.loads(self.run_program(
            "reshard-replay", f"{name}.reshard", "--weights", weights, "--output", f"{name}-shards", "--check",
            "--json"))
        self.assertEqual(printed["refits"][0]["verdict"], "right")
        return {path.name: read_safetensors(path) for path in (self.folder / f"{name}-shards").iterdir()}

    def test_megatron_in_bf16_to_vllm_in_fp8(self):
        config = {key: value for key, value in DEEPSEEK.items() if key != "quantization_config"}
        shapes = {name: ("BF16" if dtype == "F8_E4M3" else dtype, shape)
                  for name, (dtype, shape) in deepseek_list(DEEPSEEK).items() if not name.endswith("_scale_inv")}
        random = numpy.random.default_rng(11)
        weights = {}
        for name, (dtype, shape) in shapes.items():
            numbers = (random.standard_normal(shape) * 10.0 ** random.integers(-6, 3)).astype(numpy.float32)
            weights[name] = (dtype, bf16_of(numbers) if dtype == "BF16" else numbers.view(numpy.uint32))
        # A block of zeros, and one so small that its scale is subnormal.
        weights[QUANTISED[0]][1][:128, :128] = 0
        weights[QUANTISED[0]][1][:128, 128:256] = 5
        job = {"cluster": {"domains": [{"type": "dgx-h100", "count": 2}]},
               "model": {"tensors": "bf16.safetensors", "config": config},
               "source": {"gpus": "0-7", "layout": {"megatron": {
                   "pipeline": 2, "expert": 4, "expertTensor": 1, "layersPerStage": [2, 1]}}},
               "destination": {"gpus": "8-15", "layout": {"vllm": {"tensor": 2, "expertParallel": True}}}}
        write_safetensors(self.folder / "bf16.safetensors", weights)
        plain = self.compile_job("bf16", job)
        job["destination"]["casts"] = [{"match": "*_proj*.weight", "to": "F8_E4M3", "block": [128, 128]}]
        cast = self.compile_job("fp8", job)
        # Weights alone are cast, at a byte instead of two and a scale of 4 bytes for 16,384.
        quantised = sum(int(numpy.prod(shapes[name][1])) for name in QUANTISED)
        scales = sum(-(-shapes[name][1][0] // 128) * -(-shapes[name][1][1] // 128) for name in QUANTISED)
        self.assertEqual(plain["logicalBytes"] - cast["logicalBytes"], quantised - 4 * scales)
        self.assertLess(cast["bytes"], 0.6 * plain["bytes"])
        self.assertLess(cast["lowerBoundSeconds"], plain["lowerBoundSeconds"])

        shards = self.replay("fp8", "bf16.safetensors", weights)
        expected = {name: bits for name, (_, bits) in weights.items()}
        for name in QUANTISED:
            expected[name], expected[name + "_scale_inv"] = block_fp8(number_of(weights[name][1]))
        for first in range(8, 16, 2):
            engine = Engine([shards[f"rank-{rank:05}.safetensors"] for rank in (first, first + 1)])
            rebuilt = deepseek_of(engine, DEEPSEEK)
            engine.check_all_used()
            self.assertEqual(sorted(rebuilt), sorted(expected))
            for name, bits in expected.items():
                numpy.testing.assert_array_equal(rebuilt[name], bits, name)

    def small_job(self, dtype, casts, destination_casts=()):
        """One tensor [96, 160], its rows over 4 ranks, to 2 ranks that cut its columns."""
        rows = {"explicit": {"meshes": {"m": {"axes": [["x", 4]]}},
                             "tensors": [{"match": "*", "mesh": "m", "placements": ["S(0)"]}]}}
        columns = {"explicit": {"meshes": {"m": {"axes": [["x", 2]]}},
                                "tensors": [{"match": "*_scale", "mesh": "m", "placements": ["R"]},
                                            {"match": "*", "mesh": "m", "placements": ["S(1)"]}]}}
        return {"cluster": {"domains": [{"type": "dgx-h100", "count": 1}]},
                "model": {"w": {"shape": [96, 160], "dtype": dtype}},
                "source": {"gpus": "0-3", "layout": rows, "casts": list(casts)},
                "destination": {"gpus": "2-3", "layout": columns, "casts": list(destination_casts)}}

    def test_mxfp8_of_both_rules(self):
        random = numpy.random.default_rng(12)
        numbers = (random.standard_normal((96, 160)) * 10.0 ** random.integers(-30, 30, (96, 5)).repeat(32, axis=1))
        bits = bf16_of(numbers.astype(numpy.float32))
        bits[7, 32:64] = 0
        bits[8, 64:96] = 3
        for rule in ("floor", "rceil"):
            self.compile_job(rule, self.small_job("BF16", [
                {"match": "*", "to": "F8_E4M3", "block": [1, 32], "scale": rule}]))
            shards = self.replay(rule, f"{rule}.safetensors", {"w": ("BF16", bits)})
            codes, scales = mxfp8(number_of(bits), rule)
            for rank in (0, 1):
                held = shards[f"rank-{rank + 2:05}.safetensors"]
                numpy.testing.assert_array_equal(held["w"], codes[:, 80 * rank:80 * (rank + 1)])
                numpy.testing.assert_array_equal(held["w_scale"], scales)

    def test_masters_in_f32_to_bf16(self):
        random = numpy.random.default_rng(13)
        bits = random.integers(0, 0x7F000000, (96, 160), dtype=numpy.uint32)
        bits[0] = 0x3F808000  # a tie between even 0x3F80 and 0x3F81
        bits[1] = 0x3F818000  # one between 0x3F81 and even 0x3F82
        compiled = self.compile_job("masters", self.small_job(
            "BF16", [{"match": "*", "from": "F32", "to": "BF16"}]))
        self.assertEqual(compiled["logicalBytes"], 2 * 96 * 160)
        shards = self.replay("masters", "masters.safetensors", {"w": ("F32", bits)})
        expected = bf16_of(bits.view(numpy.float32))
        self.assertEqual((expected[0, 0], expected[1, 0]), (0x3F80, 0x3F82))
        for rank in (0, 1):
            numpy.testing.assert_array_equal(shards[f"rank-{rank + 2:05}.safetensors"]["w"],
                                             expected[:, 80 * rank:80 * (rank + 1)])


if __name__ == "__main__":
    BITS["U8"] = numpy.uint8
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", required=True, type=pathlib.Path)
    parser.add_argument("--source", required=True, type=pathlib.Path)
    arguments, rest = parser.parse_known_args()
    Casts.programs = arguments.programs.resolve()
    Casts.source = arguments.source.resolve()
    unittest.main(argv=["casts_test", *rest])
