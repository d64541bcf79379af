"""Checkpoints of four families, small, and the way back to them from what the ranks of a vLLM engine hold.

Shares no code with reshard: safetensors files are written and read here, and the rules by which vLLM
lays out its parameters are written down here once more, as the opposite direction: from the shards of
an engine back to Hugging Face's tensors. Only numpy is used.
"""

import json

import numpy

# Elements are compared as bits, so an unsigned integer of the width stands for every dtype.
BITS = {"BF16": numpy.uint16, "F32": numpy.uint32, "F8_E4M3": numpy.uint8}


def write_safetensors(path, tensors):
    """tensors: name -> (dtype, array of bits)."""
    header, offset = {}, 0
    for name, (dtype, bits) in tensors.items():
        header[name] = {"dtype": dtype, "shape": list(bits.shape), "data_offsets": [offset, offset + bits.nbytes]}
        offset += bits.nbytes
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for _, bits in tensors.values():
            file.write(bits.tobytes())


def read_safetensors(path):
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__")
    tensors, end = {}, 8 + length
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        begin, stop = (8 + length + offset for offset in entry["data_offsets"])
        assert begin == end and begin % BITS[entry["dtype"]]().itemsize == 0, name
        end = stop
        tensors[name] = numpy.frombuffer(data[begin:stop], BITS[entry["dtype"]]).reshape(entry["shape"])
    assert end == len(data), path
    return tensors


def same(arrays):
    for other in arrays[1:]:
        numpy.testing.assert_array_equal(arrays[0], other)
    return arrays[0]


