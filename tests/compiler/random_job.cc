#include "tests/compiler/random_job.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/compiler/random_draws.h"
#include "tests/compiler/test_cluster.h"

namespace reshard {
namespace {

// Elements of a tensor that is looked at one by one.
constexpr std::int64_t kMostPainted = 100'000;

struct Box {
  std::vector<std::int64_t> begin;
  std::vector<std::int64_t> extent;
  bool Empty() const { return std::ranges::find(extent, 0) != extent.end(); }
};

// One group of one side: its ranks on a mesh, and how each tensor it has lies on that mesh.
struct TensorPlacement {
  bool held = false;
  std::vector<int> dim_of_axis;  // -1: replicated
  std::vector<bool> balanced;    // per axis: sizes differ by one at most, else ceil-sized chunks
  Box whole;                     // what of the tensor the group has
};
struct Group {
  std::vector<std::int32_t> gpus;  // in rank order
  std::vector<std::int64_t> mesh;
  std::vector<TensorPlacement> tensors;
};

// Row-major but for the order of dims, which `order` gives from outermost to innermost.
std::vector<std::int64_t> StridesOf(const std::vector<std::int64_t>& extent,
                                    const std::vector<std::size_t>& order) {
  std::vector<std::int64_t> stride(extent.size());
  std::int64_t step = 1;
  for (std::size_t k = order.size(); k-- > 0;) {
    stride[order[k]] = step;
    step *= extent[order[k]];
  }
  return stride;
}

std::int64_t Elements(const Box& box) {
  std::int64_t count = 1;
  for (const std::int64_t extent : box.extent) count *= extent;
  return count;
}

// Collects regions in any order, then sorts them as RankLayout wants them.
class LayoutDraft {
 public:
  void Add(TensorIndex tensor, ParameterIndex parameter, std::int64_t offset, const Box& box,
           std::vector<std::int64_t> stride) {
    regions_.push_back({tensor, box, parameter, offset, std::move(stride)});
  }
  ParameterIndex AddParameter(std::string name, DType dtype, std::vector<std::int64_t> shape) {
    parameters_.push_back({std::move(name), dtype, std::move(shape)});
    return static_cast<ParameterIndex>(parameters_.size()) - 1;
  }
  // Elements for `count` more in the buffer that tensors of `dtype` are joined in.
  std::pair<ParameterIndex, std::int64_t> Join(DType dtype, std::int64_t count,
                                               std::int64_t padding) {
    const auto [at, fresh] = joined_.try_emplace(dtype, 0);
    if (fresh) at->second = AddParameter("joined." + std::string(Name(dtype)), dtype, {0});
    std::int64_t& size = parameters_[static_cast<std::size_t>(at->second)].shape[0];
    const std::int64_t offset = size + padding;
    size = offset + count;
    return {at->second, offset};
  }
  // Elements [offset, offset + count) of a parameter are zeros.
  void AddZeros(ParameterIndex parameter, std::int64_t offset, std::int64_t count) {
    if (count > 0) zeros_.push_back({parameter, offset, count});
  }
  RankLayout Finish() {
    std::stable_sort(regions_.begin(), regions_.end(), [](const Draft& a, const Draft& b) {
      return std::tie(a.tensor, a.box.begin) < std::tie(b.tensor, b.box.begin);
    });
    RankLayout layout;
    layout.parameters = parameters_;
    for (const Draft& draft : regions_) {
      layout.regions.Add({draft.tensor, draft.parameter, draft.offset, draft.box.begin,
                          draft.box.extent, draft.stride});
    }
    std::sort(zeros_.begin(), zeros_.end());
    const std::vector<std::int64_t> begin{0};
    const std::vector<std::int64_t> stride{1};
    for (const auto& [parameter, offset, count] : zeros_) {
      const std::vector<std::int64_t> extent{count};
      layout.zeros.Add({kZeroTensor, parameter, offset, begin, extent, stride});
    }
    return layout;
  }

 private:
  struct Draft {
    TensorIndex tensor;
    Box box;
    ParameterIndex parameter;
    std::int64_t offset;
    std::vector<std::int64_t> stride;
  };
  std::vector<Parameter> parameters_;
  std::vector<Draft> regions_;
  std::vector<std::tuple<ParameterIndex, std::int64_t, std::int64_t>> zeros_;
  std::map<DType, ParameterIndex> joined_;
};

class RandomJobMaker {
 public:
  RandomJobMaker(std::uint64_t seed, const RandomJobLimits& limits)
      : seed_(seed), limits_(limits), draws_(seed) {}

