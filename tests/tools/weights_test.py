#!/usr/bin/env python3
"""A checkpoint through compile and replay, and rebuilt from what the destination ranks hold.

    weights_test.py --programs build/release/bin --source .

What checkpoints hold, and how they are rebuilt, is in checkpoints.py, which shares no code with reshard.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile
import unittest

import numpy

from checkpoints import (BITS, DEEPSEEK, GPT_OSS, NEMOTRON, QWEN3_MOE, Engine, deepseek_list, deepseek_of,
                         gpt_oss_list, gpt_oss_of, nemotron_list, nemotron_of, qwen3_moe_list,
                         qwen3_moe_of, read_safetensors, write_safetensors)


class Weights(unittest.TestCase):
    programs = None
    source = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_program(self, name, *words, status=0):
        done = subprocess.run([self.programs / name, *words], cwd=self.folder, capture_output=True, text=True,
                              timeout=300)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout if status == 0 else done.stderr

    def write_job(self, config, shapes, seed, megatron, vllm, shards=1):
        """A checkpoint of random bits and the job of 8 GPUs to 8 GPUs; returns the checkpoint."""
        random = numpy.random.default_rng(seed)
        weights = {}
        for name, (dtype, shape) in shapes.items():
            count = int(numpy.prod(shape)) * BITS[dtype]().itemsize
            weights[name] = (dtype, numpy.frombuffer(random.bytes(count), BITS[dtype]).reshape(shape))
            if dtype == "BF16" and len(shape) == 1:  # numbers, where functions of them are held
                numbers = random.uniform(-3, 3, shape).astype(numpy.float32)
                weights[name] = (dtype, (numbers.view(numpy.uint32) >> 16).astype(numpy.uint16))
        (self.folder / "config.json").write_text(json.dumps(config))
        names = list(weights)
        files = [f"model-{i}.safetensors" for i in range(shards)] if shards > 1 else ["model.safetensors"]
        for i, file in enumerate(files):
            write_safetensors(self.folder / file, {name: weights[name] for name in names[i::shards]})
        index = {"weight_map": {name: files[i % shards] for i, name in enumerate(names)}}
        (self.folder / "model.safetensors.index.json").write_text(json.dumps(index))
        (self.folder / "job.json").write_text(json.dumps({
            "cluster": {"domains": [{"type": "dgx-h100", "count": 2}]},
            "model": {"tensors": "model.safetensors.index.json", "config": "config.json"},
            "source": {"gpus": "0-7", "layout": {"megatron": megatron}},
            "destination": {"gpus": "8-15", "layout": {"vllm": vllm}}}))
        self.run_program("reshard-compile", "job.json", "-o", "plan.reshard")
        return {name: bits for name, (_, bits) in weights.items()}, files[0]

    def check(self, weights, rebuild, config, tensor):
        ranks = [read_safetensors(self.folder / f"shards/rank-{rank:05}.safetensors") for rank in range(8, 16)]
        for first in range(0, 8, tensor):
            engine = Engine(ranks[first:first + tensor])
            rebuilt = rebuild(engine, config)
            engine.check_all_used()
            self.assertEqual(sorted(rebuilt), sorted(weights))
            for name, bits in weights.items():
                numpy.testing.assert_array_equal(rebuilt[name], bits, name)

    def test_qwen3_moe(self):
        weights, file = self.write_job(
            QWEN3_MOE, qwen3_moe_list(QWEN3_MOE), 1,
            {"tensor": 2, "pipeline": 2, "expert": 4, "expertTensor": 1, "layersPerStage": [2, 1]}, {"tensor": 8})
        printed = json.loads(self.run_program("reshard-replay", "plan.reshard", "--weights", file, "--output",
                                              "shards", "--check", "--json"))
        self.assertEqual(printed["refits"][0]["verdict"], "right")
        self.assertEqual(printed["shards"]["files"], 8)
        self.assertEqual(printed["shards"]["bytes"],
                         sum(path.stat().st_size for path in (self.folder / "shards").iterdir()))
        self.check(weights, qwen3_moe_of, QWEN3_MOE, 8)

    def test_deepseek_fp8_from_an_index_of_shards(self):
        weights, _ = self.write_job(
            DEEPSEEK, deepseek_list(DEEPSEEK), 2,
            {"pipeline": 2, "expert": 4, "expertTensor": 1, "layersPerStage": [2, 1]},
            {"tensor": 2, "expertParallel": True}, shards=3)
        self.run_program("reshard-replay", "plan.reshard", "--weights", "model.safetensors.index.json", "--output",
                         "shards", "--refits", "2", "--check")
        self.check(weights, deepseek_of, DEEPSEEK, 2)

    def test_nemotron(self):
        weights, file = self.write_job(NEMOTRON, nemotron_list(NEMOTRON), 4,
                                       {"tensor": 2, "expert": 4, "expertTensor": 1}, {"tensor": 4})
        self.run_program("reshard-replay", "plan.reshard", "--weights", file, "--output", "shards", "--check")
        # vLLM holds A = -exp(A_log) in F32.
        name = "backbone.layers.0.mixer.A_log"
        numbers = (weights.pop(name).astype(numpy.uint32) << 16).view(numpy.float32)
        exact = -numpy.exp(numbers.astype(numpy.float64))
        weights["backbone.layers.0.mixer.A"] = exact.astype(numpy.float32).view(numpy.uint32)
        self.check(weights, nemotron_of, NEMOTRON, 4)

    def test_gpt_oss(self):
        weights, file = self.write_job(GPT_OSS, gpt_oss_list(GPT_OSS), 5,
                                       {"tensor": 2, "expert": 4, "expertTensor": 1}, {"tensor": 4})
        self.run_program("reshard-replay", "plan.reshard", "--weights", file, "--output", "shards", "--check")
        self.check(weights, gpt_oss_of, GPT_OSS, 4)

    def test_what_does_not_fit_the_plan_is_named(self):
        shapes = qwen3_moe_list(QWEN3_MOE)
        self.write_job(QWEN3_MOE, shapes, 3, {"expert": 8, "expertTensor": 1}, {"tensor": 8})
        replay = ("reshard-replay", "plan.reshard", "--weights")
        norm = ("BF16", numpy.zeros([48], numpy.uint16))
        write_safetensors(self.folder / "small.safetensors", {"model.norm.weight": norm})
        self.assertIn("small.safetensors: lm_head.weight: the plan moves this tensor and the weights lack it",
                      self.run_program(*replay, "small.safetensors", status=1))
        wrong = {name: (dtype, numpy.zeros(shape, BITS[dtype])) for name, (dtype, shape) in shapes.items()}
        wrong["model.norm.weight"] = ("F32", numpy.zeros([48], numpy.uint32))
        write_safetensors(self.folder / "wrong.safetensors", wrong)
        self.assertIn("model.norm.weight: is F32 [48] in the weights and BF16 [48] in the plan",
                      self.run_program(*replay, "wrong.safetensors", status=1))
        data = (self.folder / "wrong.safetensors").read_bytes()
        (self.folder / "cut.safetensors").write_bytes(data[:-1])
        self.assertIn("cut.safetensors: header: ", self.run_program(*replay, "cut.safetensors", status=1))
        (self.folder / "full").mkdir()
        (self.folder / "full/other").write_text("")
        self.assertIn("full: is not empty",
                      self.run_program(*replay, "model.safetensors", "--output", "full", status=1))
        self.assertIn("--weights", self.run_program("reshard-replay", "plan.reshard", "--output", "x", status=2))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=lambda path: pathlib.Path(path).resolve(), required=True)
    parser.add_argument("--source", type=lambda path: pathlib.Path(path).resolve(), required=True)
    arguments, rest = parser.parse_known_args()
    Weights.programs, Weights.source = arguments.programs, arguments.source
    unittest.main(argv=["weights_test", *rest])
