#!/usr/bin/env python3
"""Writes tests/compiler/layout/family_tensors.json: the tensors that transformers builds of small
configs of every built-in family, under the names in which checkpoints are published.

Each model is built on the meta device; transformers' own conversion of names and shapes between
checkpoints and memory is then reversed, as save_pretrained does. The configs are complete: every kind
of layer a family has is there (transformers builds no multi-token-prediction layers; the family files
have those from the published checkpoints). Made with torch 2.15.0 and transformers 5.24.0; neither is
needed to run the tests.

  python3 tests/oracles/family_tensors.py tests/compiler/layout/family_tensors.json
"""

import argparse
import json
import pathlib
import re

import torch
import transformers
from transformers.core_model_loading import revert_weight_conversion

# What most configs share: 8 query heads of 4 rows, 2 key and value heads.
ATTENTION = {"hidden_size": 16, "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 4,
             "vocab_size": 48, "dtype": "bfloat16"}
LATENT = {"hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 4,
          "num_key_value_heads": 4, "kv_lora_rank": 6, "qk_nope_head_dim": 4, "qk_rope_head_dim": 2,
          "v_head_dim": 3, "intermediate_size": 24, "moe_intermediate_size": 12,
          "n_routed_experts": 4, "n_shared_experts": 2, "num_experts_per_tok": 2,
          "first_k_dense_replace": 1, "moe_layer_freq": 1, "n_group": 2, "topk_group": 1,
          "vocab_size": 48, "dtype": "bfloat16"}
DELTA = {**ATTENTION, "num_hidden_layers": 4, "linear_num_key_heads": 4, "linear_num_value_heads": 8,
         "linear_key_head_dim": 6, "linear_value_head_dim": 5, "linear_conv_kernel_dim": 4}
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 12,
           "shared_expert_intermediate_size": 16}
HYBRID = {**ATTENTION, "mamba_num_heads": 8, "mamba_head_dim": 6, "n_groups": 4,
          "ssm_state_size": 5, "conv_kernel": 4, "intermediate_size": 24,
          "moe_intermediate_size": 12, "moe_shared_expert_intermediate_size": 12,
          "n_routed_experts": 4, "n_shared_experts": 1, "num_experts_per_tok": 2, "n_group": 1,
          "topk_group": 1, "tie_word_embeddings": False, "use_bias": False}
# The smallest vision towers; their tensors are left out of the lists.
TOWER = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2,
         "image_size": 28, "patch_size": 14}
VISION = {
    "gemma3": TOWER,
    "llama4": {**TOWER, "projector_input_dim": 8, "projector_output_dim": 8,
               "vision_output_dim": 8},
    "qwen3_5": {"depth": 1, "hidden_size": 8, "num_heads": 2, "intermediate_size": 8,
                "out_hidden_size": 16, "num_position_embeddings": 16},
}
VISION["qwen3_5_moe"] = VISION["qwen3_5"]
VISION_NAMES = ("vision", "model.visual", "multi_modal_projector")