  RandomJob Make() {
    MakeMachine();
    MakeTensors();
    MakeSides();
    MakeRanks();
    MakeInPlace();
    return std::move(made_);
  }

 private:
  void MakeMachine() {
    const std::int64_t count = draws_.Between(1, 4);
    std::vector<TestDomain> domains;
    std::int64_t gpus = 0;
    for (std::int64_t d = 0; d < count && gpus + 1 < limits_.ranks; ++d) {
      const std::int64_t most = std::min<std::int64_t>(4, limits_.ranks - gpus);
      const auto size = static_cast<std::int32_t>(draws_.Between(1, most));
      gpus += size;
      domains.push_back(limits_.plain_machine ? UniformDomain(size, 400, 50) : OddDomain(size));
    }
    made_.cluster = MakeTestCluster(domains);
    for (Gpu& gpu : made_.cluster.gpus) {
      if (draws_.Percent(limits_.dead_nvlinks)) gpu.nvlink_gbps = 0;
    }
  }

  // GPU 0 always has a NIC that works, so that the domain can be reached.
  TestDomain OddDomain(std::int32_t size) {
    TestDomain domain{size, static_cast<double>(draws_.Between(100, 500)), {}};
    const std::int64_t kind = draws_.Below(4);
    const std::vector<double> rates{0, 10, 25, 50};
    if (kind == 0) {  // one NIC for two GPUs
      for (std::int32_t g = 0; g < size; g += 2) {
        NicType nic{{g}, 25, g / 2};
        if (g + 1 < size) nic.gpus.push_back(g + 1);
        domain.nics.push_back(nic);
      }
    } else if (kind == 1) {  // some GPUs without
      for (std::int32_t g = 0; g < size; ++g) {
        if (g == 0 || draws_.Percent(40)) domain.nics.push_back({{g}, 50, g});
      }
    } else if (kind == 2) {  // unequal, out of service, several of a GPU
      for (std::int32_t g = 0; g < size; ++g) {
        domain.nics.push_back({{g}, g == 0 ? 50 : draws_.Of(rates), g});
        if (draws_.Percent(30)) domain.nics.push_back({{g}, 25, 8});
      }
    } else {
      return UniformDomain(size, domain.nvlink_gbps, 50);
    }
    return domain;
  }

  void MakeTensors() {
    const std::vector<DType> dtypes{DType::kBF16, DType::kF8E4M3, DType::kF32, DType::kI64,
                                    DType::kU8,   DType::kF64,    DType::kF16, DType::kBool};
    const std::vector<std::int64_t> dim_counts{0, 1, 1, 2, 2, 2, 3, 3, 4, 5, 8};
    const std::int64_t count = draws_.Between(1, limits_.tensors);
    for (std::int64_t t = 0; t < count; ++t) {
      Tensor tensor{"tensor." + std::to_string(t), draws_.Of(dtypes), {}};
      const std::int64_t dims = draws_.Of(dim_counts);
      for (std::int64_t k = 0; k < dims; ++k) {
        tensor.shape.push_back(
            draws_.Between(draws_.Percent(3) ? 0 : 1, dims > 4 ? 3 : limits_.extent));
      }
      if (dims > 0 && draws_.Percent(limits_.long_tensors))
        tensor.shape.back() *= limits_.long_factor;
      made_.job.tensors.push_back(std::move(tensor));
    }
  }

  void MakeSides() {
    std::vector<std::int32_t> gpus(made_.cluster.gpus.size());
    for (std::size_t g = 0; g < gpus.size(); ++g) gpus[g] = static_cast<std::int32_t>(g);
    draws_.Shuffle(gpus);
    std::vector<std::int32_t> source;
    std::vector<std::int32_t> destination;
    const std::int64_t kind = gpus.size() == 1 ? 2 : draws_.Below(3);
    if (kind == 2) {  // they coincide
      source = destination = gpus;
    } else {
      const auto cut = static_cast<std::ptrdiff_t>(
          draws_.Between(1, static_cast<std::int64_t>(gpus.size()) - 1));
      source.assign(gpus.begin(), gpus.begin() + cut);
      destination.assign(gpus.begin() + (kind == 1 ? cut / 2 : cut), gpus.end());  // 1: overlap
    }
    draws_.Shuffle(destination);
    groups_[0] = MakeGroups(source, false);
    groups_[1] = MakeGroups(destination, true);
    if (kind == 2 && draws_.Percent(50)) KeepInPlace();
  }

