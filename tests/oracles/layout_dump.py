"""What tools/reshard_layout_dump.py writes of a model that PyTorch itself has cut, and what each rank
really stores of it.

usage: python tests/oracles/layout_dump.py > tests/compiler/layout/layout_dump.json
needs: torch 2.15 (any build; nothing is sent, so a fake process group does)

The model is cut by tensor parallelism and by FSDP2, in sizes of which some are uneven or leave shards
empty, on (dp 4, tp 2) and, with replicas, on (replicate 2, shard 2, tp 2). One case a line: "layout"
and "tensors" as written; "held" has per rank {name: [local shape, elements]}, elements as row-major
indices in the order they are stored.
"""

import json
import os
import sys
import warnings

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Shard, distribute_tensor
from torch.testing._internal.distributed.fake_pg import FakeStore

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "tools"))
import reshard_layout_dump  # noqa: E402

warnings.filterwarnings("ignore")

WORLD = 8
# name -> (shape, dim that tensor parallelism cuts or None)
PARAMETERS = {
    "column.weight": ([9, 3], 0),
    "column.bias": ([9], 0),
    "even.weight": ([16, 2], 0),
    "row.weight": ([5, 6], 1),
    "norm.weight": ([3], None),
    "experts.weight": ([3, 4, 2], 1),
}


def counted(shape):
    total = 1
    for size in shape:
        total *= size
    return torch.arange(total, dtype=torch.float32).reshape(shape)


class Block(torch.nn.Module):
    def __init__(self, tensor_mesh):
        super().__init__()
        for name, (shape, dim) in PARAMETERS.items():
            value = counted(shape)
            if dim is not None:
                value = distribute_tensor(value, tensor_mesh, [Shard(dim)],
                                          src_data_rank=None)
            module, _, parameter = name.partition(".")
            if not hasattr(self, module):
                setattr(self, module, torch.nn.Module())
            getattr(self, module).register_parameter(parameter, torch.nn.Parameter(value))
        self.register_buffer("bias_of_router", counted([7]))
        self.register_buffer("not_saved", counted([2]), persistent=False)


def local_values(tensor):
    local = tensor.to_local() if hasattr(tensor, "to_local") else tensor
    return [list(local.shape), [int(v) for v in local.detach().reshape(-1).tolist()]]


def on_rank(rank, names, sizes, written=None):
    """(records, what it holds) of one rank; held against `written` where that is given."""
    dist.init_process_group("fake", rank=rank, world_size=WORLD, store=FakeStore())
    mesh = init_device_mesh("cpu", sizes, mesh_dim_names=names)
    model = Block(mesh["tp"])
    fully_shard(model, mesh=mesh[names[:-1]] if len(names) > 2 else mesh[names[0]])
    records = reshard_layout_dump.local_records(model, reshard_layout_dump.fingerprint)
    held = {name: local_values(tensor)
            for name, tensor in reshard_layout_dump.tensors_of(model).items()}
    if written:
        reshard_layout_dump.check(model, *written)
    dist.destroy_process_group()
    return records, held


def case(names, sizes):
    results = [on_rank(rank, names, sizes) for rank in range(WORLD)]
    written = reshard_layout_dump.merge(
        {rank: records for rank, (records, _) in enumerate(results)})
    for rank in range(WORLD):
        on_rank(rank, names, sizes, written)
    layout, tensors = written
    return {"layout": layout, "tensors": tensors, "held": [held for _, held in results]}


def main():
    cases = [case(("dp", "tp"), (4, 2)), case(("replicate", "shard", "tp"), (2, 2, 2))]
    print('{"torch": "%s", "cases": [' % torch.__version__.split("+")[0])
    print(",\n".join(json.dumps(one) for one in cases))
    print("]}")


if __name__ == "__main__":
    main()
