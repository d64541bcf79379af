#include "compiler/baselines/even_cut.h"

namespace reshard {
namespace {

// Along which dims a box is less than the tensor.
std::vector<std::size_t> CutDims(const TensorBox& box, const std::vector<std::int64_t>& shape) {
  std::vector<std::size_t> dims;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    if (box.extent[dim] != shape[dim]) dims.push_back(dim);
  }
  return dims;
}

}  // namespace

tl::expected<EvenCut, std::string> FindEvenCut(const PlacedTensors& placed,
                                               const std::vector<Shard>& shards) {
  const auto no = [](const char* reason) { return tl::unexpected<std::string>(reason); };
  if (shards.empty()) return no("held by nobody");
  EvenCut cut;
  for (const Shard& shard : shards) {
    if (shard.boxes.size() != 1) return no("cut into several boxes for one rank");
    const std::vector<std::size_t> dims = CutDims(shard.boxes.front(), placed.shape);
    if (dims.size() > 1) return no("cut along several dims");
    if (dims.empty()) {
      if (shards.size() > 1) return no("whole on some ranks and in parts on others");
      return cut;
    }
    if (cut.dim && *cut.dim != dims.front()) return no("cut along several dims");
    cut.dim = dims.front();
  }
  // Shards ascend by begin: equal parts follow each other from 0 to the end.
  cut.parts = static_cast<std::int64_t>(shards.size());
  std::int64_t next = 0;
  for (const Shard& shard : shards) {
    const TensorBox& box = shard.boxes.front();
    if (box.begin[*cut.dim] != next) return no("cut into parts that overlap or leave gaps");
    if (box.extent[*cut.dim] * cut.parts != placed.shape[*cut.dim]) {
      return no("cut into unequal parts");
    }
    next += box.extent[*cut.dim];
  }
  return cut;
}

}  // namespace reshard