  // Sides that coincide often keep most tensors where they are.
  void KeepInPlace() {
    const std::vector<Group> others = std::move(groups_[1]);
    groups_[1] = groups_[0];
    same_memory_ = true;
    if (others.size() != groups_[0].size()) return;
    for (std::size_t g = 0; g < others.size(); ++g) {
      if (others[g].mesh != groups_[1][g].mesh) continue;
      for (std::size_t t = 0; t < others[g].tensors.size(); ++t) {
        if (draws_.Percent(40)) groups_[1][g].tensors[t] = others[g].tensors[t];
      }
    }
  }

  std::vector<Group> MakeGroups(const std::vector<std::int32_t>& gpus, bool destination) {
    std::vector<Group> groups(1);
    for (const std::int32_t gpu : gpus) {
      if (!groups.back().gpus.empty() && groups.size() < 3 && draws_.Percent(15)) {
        groups.emplace_back();
      }
      groups.back().gpus.push_back(gpu);
    }
    for (Group& group : groups) {
      auto left = static_cast<std::int64_t>(group.gpus.size());
      while (group.mesh.size() < 2 && left > 1) {
        std::int64_t factor = draws_.Between(1, left);
        while (left % factor != 0) ++factor;
        group.mesh.push_back(factor);
        left /= factor;
      }
      if (left > 1 || group.mesh.empty()) group.mesh.push_back(left);
      group.tensors.resize(made_.job.tensors.size());
    }
    for (std::size_t t = 0; t < made_.job.tensors.size(); ++t) {
      for (Group& group : groups) group.tensors[t].held = draws_.Percent(destination ? 80 : 60);
      bool any = false;
      for (const Group& group : groups) any = any || group.tensors[t].held;
      if (!any) groups[0].tensors[t].held = true;
      for (Group& group : groups) Place(made_.job.tensors[t], group, group.tensors[t], destination);
    }
    return groups;
  }

  void Place(const Tensor& tensor, const Group& group, TensorPlacement& placement,
             bool destination) {
    for (std::size_t axis = 0; axis < group.mesh.size(); ++axis) {
      const bool cut = !tensor.shape.empty() && draws_.Percent(65);
      placement.dim_of_axis.push_back(
          cut ? static_cast<int>(draws_.Below(static_cast<std::int64_t>(tensor.shape.size())))
              : -1);
      placement.balanced.push_back(draws_.Percent(50));
    }
    placement.whole = {std::vector<std::int64_t>(tensor.shape.size(), 0), tensor.shape};
    if (!destination || !draws_.Percent(15)) return;
    for (std::size_t k = 0; k < tensor.shape.size(); ++k) {
      const std::int64_t begin = draws_.Between(0, tensor.shape[k]);
      placement.whole.begin[k] = begin;
      placement.whole.extent[k] = draws_.Between(0, tensor.shape[k] - begin);
    }
  }

  static Box ShardOf(const TensorPlacement& placement, const Group& group, std::int64_t rank) {
    std::vector<std::int64_t> coordinate(group.mesh.size());
    for (std::size_t axis = group.mesh.size(); axis-- > 0;) {
      coordinate[axis] = rank % group.mesh[axis];
      rank /= group.mesh[axis];
    }
    Box box = placement.whole;
    for (std::size_t axis = 0; axis < group.mesh.size(); ++axis) {
      if (placement.dim_of_axis[axis] < 0) continue;
      const auto dim = static_cast<std::size_t>(placement.dim_of_axis[axis]);
      const std::int64_t size = box.extent[dim];
      const std::int64_t parts = group.mesh[axis];
      const auto edge = [&](std::int64_t i) {
        return placement.balanced[axis] ? i * (size / parts) + std::min(i, size % parts)
                                        : std::min(size, i * ((size + parts - 1) / parts));
      };
      box.begin[dim] += edge(coordinate[axis]);
      box.extent[dim] = edge(coordinate[axis] + 1) - edge(coordinate[axis]);
    }
    return box;
  }

