// Tensors cut into equal parts along one dim: what several methods can express, and no more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/baselines/tensor_placements.h"
#include "foundation/error.h"

namespace reshard {

// How one side cuts a tensor.
struct EvenCut {
  std::optional<std::size_t> dim;  // none: every rank has the whole
  std::int64_t parts = 1;          // part i is the side's shard i
};

// The cut of `shards`, the sources or destinations of `placed`; in words, what it is instead where
// it is none: "cut along several dims", "cut into unequal parts", ..
tl::expected<EvenCut, std::string> FindEvenCut(const PlacedTensors& placed,
                                               const std::vector<Shard>& shards);

}  // namespace reshard
