#!/usr/bin/env python3
"""An explicit layout of reshard from live PyTorch tensors.

In a trainer or an engine, on every rank of the group:

    import reshard_layout_dump
    reshard_layout_dump.write(model, "layout.json", "tensors.json")

`model` is a module or a state dict; DTensors are described as they are stored, other tensors, buffers
among them, are taken as equal on every rank that has them (and held against each other, if
torch.distributed is up). Rank 0 writes. "layout.json" is what a job says behind "explicit",
"tensors.json" what it says behind "model". Ranks are positions in the group: `ranks` lists the
global ranks in their order, all by default.

The other way round,

    reshard_layout_dump.check(model, json.load(open("layout.json")), json.load(open("tensors.json")))

raises LayoutError unless this rank's tensors are what the layout says of it.

One process can do without torch.distributed: local_records() on each rank, merge() anywhere.
Nothing but torch is needed, and that only to gather and to compare contents.
"""

import json
import math
import re

DTYPES = {
    "float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16",
    "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2", "float8_e8m0fnu": "F8_E8M0",
    "int64": "I64", "int32": "I32", "int16": "I16", "int8": "I8",
    "uint64": "U64", "uint32": "U32", "uint16": "U16", "uint8": "U8", "bool": "BOOL",
}


class LayoutError(ValueError):
    """What a layout cannot say, or what contradicts it; names the tensor."""


def tensors_of(model):
    """Names and tensors, parameters and persistent buffers alike; other state is left out."""
    state = model.state_dict(keep_vars=True) if hasattr(model, "state_dict") else model
    return {name: tensor for name, tensor in state.items()
            if hasattr(tensor, "shape") and hasattr(tensor, "dtype")}


def dtype_name(name, dtype):
    word = str(dtype).removeprefix("torch.")
    if word not in DTYPES:
        raise LayoutError(f"{name}: dtype {word} has no name in safetensors")
    return DTYPES[word]


def placement_word(name, placement):
    """ "R", "S(0)", "_S(0, 2)" of one of torch's placements."""
    kind = type(placement).__name__
    if kind == "Replicate":
        return "R"
    if kind == "Shard":
        return f"S({placement.dim})"
    if kind == "_StridedShard":
        return f"_S({placement.dim}, {placement.split_factor})"
    if kind in ("Partial", "_Partial"):
        raise LayoutError(f"{name} is partial: its ranks hold summands, not bytes of the tensor; "
                          "reduce it first")
    raise LayoutError(f"{name}: placement {kind} is not known")


def local_records(model, fingerprint=None):
    """What this rank holds, as plain values: name -> record. `fingerprint` maps a plain tensor to a
    number by which ranks compare contents; without it they do not."""
    records = {}
    for name, tensor in tensors_of(model).items():
        record = {"dtype": dtype_name(name, tensor.dtype), "shape": [int(n) for n in tensor.shape]}
        local = tensor
        if hasattr(tensor, "placements"):
            mesh = tensor.device_mesh
            grid = mesh.mesh
            names = mesh.mesh_dim_names or [f"d{i}" for i in range(len(grid.shape))]
            record["axes"] = [[str(axis), int(size)] for axis, size in zip(names, grid.shape)]
            record["ranks"] = [int(rank) for rank in grid.flatten().tolist()]
            record["placements"] = [placement_word(name, p) for p in tensor.placements]
            local = tensor.to_local()
        elif fingerprint is not None:
            record["fingerprint"] = fingerprint(tensor)
        if not local.is_contiguous():
            raise LayoutError(f"{name} is not contiguous on this rank")
        record["local"] = [int(n) for n in local.shape]
        records[name] = record
    return records