  // Equal shards get equal memory, so that replicas share a layout.
  RandomDraws DrawsFor(std::size_t side, std::size_t group, std::size_t t, const Box& box) const {
    std::uint64_t seed = seed_ * 31 + (same_memory_ ? 0 : side * 7) + group * 101 + t * 1009;
    for (const std::int64_t b : box.begin) seed = seed * 131 + static_cast<std::uint64_t>(b);
    for (const std::int64_t e : box.extent) seed = seed * 137 + static_cast<std::uint64_t>(e);
    return RandomDraws(seed);
  }

  void AddBox(TensorIndex t, const Box& box, RandomDraws draws, LayoutDraft& draft) {
    const Tensor& tensor = made_.job.tensors[static_cast<std::size_t>(t)];
    std::vector<std::size_t> order(box.extent.size());
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
    const std::int64_t kind = draws.Below(5);
    if (kind == 0) draws.Shuffle(order);
    const std::vector<std::int64_t> stride = StridesOf(box.extent, order);
    ParameterIndex parameter = 0;
    std::int64_t offset = 0;
    if (kind == 1) {
      std::tie(parameter, offset) = draft.Join(tensor.dtype, Elements(box), draws.Below(3));
    } else if (kind == 2) {  // padded before and behind
      offset = draws.Below(4);
      const std::int64_t behind = draws.Below(4);
      parameter = draft.AddParameter(tensor.name, tensor.dtype, {offset + Elements(box) + behind});
      if (draws.Percent(30)) draft.AddZeros(parameter, 0, offset);
      if (draws.Percent(30)) draft.AddZeros(parameter, offset + Elements(box), behind);
    } else {
      std::vector<std::int64_t> shape;
      for (const std::size_t k : order) shape.push_back(box.extent[k]);
      parameter = draft.AddParameter(tensor.name, tensor.dtype, shape);
    }
    for (const Box& piece : Pieces(box, draws)) {
      std::int64_t at = offset;
      for (std::size_t k = 0; k < stride.size(); ++k) {
        at += (piece.begin[k] - box.begin[k]) * stride[k];
      }
      draft.Add(t, parameter, at, piece, stride);
    }
    // The same bytes at another place, or two.
    for (const char* const place : {"copy.", "third."}) {
      if (!draws.Percent(8)) break;
      parameter = draft.AddParameter(place + tensor.name, tensor.dtype, box.extent);
      for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
      draft.Add(t, parameter, 0, box, StridesOf(box.extent, order));
    }
  }

  // Now and then a shard is two regions, cut somewhere.
  static std::vector<Box> Pieces(const Box& box, RandomDraws& draws) {
    if (box.extent.empty() || !draws.Percent(30)) return {box};
    const auto dim =
        static_cast<std::size_t>(draws.Below(static_cast<std::int64_t>(box.extent.size())));
    if (box.extent[dim] < 2) return {box};
    const std::int64_t cut = draws.Between(1, box.extent[dim] - 1);
    Box first = box;
    Box second = box;
    first.extent[dim] = cut;
    second.begin[dim] += cut;
    second.extent[dim] -= cut;
    return {first, second};
  }

  LayoutIndex LayoutOf(std::size_t side, std::size_t g, std::int64_t rank) {
    const Group& group = groups_[side][g];
    LayoutDraft draft;
    for (std::size_t t = 0; t < group.tensors.size(); ++t) {
      if (!group.tensors[t].held) continue;
      const Box box = ShardOf(group.tensors[t], group, rank);
      if (box.Empty()) continue;
      AddBox(static_cast<TensorIndex>(t), box, DrawsFor(side, g, t, box), draft);
    }
    RankLayout layout = draft.Finish();
    std::vector<RankLayout>& layouts = made_.job.layouts;
    const auto at = std::ranges::find(layouts, layout);
    const auto index = static_cast<LayoutIndex>(at - layouts.begin());
    if (at == layouts.end()) layouts.push_back(std::move(layout));
    return index;
  }