def blocks(rows):
    return -(-rows // 128)


class Engine:
    """The ranks of one vLLM engine (pipeline 1), by tensor-parallel rank."""

    def __init__(self, ranks):
        self.ranks = ranks
        self.used = set()

    def pieces(self, name):
        self.used.add(name)
        return [rank[name] for rank in self.ranks]

    def column(self, name):  # cut by rows
        return numpy.concatenate(self.pieces(name), axis=0)

    def row(self, name):  # cut by columns
        return numpy.concatenate(self.pieces(name), axis=1)

    def whole(self, name):
        return same(self.pieces(name))

    def vocabulary(self, name, size):  # rows beyond the vocabulary are zero
        stored = self.column(name)
        assert stored.shape[0] == -(-size // 64) * 64, stored.shape
        assert not stored[size:].any()
        return stored[:size]

    def gated(self, name):  # each rank: its gate rows, then its up rows
        halves = [numpy.split(piece, 2, axis=0) for piece in self.pieces(name)]
        return [numpy.concatenate([half[i] for half in halves], axis=0) for i in (0, 1)]

    def check_all_used(self):
        for rank in self.ranks:
            assert set(rank) == self.used, set(rank) ^ self.used


def qwen3_moe_of(engine, config):
    """Attention with KV heads replicated where the ranks outnumber them; experts cut over all ranks."""
    degree, head = len(engine.ranks), config["head_dim"]
    queries = config["num_attention_heads"] // degree * head
    keys = config["num_key_value_heads"]
    copies = max(1, degree // keys)
    tensors = {"model.embed_tokens.weight": engine.vocabulary("model.embed_tokens.weight", config["vocab_size"]),
               "lm_head.weight": engine.vocabulary("lm_head.weight", config["vocab_size"]),
               "model.norm.weight": engine.whole("model.norm.weight")}
    for i in range(config["num_hidden_layers"]):
        layer = f"model.layers.{i}."
        for norm in ("input_layernorm", "post_attention_layernorm", "self_attn.q_norm", "self_attn.k_norm"):
            tensors[f"{layer}{norm}.weight"] = engine.whole(f"{layer}{norm}.weight")
        fused = engine.pieces(layer + "self_attn.qkv_proj.weight")
        local = (fused[0].shape[0] - queries) // 2
        tensors[layer + "self_attn.q_proj.weight"] = numpy.concatenate([piece[:queries] for piece in fused])
        for part, begin in (("k", queries), ("v", queries + local)):
            held = [piece[begin:begin + local] for piece in fused]
            tensors[f"{layer}self_attn.{part}_proj.weight"] = numpy.concatenate(
                [same(held[first:first + copies]) for first in range(0, degree, copies)])
        tensors[layer + "self_attn.o_proj.weight"] = engine.row(layer + "self_attn.o_proj.weight")
        tensors[layer + "mlp.gate.weight"] = engine.whole(layer + "mlp.gate.weight")
        w13 = engine.pieces(layer + "mlp.experts.routed_experts.w13_weight")
        w2 = engine.pieces(layer + "mlp.experts.routed_experts.w2_weight")
        for e in range(config["num_experts"]):
            halves = [numpy.split(piece[e], 2) for piece in w13]
            expert = f"{layer}mlp.experts.{e}."
            tensors[expert + "gate_proj.weight"] = numpy.concatenate([half[0] for half in halves])
            tensors[expert + "up_proj.weight"] = numpy.concatenate([half[1] for half in halves])
            tensors[expert + "down_proj.weight"] = numpy.concatenate([piece[e] for piece in w2], axis=1)
    return tensors


def deepseek_of(engine, config):
    """Latent attention, a dense layer, shared experts, whole experts over the ranks, block scales."""
    tensors = {"model.embed_tokens.weight": engine.vocabulary("model.embed_tokens.weight", config["vocab_size"]),
               "lm_head.weight": engine.vocabulary("lm_head.weight", config["vocab_size"]),
               "model.norm.weight": engine.whole("model.norm.weight")}

    def scaled(target, take):
        """Weight and scales alike: take(name of the parameter's suffix)."""
        for suffix in ("weight", "weight_scale_inv"):
            for name, bits in zip(target, take(suffix)):
                tensors[f"{name}.{suffix}"] = bits

    for i in range(config["num_hidden_layers"]):
        layer = f"model.layers.{i}."
        attention = layer + "self_attn."
        for norm in ("input_layernorm", "post_attention_layernorm", "self_attn.q_a_layernorm",
                     "self_attn.kv_a_layernorm"):
            tensors[f"{layer}{norm}.weight"] = engine.whole(f"{layer}{norm}.weight")

        def fused_a(suffix):
            rows = config["q_lora_rank"] if suffix == "weight" else blocks(config["q_lora_rank"])
            fused = engine.whole(f"{attention}fused_qkv_a_proj.{suffix}")
            return fused[:rows], fused[rows:]

        scaled([attention + "q_a_proj", attention + "kv_a_proj_with_mqa"], fused_a)
        for name in ("q_b_proj", "kv_b_proj"):
            scaled([attention + name], lambda suffix: [engine.column(f"{attention}{name}.{suffix}")])
        scaled([attention + "o_proj"], lambda suffix: [engine.row(f"{attention}o_proj.{suffix}")])

        dense = ["mlp."] if i < config["first_k_dense_replace"] else ["mlp.shared_experts."]
        for prefix in dense:
            scaled([f"{layer}{prefix}gate_proj", f"{layer}{prefix}up_proj"],
                   lambda suffix: engine.gated(f"{layer}{prefix}gate_up_proj.{suffix}"))
            scaled([f"{layer}{prefix}down_proj"], lambda suffix: [engine.row(f"{layer}{prefix}down_proj.{suffix}")])
        if i < config["first_k_dense_replace"]:
            continue
        tensors[layer + "mlp.gate.weight"] = engine.whole(layer + "mlp.gate.weight")
        bias = layer + "mlp.gate.e_score_correction_bias"
        tensors[bias] = engine.whole(bias)
        local = config["n_routed_experts"] // len(engine.ranks)
        for suffix in ("weight", "weight_scale_inv"):
            w13 = engine.pieces(f"{layer}mlp.experts.routed_experts.w13_{suffix}")
            w2 = engine.pieces(f"{layer}mlp.experts.routed_experts.w2_{suffix}")
            for e in range(config["n_routed_experts"]):
                expert = f"{layer}mlp.experts.{e}."
                gate, up = numpy.split(w13[e // local][e % local], 2)
                tensors[f"{expert}gate_proj.{suffix}"] = gate
                tensors[f"{expert}up_proj.{suffix}"] = up
                tensors[f"{expert}down_proj.{suffix}"] = w2[e // local][e % local]
    return tensors


def joined(pieces, sizes):
    """What each rank holds as its share of every segment, one after the other, put together by segment."""
    shares = [numpy.split(piece, numpy.cumsum([size // len(pieces) for size in sizes])[:-1]) for piece in pieces]
    return numpy.concatenate([share[i] for i in range(len(sizes)) for share in shares])


def nemotron_of(engine, config):
    """Mamba2, an MLP without gate, attention, latent experts without gate; A in place of A_log."""
    inner = config["mamba_num_heads"] * config["mamba_head_dim"]
    states = config["n_groups"] * config["ssm_state_size"]
    degree = len(engine.ranks)
    tensors = {"backbone.embeddings.weight": engine.vocabulary("model.embed_tokens.weight", config["vocab_size"]),
               "lm_head.weight": engine.vocabulary("lm_head.weight", config["vocab_size"]),
               "backbone.norm_f.weight": engine.whole("model.norm_f.weight")}
    for i, kind in enumerate(config["hybrid_override_pattern"]):
        layer, held = f"backbone.layers.{i}.", f"model.layers.{i}."
        mixer, parameter = layer + "mixer.", held + "mixer."
        tensors[layer + "norm.weight"] = engine.whole(held + "norm.weight")
        if kind == "M":
            tensors[mixer + "in_proj.weight"] = joined(
                engine.pieces(parameter + "in_proj.weight"),
                [inner, inner, states, states, config["mamba_num_heads"]])
            for name in ("conv1d.weight", "conv1d.bias"):
                tensors[mixer + name] = joined(engine.pieces(parameter + name), [inner, states, states])
            for name in ("A", "D", "dt_bias", "norm.weight"):
                tensors[mixer + name] = engine.column(parameter + name)
            tensors[mixer + "out_proj.weight"] = engine.row(parameter + "out_proj.weight")
        elif kind == "-":
            tensors[mixer + "up_proj.weight"] = engine.column(parameter + "up_proj.weight")
            tensors[mixer + "down_proj.weight"] = engine.row(parameter + "down_proj.weight")
        elif kind == "*":
            head = config["head_dim"]
            queries = config["num_attention_heads"] // degree * head
            fused = engine.pieces(parameter + "qkv_proj.weight")
            copies = degree // config["num_key_value_heads"]
            tensors[mixer + "q_proj.weight"] = numpy.concatenate([piece[:queries] for piece in fused])
            for part, begin in (("k", queries), ("v", queries + head)):
                parts = [piece[begin:begin + head] for piece in fused]
                tensors[f"{mixer}{part}_proj.weight"] = numpy.concatenate(
                    [same(parts[first:first + copies]) for first in range(0, degree, copies)])
            tensors[mixer + "o_proj.weight"] = engine.row(parameter + "o_proj.weight")
        else:
            for name in ("gate.weight", "gate.e_score_correction_bias", "fc1_latent_proj.weight",
                         "fc2_latent_proj.weight"):
                tensors[mixer + name] = engine.whole(parameter + name)
            shared = "shared_experts.up_proj.weight"
            tensors[mixer + shared] = engine.column(parameter + shared)
            shared = "shared_experts.down_proj.weight"
            tensors[mixer + shared] = engine.row(parameter + shared)
            w13 = engine.pieces(parameter + "experts.routed_experts.w13_weight")
            w2 = engine.pieces(parameter + "experts.routed_experts.w2_weight")
            for e in range(config["n_routed_experts"]):
                tensors[f"{mixer}experts.{e}.up_proj.weight"] = numpy.concatenate([piece[e] for piece in w13])
                tensors[f"{mixer}experts.{e}.down_proj.weight"] = numpy.concatenate([piece[e] for piece in w2], axis=1)
    return tensors


def gpt_oss_of(engine, config):
    """Biases everywhere, sinks, experts transposed from input-major, gate and up rows alternating, and the bias of
    down on the first rank alone."""
    degree, head = len(engine.ranks), config["head_dim"]
    sizes = [count * head for count in (config["num_attention_heads"], config["num_key_value_heads"],
                                        config["num_key_value_heads"])]
    ends = numpy.cumsum(sizes)
    tensors = {"model.embed_tokens.weight": engine.vocabulary("model.embedding.weight", config["vocab_size"]),
               "lm_head.weight": engine.vocabulary("lm_head.weight", config["vocab_size"]),
               "model.norm.weight": engine.whole("model.norm.weight")}
    for i in range(config["num_hidden_layers"]):
        layer = f"model.layers.{i}."
        for name in ("input_layernorm.weight", "post_attention_layernorm.weight", "mlp.router.weight",
                     "mlp.router.bias"):
            tensors[layer + name] = engine.whole(layer + name)
        for kind in ("weight", "bias"):
            parts = numpy.split(joined(engine.pieces(f"{layer}attn.qkv_proj.{kind}"), sizes), ends[:-1])
            for name, part in zip("qkv", parts):
                tensors[f"{layer}self_attn.{name}_proj.{kind}"] = part
        tensors[layer + "self_attn.o_proj.weight"] = engine.row(layer + "attn.o_proj.weight")
        tensors[layer + "self_attn.o_proj.bias"] = engine.whole(layer + "attn.o_proj.bias")
        tensors[layer + "self_attn.sinks"] = engine.column(layer + "attn.sinks")
        experts, stacks = layer + "mlp.experts.", layer + "mlp.experts.routed_experts."
        tensors[experts + "gate_up_proj"] = numpy.concatenate(
            engine.pieces(stacks + "w13_weight"), axis=1).transpose(0, 2, 1)
        tensors[experts + "gate_up_proj_bias"] = numpy.concatenate(engine.pieces(stacks + "w13_bias"), axis=1)
        tensors[experts + "down_proj"] = numpy.concatenate(
            engine.pieces(stacks + "w2_weight"), axis=2).transpose(0, 2, 1)
        bias = engine.pieces(stacks + "w2_bias")
        assert not any(piece.any() for piece in bias[1:degree])
        tensors[experts + "down_proj_bias"] = bias[0]
    return tensors


QWEN3_MOE = {
    "model_type": "qwen3_moe", "architectures": ["Qwen3MoeForCausalLM"], "dtype": "bfloat16",
    "hidden_size": 48, "num_hidden_layers": 3, "num_attention_heads": 16, "num_key_value_heads": 4,
    "head_dim": 8, "vocab_size": 500, "intermediate_size": 96, "moe_intermediate_size": 32,
    "num_experts": 8, "num_experts_per_tok": 2, "decoder_sparse_step": 1, "mlp_only_layers": [],
    "tie_word_embeddings": False}
DEEPSEEK = {
    "model_type": "deepseek_v3", "architectures": ["DeepseekV3ForCausalLM"], "torch_dtype": "bfloat16",
    "hidden_size": 256, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 4,
    "vocab_size": 320, "intermediate_size": 512, "moe_intermediate_size": 128, "n_routed_experts": 8,
    "n_shared_experts": 2, "first_k_dense_replace": 1, "moe_layer_freq": 1, "num_nextn_predict_layers": 0,
    "q_lora_rank": 256, "kv_lora_rank": 128, "qk_nope_head_dim": 64, "qk_rope_head_dim": 64, "v_head_dim": 64,
    "tie_word_embeddings": False,
    "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}


NEMOTRON = {
    "model_type": "nemotron_h", "torch_dtype": "bfloat16", "hidden_size": 32, "num_hidden_layers": 4,
    "hybrid_override_pattern": "M-*E", "mamba_num_heads": 8, "mamba_head_dim": 4, "n_groups": 4, "ssm_state_size": 6,
    "conv_kernel": 4, "use_conv_bias": True, "intermediate_size": 48, "vocab_size": 200, "num_attention_heads": 8,
    "num_key_value_heads": 2, "head_dim": 4, "n_routed_experts": 8, "n_shared_experts": 1, "moe_intermediate_size": 16,
    "moe_shared_expert_intermediate_size": 24, "moe_latent_size": 12, "tie_word_embeddings": False}


def nemotron_list(c):
    h, heads, latent = c["hidden_size"], c["mamba_num_heads"], c["moe_latent_size"]
    inner, states = heads * c["mamba_head_dim"], c["n_groups"] * c["ssm_state_size"]
    shapes = {"backbone.embeddings.weight": [c["vocab_size"], h], "lm_head.weight": [c["vocab_size"], h],
              "backbone.norm_f.weight": [h]}
    for i, kind in enumerate(c["hybrid_override_pattern"]):
        mixer = f"backbone.layers.{i}.mixer."
        shapes[f"backbone.layers.{i}.norm.weight"] = [h]
        if kind == "M":
            channels = inner + 2 * states
            shapes |= {mixer + "in_proj.weight": [2 * inner + 2 * states + heads, h], mixer + "A_log": [heads],
                       mixer + "conv1d.weight": [channels, 1, c["conv_kernel"]], mixer + "conv1d.bias": [channels],
                       mixer + "D": [heads], mixer + "dt_bias": [heads], mixer + "norm.weight": [inner],
                       mixer + "out_proj.weight": [h, inner]}
        elif kind == "-":
            shapes |= {mixer + "up_proj.weight": [c["intermediate_size"], h],
                       mixer + "down_proj.weight": [h, c["intermediate_size"]]}
        elif kind == "*":
            q, kv = c["num_attention_heads"] * c["head_dim"], c["num_key_value_heads"] * c["head_dim"]
            shapes |= {mixer + "q_proj.weight": [q, h], mixer + "k_proj.weight": [kv, h],
                       mixer + "v_proj.weight": [kv, h], mixer + "o_proj.weight": [h, q]}
        else:
            f, shared = c["moe_intermediate_size"], c["moe_shared_expert_intermediate_size"]
            shapes |= {mixer + "gate.weight": [c["n_routed_experts"], h],
                       mixer + "gate.e_score_correction_bias": [c["n_routed_experts"]],
                       mixer + "fc1_latent_proj.weight": [latent, h], mixer + "fc2_latent_proj.weight": [h, latent],
                       mixer + "shared_experts.up_proj.weight": [shared, h],
                       mixer + "shared_experts.down_proj.weight": [h, shared]}
            for e in range(c["n_routed_experts"]):
                shapes |= {f"{mixer}experts.{e}.up_proj.weight": [f, latent],
                           f"{mixer}experts.{e}.down_proj.weight": [latent, f]}
    return {name: ("F32" if name.endswith("e_score_correction_bias") else "BF16", shape)
            for name, shape in shapes.items()}


GPT_OSS = {
    "model_type": "gpt_oss", "torch_dtype": "bfloat16", "hidden_size": 32, "num_hidden_layers": 2, "vocab_size": 256,
    "intermediate_size": 16, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 4,
    "num_local_experts": 8, "tie_word_embeddings": False, "attention_bias": True}


def gpt_oss_list(c):
    h, f, e = c["hidden_size"], c["intermediate_size"], c["num_local_experts"]
    q, kv = c["num_attention_heads"] * c["head_dim"], c["num_key_value_heads"] * c["head_dim"]
    shapes = {"model.embed_tokens.weight": [c["vocab_size"], h], "lm_head.weight": [c["vocab_size"], h],
              "model.norm.weight": [h]}
    for i in range(c["num_hidden_layers"]):
        layer = f"model.layers.{i}."
        attention, experts = layer + "self_attn.", layer + "mlp.experts."
        shapes |= {layer + "input_layernorm.weight": [h], layer + "post_attention_layernorm.weight": [h],
                   attention + "q_proj.weight": [q, h], attention + "k_proj.weight": [kv, h],
                   attention + "v_proj.weight": [kv, h], attention + "o_proj.weight": [h, q],
                   attention + "q_proj.bias": [q], attention + "k_proj.bias": [kv], attention + "v_proj.bias": [kv],
                   attention + "o_proj.bias": [h], attention + "sinks": [c["num_attention_heads"]],
                   layer + "mlp.router.weight": [e, h], layer + "mlp.router.bias": [e],
                   experts + "gate_up_proj": [e, h, 2 * f], experts + "gate_up_proj_bias": [e, 2 * f],
                   experts + "down_proj": [e, f, h], experts + "down_proj_bias": [e, h]}
    return {name: ("BF16", shape) for name, shape in shapes.items()}


def qwen3_moe_list(c):
    """name -> (dtype, shape) as the published checkpoints have them."""
    h, d, f = c["hidden_size"], c["head_dim"], c["moe_intermediate_size"]
    shapes = {"model.embed_tokens": [c["vocab_size"], h], "lm_head": [c["vocab_size"], h], "model.norm": [h]}
    for i in range(c["num_hidden_layers"]):
        layer = f"model.layers.{i}."
        q, kv = c["num_attention_heads"] * d, c["num_key_value_heads"] * d
        shapes |= {layer + "input_layernorm": [h], layer + "post_attention_layernorm": [h],
                   layer + "self_attn.q_norm": [d], layer + "self_attn.k_norm": [d],
                   layer + "self_attn.q_proj": [q, h], layer + "self_attn.k_proj": [kv, h],
                   layer + "self_attn.v_proj": [kv, h], layer + "self_attn.o_proj": [h, q],
                   layer + "mlp.gate": [c["num_experts"], h]}
        for e in range(c["num_experts"]):
            shapes |= {f"{layer}mlp.experts.{e}.gate_proj": [f, h], f"{layer}mlp.experts.{e}.up_proj": [f, h],
                       f"{layer}mlp.experts.{e}.down_proj": [h, f]}
    return {name + ".weight": ("BF16", shape) for name, shape in shapes.items()}


def deepseek_list(c):
    h, heads = c["hidden_size"], c["num_attention_heads"]
    plain = {"model.embed_tokens": [c["vocab_size"], h], "lm_head": [c["vocab_size"], h], "model.norm": [h]}
    quantised = {}
    bias = {}

    def mlp(prefix, width):
        quantised.update({prefix + "gate_proj": [width, h], prefix + "up_proj": [width, h],
                          prefix + "down_proj": [h, width]})

    for i in range(c["num_hidden_layers"]):
        layer = f"model.layers.{i}."
        attention = layer + "self_attn."
        plain |= {layer + "input_layernorm": [h], layer + "post_attention_layernorm": [h],
                  attention + "q_a_layernorm": [c["q_lora_rank"]], attention + "kv_a_layernorm": [c["kv_lora_rank"]]}
        quantised |= {
            attention + "q_a_proj": [c["q_lora_rank"], h],
            attention + "q_b_proj": [heads * (c["qk_nope_head_dim"] + c["qk_rope_head_dim"]), c["q_lora_rank"]],
            attention + "kv_a_proj_with_mqa": [c["kv_lora_rank"] + c["qk_rope_head_dim"], h],
            attention + "kv_b_proj": [heads * (c["qk_nope_head_dim"] + c["v_head_dim"]), c["kv_lora_rank"]],
            attention + "o_proj": [h, heads * c["v_head_dim"]]}
        if i < c["first_k_dense_replace"]:
            mlp(layer + "mlp.", c["intermediate_size"])
            continue
        plain[layer + "mlp.gate"] = [c["n_routed_experts"], h]
        bias[layer + "mlp.gate.e_score_correction_bias"] = ("F32", [c["n_routed_experts"]])
        mlp(layer + "mlp.shared_experts.", c["moe_intermediate_size"] * c["n_shared_experts"])
        for e in range(c["n_routed_experts"]):
            mlp(f"{layer}mlp.experts.{e}.", c["moe_intermediate_size"])
    tensors = {name + ".weight": ("BF16", shape) for name, shape in plain.items()} | bias
    for name, shape in quantised.items():
        tensors[name + ".weight"] = ("F8_E4M3", shape)
        tensors[name + ".weight_scale_inv"] = ("F32", [blocks(shape[0]), blocks(shape[1])])
    return tensors