def chunk(size, count, index):
    """Piece `index` of torch.chunk(size, count), as (start, stop)."""
    each = -(-size // count)
    start = min(each * index, size)
    return start, min(start + each, size)


def cut_of(word):
    """(dim, split) of "S(dim)", "_S(dim, split)"; None of "R"."""
    found = re.fullmatch(r"(_?)S\((\d+)(?:, *(\d+))?\)", word)
    if not found:
        return None
    return int(found.group(2)), int(found.group(3) or 1)


def local_shape(shape, axes, placements, order, coordinate):
    """The shape that placements, applied in `order`, leave at a mesh coordinate."""
    local = list(shape)
    for axis in order:
        cut = cut_of(placements[axis])
        if cut is None:
            continue
        dim, split = cut
        count, index = axes[axis][1], coordinate[axis]
        pieces = (chunk(local[dim], split, piece) for piece in range(split))
        parts = (chunk(stop - start, count, index) for start, stop in pieces)
        local[dim] = sum(stop - start for start, stop in parts)
    return local


def coordinate_of(axes, position):
    coordinate = []
    for _, size in reversed(axes):
        coordinate.append(position % size)
        position //= size
    return coordinate[::-1]


def stored_form(axes, placements):
    """(placements, order) of what FSDP2 stores where its placements say _StridedShard: the axes behind
    cut first. None where the split is not that of the axes behind."""
    plain, order = list(placements), []
    for axis in reversed(range(len(axes))):
        cut = cut_of(placements[axis])
        if cut is None:
            continue
        dim, split = cut
        behind = math.prod(axes[later][1] for later in range(axis + 1, len(axes))
                           if (cut_of(placements[later]) or (None,))[0] == dim)
        if placements[axis].startswith("_S") and split != behind:
            return None
        if not placements[axis].startswith("_S") and behind > 1:
            return None  # cut in mesh order
        plain[axis] = f"S({dim})"
        order.append(axis)
    return plain, order


def forms_of(axes, placements):
    """Candidates for how a DTensor is stored, the likeliest first."""
    natural = (list(placements), list(range(len(axes))))
    if not any(word.startswith("_S") for word in placements):
        return [natural]
    stored = stored_form(axes, placements)
    return [stored, natural] if stored else [natural]


def choose_form(name, record, local_of_rank):
    """The candidate that every rank's local shape agrees with."""
    axes, ranks = record["axes"], record["ranks"]
    for placements, order in forms_of(axes, record["placements"]):
        if all(local_shape(record["shape"], axes, placements, order,
                           coordinate_of(axes, position)) == local_of_rank[rank]
               for position, rank in enumerate(ranks)):
            return placements, order
    raise LayoutError(f"{name}: placements {record['placements']} on {axes} do not say the local "
                      f"shapes that its ranks hold")


def index_list(numbers):
    """[0, 1, 2, 5] -> "0-2,5"."""
    runs = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def same(name, what, records):
    values = {json.dumps(record.get(what)) for record in records.values()}
    if len(values) > 1:
        raise LayoutError(f"{name}: {what} differs between the ranks: {' and '.join(sorted(values))}")


def merged_mesh(name, records):
    """Axes and global ranks of the mesh that all ranks of a tensor form. Several meshes of equal
    shape, one beside the other, become copies along an axis of their own."""
    if "axes" not in next(iter(records.values())):
        return [["copy", len(records)]], sorted(records)
    meshes = sorted({tuple(record["ranks"]) for record in records.values()})
    ranks = [rank for mesh in meshes for rank in mesh]
    if sorted(ranks) != sorted(records):
        raise LayoutError(f"{name}: its meshes have ranks {index_list(sorted(set(ranks)))}, but ranks "
                          f"{index_list(sorted(records))} hold it")
    axes = next(iter(records.values()))["axes"]
    return ([["copy", len(meshes)], *axes] if len(meshes) > 1 else axes), ranks


def describe_tensor(name, records):
    """One tensor's (axes, ranks, placements, order) from the records of the ranks that hold it."""
    for what in ("dtype", "shape", "axes", "placements"):
        same(name, what, records)
    record = next(iter(records.values()))
    axes, ranks = merged_mesh(name, records)
    if "axes" not in record:
        same(name, "fingerprint", records)
        return axes, ranks, ["R"], [0]
    local_of_rank = {rank: one["local"] for rank, one in records.items()}
    copies = len(axes) - len(record["axes"])
    whole = {**record, "axes": axes, "ranks": ranks,
             "placements": ["R"] * copies + record["placements"]}
    placements, order = choose_form(name, whole, local_of_rank)
    return axes, ranks, placements, order


def merge(records_of_rank, tensor_name=None):
    """(layout, tensors) from global rank -> local_records() of each rank of the group, in rank order.
    `tensor_name` maps a parameter's name to that of the tensor it holds, where they differ."""
    position = {rank: at for at, rank in enumerate(records_of_rank)}
    holders = {}
    for rank, records in records_of_rank.items():
        for name, record in records.items():
            holders.setdefault(name, {})[rank] = record
    meshes, mesh_names, rules, parameters, tensors = {}, {}, [], [], {}
    for name in sorted(holders):
        records = holders[name]
        axes, ranks, placements, order = describe_tensor(name, records)
        outside = [rank for rank in ranks if rank not in position]
        if outside:
            raise LayoutError(f"{name}: ranks {index_list(outside)} of its mesh are not in the group")
        positions = [position[rank] for rank in ranks]
        key = json.dumps([axes, positions])
        if key not in mesh_names:
            mesh_names[key] = f"m{len(mesh_names)}"
            meshes[mesh_names[key]] = {"axes": axes, "ranks": index_list(positions)}
        tensor = tensor_name(name) if tensor_name else name
        if tensor in tensors:
            raise LayoutError(f"{name}: another parameter holds tensor {tensor} already")
        record = next(iter(records.values()))
        tensors[tensor] = {"shape": record["shape"], "dtype": record["dtype"]}
        rule = {"match": tensor, "mesh": mesh_names[key], "placements": placements}
        cutting = [axis for axis in order if placements[axis] != "R"]
        if cutting != sorted(cutting):
            rule["order"] = [axes[axis][0] for axis in cutting]
        rules.append(rule)
        if tensor != name:
            parameters.append({"name": name, "parts": [tensor]})
    layout = {"meshes": meshes, "tensors": rules}
    if parameters:
        layout["parameters"] = parameters
    return layout, tensors


def fingerprint(tensor):
    """A sum over the tensor's bytes that differs, as good as always, where contents do."""
    import torch

    flat = tensor.detach().contiguous().reshape(-1).view(torch.uint8).to(torch.int64)
    weights = torch.arange(flat.numel(), dtype=torch.int64, device=flat.device) % 1000003 + 1
    return int((flat * weights).sum())


def gather(records, ranks=None):
    """Global rank -> records, on every rank, over the default process group."""
    import torch.distributed as dist

    if not dist.is_available() or not dist.is_initialized():
        return {0: records}
    everyone = [None] * dist.get_world_size()
    dist.all_gather_object(everyone, records)
    return {rank: everyone[rank] for rank in (ranks or range(len(everyone)))}


def write(model, layout_path, tensors_path, ranks=None, tensor_name=None):
    """Writes both files on global rank 0. Every rank of the default process group calls it, with
    {} for a model where it has none."""
    records_of_rank = gather(local_records(model, fingerprint), ranks)
    layout, tensors = merge(records_of_rank, tensor_name)
    import torch.distributed as dist

    if dist.is_available() and dist.is_initialized() and dist.get_rank() != 0:
        return
    for path, value in ((layout_path, layout), (tensors_path, tensors)):
        with open(path, "w", encoding="utf-8") as file:
            json.dump(value, file, indent=1)
            file.write("\n")


def parse_index_list(text):
    numbers = []
    for piece in text.split(","):
        first, _, last = piece.partition("-")
        numbers += range(int(first), int(last or first) + 1)
    return numbers


def expected_local(layout, tensors, tensor, position):
    """The local shape that a layout written by merge() leaves at a position; None if it holds none."""
    rule = next((rule for rule in layout["tensors"] if rule["match"] == tensor), None)
    if rule is None:
        return None
    mesh = layout["meshes"][rule["mesh"]]
    positions = parse_index_list(mesh["ranks"])
    if position not in positions:
        return None
    axes = mesh["axes"]
    names = [axis for axis, _ in axes]
    order = [names.index(axis) for axis in rule.get("order", names)]
    return local_shape(tensors[tensor]["shape"], axes, rule["placements"], order,
                       coordinate_of(axes, positions.index(position)))


def check(model, layout, tensors, position=None):
    """Holds this rank's tensors against a layout of merge() or write(). `position` is the rank's in
    the group, its global rank by default. LayoutError names the first tensor that differs."""
    if position is None:
        import torch.distributed as dist

        position = dist.get_rank() if dist.is_available() and dist.is_initialized() else 0
    tensor_of = {entry["name"]: entry["parts"][0] for entry in layout.get("parameters", [])}
    parameter_of = {tensor: name for name, tensor in tensor_of.items()}
    records = local_records(model)
    for name, record in records.items():
        tensor = tensor_of.get(name, name)
        expected = expected_local(layout, tensors, tensor, position) if tensor in tensors else None
        if expected is None:
            raise LayoutError(f"{name}: the layout has it not on this rank")
        for what, held, said in (("dtype", record["dtype"], tensors[tensor]["dtype"]),
                                 ("local shape", record["local"], expected)):
            if held != said:
                raise LayoutError(f"{name}: {what} is {held}, the layout says {said}")
    for tensor in tensors:
        name = parameter_of.get(tensor, tensor)
        if name not in records and expected_local(layout, tensors, tensor, position) is not None:
            raise LayoutError(f"{name}: the layout has it on this rank, the model has not")