  void MakeRanks() {
    std::map<std::int32_t, Rank> by_gpu;
    for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
      for (std::size_t g = 0; g < groups_[side].size(); ++g) {
        const std::vector<std::int32_t>& gpus = groups_[side][g].gpus;
        for (std::size_t r = 0; r < gpus.size(); ++r) {
          Rank& rank = by_gpu[gpus[r]];
          const LayoutIndex layout = LayoutOf(side, g, static_cast<std::int64_t>(r));
          (side == 0 ? rank.source_group : rank.destination_group) = static_cast<std::int32_t>(g);
          (side == 0 ? rank.source_layout : rank.destination_layout) = layout;
        }
      }
    }
    for (auto& [gpu, rank] : by_gpu) {
      rank.gpu = gpu;
      rank.node = made_.cluster.gpus[static_cast<std::size_t>(gpu)].node;
      rank.domain = made_.cluster.gpus[static_cast<std::size_t>(gpu)].domain;
      made_.job.ranks.push_back(rank);
    }
  }

  void MakeInPlace() {
    for (std::size_t t = 0; t < made_.job.tensors.size(); ++t) {
      const std::string& name = made_.job.tensors[t].name;
      if (Elements({{}, made_.job.tensors[t].shape}) > kMostPainted) continue;
      if (draws_.Percent(60) && (limits_.conflicting_memory || MemoryAgrees(name)))
        made_.job.in_place.push_back({name, name});
    }
  }

  // What of which tensor lies where in the parameter `name`: byte offset -> (tensor, element,
  // byte).
  using Painting = std::map<std::int64_t, std::array<std::int64_t, 3>>;
  Painting Paint(LayoutIndex index, const std::string& name) const {
    Painting painting;
    if (index == kNoLayout) return painting;
    const RankLayout& layout = made_.job.layouts[static_cast<std::size_t>(index)];
    for (std::int64_t i = 0; i < layout.regions.size(); ++i) {
      const Region region = layout.regions[i];
      const Parameter& parameter = layout.parameters[static_cast<std::size_t>(region.parameter)];
      if (parameter.name != name) continue;
      const Tensor& tensor = made_.job.tensors[static_cast<std::size_t>(region.tensor)];
      const std::int64_t element_bytes = ElementBytes(tensor.dtype);
      std::vector<std::int64_t> index_in(region.extent.size(), 0);
      bool more = true;
      while (more) {
        std::int64_t element = 0;
        std::int64_t at = region.offset;
        for (std::size_t k = 0; k < index_in.size(); ++k) {
          element = element * tensor.shape[k] + region.begin[k] + index_in[k];
          at += index_in[k] * region.stride[k];
        }
        for (std::int64_t b = 0; b < element_bytes; ++b) {
          painting[at * element_bytes + b] = {region.tensor, element, b};
        }
        more = false;
        for (std::size_t k = index_in.size(); k-- > 0 && !more;) {
          more = ++index_in[k] < region.extent[k];
          if (!more) index_in[k] = 0;
        }
      }
    }
    return painting;
  }

  bool MemoryAgrees(const std::string& name) const {
    for (const Rank& rank : made_.job.ranks) {
      const Painting source = Paint(rank.source_layout, name);
      const Painting destination = Paint(rank.destination_layout, name);
      for (const auto& [byte, what] : destination) {
        const auto at = source.find(byte);
        if (at != source.end() && at->second != what) return false;
      }
    }
    return true;
  }

  std::uint64_t seed_;
  RandomJobLimits limits_;
  RandomDraws draws_;
  RandomJob made_;
  std::array<std::vector<Group>, 2> groups_;  // source, destination
  bool same_memory_ = false;                  // equal shards of both sides lie alike
};

}  // namespace

RandomJob MakeRandomJob(std::uint64_t seed, const RandomJobLimits& limits) {
  return RandomJobMaker(seed, limits).Make();
}

void DrawFabric(RandomDraws& draws, Cluster& cluster) {
  for (Nic& nic : cluster.nics) nic.rail = static_cast<std::int32_t>(draws.Below(3));
  constexpr RailCrossing kCrossings[] = {RailCrossing::kFull, RailCrossing::kSpine,
                                         RailCrossing::kNone};
  cluster.fabric.rail_crossing = kCrossings[draws.Below(3)];
  cluster.fabric.spine_oversubscription = static_cast<double>(1 + draws.Below(8));
  for (std::int64_t i = draws.Below(3); i > 0; --i) {
    Switch element{{}, 1 + static_cast<double>(draws.Below(4))};
    for (std::size_t d = 0; d < cluster.domains.size(); ++d) {
      if (draws.Below(2) == 0) element.domains.push_back(static_cast<DomainIndex>(d));
    }
    if (!element.domains.empty()) cluster.fabric.switches.push_back(element);
  }
}

}  // namespace reshard
