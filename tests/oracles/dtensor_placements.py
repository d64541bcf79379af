"""What every rank holds under DTensor placements, as PyTorch's own code cuts them on CPU.

usage: python tests/oracles/dtensor_placements.py > tests/compiler/layout/dtensor_placements.json
needs: torch 2.15 (any build; nothing is sent, so a fake process group does)

Two kinds of cases. "placements" are cut by torch.distributed.tensor.distribute_tensor. "storage" is
what FSDP2 keeps: a module whose parameter is cut by tensor parallelism first is given to
fully_shard, and its local storage is recorded; for some uneven sizes it differs from what its own
placements say.

One case a line. "held" has per rank of the world null where the rank is not in the mesh, else
[local shape, elements], elements as ranges of row-major indices in the order they are held.
"""

import json
import random
import warnings

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Replicate, Shard, distribute_tensor
from torch.distributed.tensor.placement_types import _StridedShard
from torch.testing._internal.distributed.fake_pg import FakeStore

warnings.filterwarnings("ignore")

SEED = 7


def product(numbers):
    total = 1
    for number in numbers:
        total *= number
    return total


def placement_of(word):
    if word == "R":
        return Replicate()
    numbers = [int(part) for part in word[word.index("(") + 1 : -1].split(",")]
    if word.startswith("_S"):
        return _StridedShard(numbers[0], split_factor=numbers[1])
    return Shard(numbers[0])


def ranges(elements):
    """[0, 1, 2, 5, 4] -> "0-2,5,4"."""
    runs = []
    for element in elements:
        if runs and element == runs[-1][1] + 1:
            runs[-1][1] = element
        else:
            runs.append([element, element])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def as_rank(rank, world, action):
    dist.init_process_group("fake", rank=rank, world_size=world, store=FakeStore())
    try:
        return action()
    finally:
        dist.destroy_process_group()


def held_by_placements(case):
    whole = torch.arange(product(case["shape"]), dtype=torch.int64).reshape(case["shape"])
    ranks = torch.tensor(case["ranks"]).reshape(case["axes"])
    placements = [placement_of(word) for word in case["placements"]]

    def held(rank):
        mesh = DeviceMesh("cpu", ranks)
        if rank not in case["ranks"]:
            return None
        local = distribute_tensor(whole, mesh, placements, src_data_rank=None).to_local()
        return [list(local.shape), ranges(local.flatten().tolist())]

    return [as_rank(r, case["world"], lambda r=r: held(r)) for r in range(case["world"])]


def held_by_storage(case):
    """Mesh (dp, tp); TP cuts dim case["tp_dim"] first (none: -1), FSDP2 then dim 0."""
    dp, tp = case["axes"]

    def held():
        mesh = DeviceMesh("cpu", torch.arange(dp * tp).reshape(dp, tp), mesh_dim_names=("dp", "tp"))
        whole = torch.arange(product(case["shape"]), dtype=torch.float32).reshape(case["shape"])
        module = torch.nn.Module()
        cut = Replicate() if case["tp_dim"] < 0 else Shard(case["tp_dim"])
        local = distribute_tensor(whole, mesh["tp"], [cut], src_data_rank=None)
        module.weight = torch.nn.Parameter(local)
        fully_shard(module, mesh=mesh["dp"])
        stored = module.weight.to_local()
        return [list(stored.shape), ranges([int(x) for x in stored.flatten().tolist()])]

    return [as_rank(r, dp * tp, held) for r in range(dp * tp)]


def placement_cases():
    draw = random.Random(SEED)
    # Case C3, and every small size over every small count.
    for size in (0, 1, 2, 5, 6, 7, 10):
        for count in (1, 2, 3, 4, 8):
            yield [size], [count], ["S(0)"]
    # Case C4, and every small split.
    for size in (0, 3, 5, 8, 11):
        for count in (2, 3):
            for split in (1, 2, 3, 4):
                yield [size], [count], [f"_S(0,{split})"]
    yield [], [4], ["R"]
    yield [], [2, 2], ["R", "R"]
    for words in (["S(0)", "S(0)"], ["_S(0,4)", "S(0)"], ["S(0)", "_S(0,2)"], ["R", "S(0)"]):
        yield [8, 2], [2, 4], words
        yield [9, 2], [4, 2], words
    while True:
        dims = draw.choice([1, 2, 2, 3, 4, 5])
        shape = [0 if draw.random() < 0.03 else draw.randint(1, 7) for _ in range(dims)]
        axes = [draw.choice([1, 2, 2, 3, 4]) for _ in range(draw.choice([1, 2, 2, 3, 4]))]
        if product(shape) > 60 or product(axes) > 12 or product(axes) < 2:
            continue
        words = []
        for _ in axes:
            dim = draw.randrange(dims)
            kind = draw.random()
            if kind < 0.25:
                words.append("R")
            elif kind < 0.65:
                words.append(f"S({dim})")
            else:
                words.append(f"_S({dim},{draw.randint(1, 4)})")
        yield shape, axes, words


def storage_cases():
    for rows in (1, 2, 5, 8, 9, 10, 13, 16):
        for axes in ([2, 2], [4, 2], [2, 4], [3, 2]):
            yield [rows, 2], axes, 0
    for columns in (4, 5):
        yield [7, columns], [4, 2], 1
        yield [7, columns], [2, 3], 1
    yield [9, 3], [4, 2], -1


def main():
    draw = random.Random(SEED + 1)
    lines = []
    for shape, axes, words in placement_cases():
        if len(lines) == 400:
            break
        count = product(axes)
        world = count
        ranks = list(range(count))
        if draw.random() < 0.3:  # any list of ranks, in any order
            world = count + draw.randint(0, 3)
            ranks = draw.sample(range(world), count)
        case = {"kind": "placements", "world": world, "shape": shape, "axes": axes, "ranks": ranks}
        case["placements"] = words
        case["held"] = held_by_placements(case)
        lines.append(json.dumps(case, separators=(",", ":")))
    for shape, axes, tp_dim in storage_cases():
        case = {"kind": "storage", "world": product(axes), "shape": shape, "axes": axes, "tp_dim": tp_dim}
        try:
            case["held"] = held_by_storage(case)
        except (NotImplementedError, ValueError):
            continue  # refused by FSDP2 itself
        lines.append(json.dumps(case, separators=(",", ":")))
    print("[\n" + ",\n".join(lines) + "\n]")


if __name__ == "__main__":
    main()