CONFIGS = {
    "llama-2": {"model_type": "llama", "hidden_size": 16, "num_hidden_layers": 2,
                "num_attention_heads": 4, "intermediate_size": 24, "vocab_size": 48,
                "dtype": "float16", "tie_word_embeddings": False},
    "llama-3": {"model_type": "llama", **ATTENTION, "num_hidden_layers": 2, "intermediate_size": 24,
                "tie_word_embeddings": True},
    "llama-biases": {"model_type": "llama", **ATTENTION, "num_hidden_layers": 1,
                     "intermediate_size": 24, "attention_bias": True, "mlp_bias": True,
                     "tie_word_embeddings": False},
    "llama-4": {"model_type": "llama4_text", **ATTENTION, "num_hidden_layers": 4,
                "intermediate_size": 12, "intermediate_size_mlp": 20, "num_local_experts": 4,
                "num_experts_per_tok": 1, "interleave_moe_layer_step": 2,
                "tie_word_embeddings": False},
    "qwen2": {"model_type": "qwen2", "hidden_size": 16, "num_hidden_layers": 2,
              "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 24,
              "vocab_size": 48, "dtype": "bfloat16", "tie_word_embeddings": True},
    "qwen2-moe": {"model_type": "qwen2_moe", "hidden_size": 16, "num_hidden_layers": 4,
                  "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 24,
                  "vocab_size": 48, "dtype": "bfloat16", "decoder_sparse_step": 2,
                  "mlp_only_layers": [3], "tie_word_embeddings": False, **EXPERTS},
    "qwen3": {"model_type": "qwen3", **ATTENTION, "num_hidden_layers": 2, "intermediate_size": 24,
              "tie_word_embeddings": False},
    "qwen3-moe": {"model_type": "qwen3_moe", **ATTENTION, "num_hidden_layers": 3,
                  "intermediate_size": 24, "num_experts": 4, "num_experts_per_tok": 2,
                  "moe_intermediate_size": 12, "mlp_only_layers": [1],
                  "tie_word_embeddings": False},
    "qwen3-next": {"model_type": "qwen3_next", **DELTA, **EXPERTS, "intermediate_size": 24,
                   "mlp_only_layers": [1], "decoder_sparse_step": 1,
                   "tie_word_embeddings": False},
    "qwen3.5": {"model_type": "qwen3_5_text", **DELTA, "intermediate_size": 24,
                "tie_word_embeddings": True},
    "qwen3.5-moe": {"model_type": "qwen3_5_moe_text", **DELTA, **EXPERTS,
                    "tie_word_embeddings": False},
    "deepseek-v2": {"model_type": "deepseek_v2", **LATENT, "q_lora_rank": 8,
                    "tie_word_embeddings": False},
    "deepseek-v2-lite": {"model_type": "deepseek_v2", **LATENT, "q_lora_rank": None,
                         "tie_word_embeddings": False},
    "deepseek-v3": {"model_type": "deepseek_v3", **LATENT, "q_lora_rank": 8,
                    "tie_word_embeddings": False},
    "mixtral": {"model_type": "mixtral", **ATTENTION, "num_hidden_layers": 2,
                "intermediate_size": 24, "num_local_experts": 4, "num_experts_per_tok": 2,
                "tie_word_embeddings": False},
    "gpt-oss": {"model_type": "gpt_oss", **ATTENTION, "num_hidden_layers": 2,
                "intermediate_size": 24, "num_local_experts": 4, "num_experts_per_tok": 2,
                "attention_bias": True, "tie_word_embeddings": False},
    "gemma-3": {"model_type": "gemma3_text", **ATTENTION, "num_hidden_layers": 2,
                "intermediate_size": 24, "tie_word_embeddings": True},
    "nemotron-h": {"model_type": "nemotron_h", **HYBRID, "num_hidden_layers": 4,
                   "hybrid_override_pattern": "M-M*"},
    "nemotron-3": {"model_type": "nemotron_h", **HYBRID, "num_hidden_layers": 4,
                   "hybrid_override_pattern": "ME*E"},
    "nemotron-3-latent": {"model_type": "nemotron_h", **HYBRID, "num_hidden_layers": 3,
                          "hybrid_override_pattern": "EM*", "moe_latent_size": 8},
    "glm-4.5": {"model_type": "glm4_moe", **ATTENTION, "num_hidden_layers": 3,
                "intermediate_size": 24, "moe_intermediate_size": 12, "n_routed_experts": 4,
                "n_shared_experts": 1, "num_experts_per_tok": 2, "first_k_dense_replace": 1,
                "n_group": 1, "topk_group": 1, "attention_bias": True, "use_qk_norm": True,
                "tie_word_embeddings": False},
    "glm-4.5-air": {"model_type": "glm4_moe", **ATTENTION, "num_hidden_layers": 2,
                    "intermediate_size": 24, "moe_intermediate_size": 12, "n_routed_experts": 4,
                    "n_shared_experts": 1, "num_experts_per_tok": 2, "first_k_dense_replace": 1,
                    "n_group": 1, "topk_group": 1, "attention_bias": True, "use_qk_norm": False,
                    "tie_word_embeddings": False},
}

# The same text models inside multimodal ones.
for model_type, base in (("gemma3", "gemma-3"), ("llama4", "llama-4"), ("qwen3_5", "qwen3.5"),
                         ("qwen3_5_moe", "qwen3.5-moe")):
    CONFIGS[base + "-multimodal"] = {
        "model_type": model_type, "dtype": CONFIGS[base]["dtype"],
        "text_config": {key: value for key, value in CONFIGS[base].items() if key != "dtype"}}

# Safetensors' names of torch's dtypes.
DTYPES = {torch.bfloat16: "BF16", torch.float16: "F16", torch.float32: "F32"}


def published(config):
    """Sorted [name, dtype, shape] of the model of a config."""
    fields = dict(config)
    model_type = fields.pop("model_type")
    dtype = getattr(torch, fields.pop("dtype"))
    builder = transformers.AutoModelForCausalLM
    if "text_config" in fields:
        builder = transformers.AutoModelForImageTextToText
        fields["vision_config"] = VISION[model_type]
        fields["tie_word_embeddings"] = fields["text_config"]["tie_word_embeddings"]
    built = transformers.CONFIG_MAPPING[model_type](**fields)
    with torch.device("meta"):
        model = builder.from_config(built, dtype=dtype)
    model.tie_weights()
    state = model.state_dict()
    for tied in getattr(model, "all_tied_weights_keys", {}) or {}:
        state.pop(tied, None)
    reverted = revert_weight_conversion(model, state)
    return sorted([name, DTYPES[tensor.dtype], list(tensor.shape)]
                  for name, tensor in reverted.items() if not name.startswith(VISION_NAMES))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("output", type=pathlib.Path)
    output = parser.parse_args().output
    cases = []
    for name, config in sorted(CONFIGS.items()):
        cases.append({"name": name, "config": config, "tensors": published(config)})
    text = ",\n".join(
        '{"name": %s, "config": %s,\n "tensors": [\n%s]}'
        % (json.dumps(case["name"]), json.dumps(case["config"], sort_keys=True),
           ",\n".join("  " + json.dumps(row) for row in case["tensors"])) for case in cases)
    output.write_text("[" + text + "]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
