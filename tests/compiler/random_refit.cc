#include "tests/compiler/random_refit.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "compiler/bounds/bounds.h"
#include "compiler/bounds/rank_resources.h"
#include "compiler/demand/demand_builder.h"
#include "compiler/planning/delivery_groups.h"
#include "compiler/planning/domain_assignment.h"
#include "tests/compiler/job_records_builder.h"
#include "tests/compiler/random_draws.h"
#include "tests/compiler/test_cluster.h"

namespace reshard {
namespace {

constexpr std::int64_t kMostGpus = 24;
constexpr double kShortestSeconds = 4e-3;
constexpr double kLongestSeconds = 0.8;
// Columns of a tensor before it is scaled: enough for any mesh to cut.
constexpr std::int64_t kColumns = 48;

struct RefitGroup {
  std::vector<GpuIndex> gpus;      // in rank order
  std::vector<std::int64_t> mesh;  // row-major
  struct Placement {
    bool held = false;
    std::vector<int> dim_of_axis;  // -1: replicated
  };
  std::vector<Placement> tensors;
};

class RefitDraft {
 public:
  explicit RefitDraft(std::uint64_t seed) : draws_(seed) {}

  void Draw() {
    DrawMachine();
    DrawTensors();
    DrawSides();
  }

  // Every tensor with `scale` times its bytes.
  RandomRefit Make(double scale) const {
    JobRecordsBuilder builder;
    std::vector<std::int64_t> columns;
    for (std::size_t t = 0; t < rows_.size(); ++t) {
      columns.push_back(
          std::max(kColumns, static_cast<std::int64_t>(static_cast<double>(kColumns) * scale)));
      builder.AddTensor(NameOf(t), DType::kU8, {rows_[t], columns.back()});
    }
    for (GpuIndex gpu = 0; gpu < static_cast<GpuIndex>(cluster_.gpus.size()); ++gpu) {
      const auto [source_group, held] = BoxesOf(source_, gpu, columns);
      const auto [destination_group, needed] = BoxesOf(destination_, gpu, columns);
      if (source_group < 0 && destination_group < 0) continue;
      if (source_group < 0) {
        builder.AddDestination(needed);
      } else if (destination_group < 0) {
        builder.AddSource(held);
      } else {
        builder.AddBoth(held, needed);
      }
      Rank& rank = builder.job().ranks.back();
      rank.gpu = gpu;
      rank.source_group = source_group;
      rank.destination_group = destination_group;
    }
    return {cluster_, builder.On(cluster_), kind_};
  }

  double DrawSeconds() {
    const double share = static_cast<double>(draws_.Below(1001)) / 1000;
    return kShortestSeconds * std::pow(kLongestSeconds / kShortestSeconds, share);
  }

 private:
  static std::string NameOf(std::size_t t) {
    return "tensor." + std::string(t < 10 ? "0" : "") + std::to_string(t);
  }

  struct GpuRates {
    double nvlink = 0;
    double nic = 0;
  };

  void DrawMachine() {
    const std::vector<std::int32_t> sizes{1, 2, 4, 4, 8, 8};
    // A100; H100 and H200, twice; B200 and GB200; GB300.
    const std::vector<GpuRates> types{{240, 24}, {370, 48}, {370, 48}, {720, 48}, {720, 96}};
    const bool sizes_differ = draws_.Percent(25);
    const bool rates_differ = draws_.Percent(20);
    const std::int64_t nic_kind = draws_.Below(8);
    std::int32_t size = draws_.Of(sizes);
    GpuRates rates = draws_.Of(types);
    std::vector<TestDomain> domains;
    std::int64_t gpus = 0;
    for (std::int64_t d = draws_.Between(2, 6); d > 0; --d) {
      if (sizes_differ) size = draws_.Of(sizes);
      if (rates_differ) rates = draws_.Of(types);
      if (domains.size() >= 2 && gpus + size > kMostGpus) break;
      gpus += size;
      TestDomain domain{size, rates.nvlink, {}};
      for (std::int32_t g = 0; g < size; ++g) {
        if (nic_kind == 0 && g % 2 == 1) {
          domain.nics.back().gpus.push_back(g);
        } else {
          const bool slow = nic_kind == 1 && draws_.Percent(20);
          domain.nics.push_back({{g}, slow ? rates.nic / 2 : rates.nic, g});
        }
      }
      domains.push_back(std::move(domain));
    }
    cluster_ = MakeTestCluster(domains);
  }

  void DrawTensors() {
    for (std::int64_t t = draws_.Between(3, 10); t > 0; --t) {
      rows_.push_back(draws_.Between(40, 80) << draws_.Below(4));
    }
  }

  void DrawSides() {
    std::vector<GpuIndex> gpus(cluster_.gpus.size());
    for (std::size_t g = 0; g < gpus.size(); ++g) gpus[g] = static_cast<GpuIndex>(g);
    const auto count = static_cast<std::int64_t>(gpus.size());
    const std::int64_t draw = draws_.Below(10);
    auto source_end = static_cast<std::ptrdiff_t>(draws_.Between(1, count - 1));
    auto destination_begin = source_end;
    if (draw < 4) {
      kind_ = "disjoint domains";
      const auto d = static_cast<std::size_t>(
          draws_.Between(1, static_cast<std::int64_t>(cluster_.domains.size()) - 1));
      source_end = destination_begin = cluster_.domains[d].first_gpu;
    } else if (draw < 6) {
      kind_ = "disjoint ranks";
    } else if (draw < 8) {
      kind_ = "overlapping";
      destination_begin = static_cast<std::ptrdiff_t>(draws_.Below(source_end));
    } else {
      kind_ = "equal";
      source_end = static_cast<std::ptrdiff_t>(count);
      destination_begin = 0;
    }
    if (draws_.Percent(15)) draws_.Shuffle(gpus);
    source_ = DrawGroups({gpus.begin(), gpus.begin() + source_end});
    destination_ = DrawGroups({gpus.begin() + destination_begin, gpus.end()});
    for (std::size_t t = 0; t < rows_.size(); ++t) {
      const auto groups = static_cast<std::int64_t>(source_.size());
      const std::int64_t only = draws_.Percent(70) ? draws_.Below(groups) : -1;
      for (std::size_t g = 0; g < source_.size(); ++g) {
        Place(only < 0 || only == static_cast<std::int64_t>(g), source_[g]);
      }
      const std::int64_t sure = draws_.Below(static_cast<std::int64_t>(destination_.size()));
      for (std::size_t g = 0; g < destination_.size(); ++g) {
        Place(sure == static_cast<std::int64_t>(g) || draws_.Percent(80), destination_[g]);
      }
    }
  }

  std::vector<RefitGroup> DrawGroups(std::vector<GpuIndex> gpus) {
    const auto count = static_cast<std::int64_t>(gpus.size());
    const std::int64_t groups = std::min(count, draws_.Percent(60) ? 1 : draws_.Between(2, 3));
    std::vector<RefitGroup> result;
    for (std::int64_t g = 0; g < groups; ++g) {
      RefitGroup group;
      group.gpus.assign(gpus.begin() + g * count / groups, gpus.begin() + (g + 1) * count / groups);
      if (draws_.Percent(10)) draws_.Shuffle(group.gpus);
      auto left = static_cast<std::int64_t>(group.gpus.size());
      while (group.mesh.size() < 2 && left > 1) {
        std::int64_t factor = draws_.Between(1, left);
        while (left % factor != 0) ++factor;
        group.mesh.push_back(factor);
        left /= factor;
      }
      group.mesh.push_back(left);
      result.push_back(std::move(group));
    }
    return result;
  }

  void Place(bool held, RefitGroup& group) {
    RefitGroup::Placement placement{held, {}};
    for (std::size_t axis = 0; axis < group.mesh.size(); ++axis) {
      placement.dim_of_axis.push_back(draws_.Percent(60) ? static_cast<int>(draws_.Below(2)) : -1);
    }
    group.tensors.push_back(std::move(placement));
  }

  // The group that `gpu` is in, or -1, and what it has there.
  std::pair<std::int32_t, std::vector<TestBox>> BoxesOf(
      const std::vector<RefitGroup>& groups, GpuIndex gpu,
      const std::vector<std::int64_t>& columns) const {
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const RefitGroup& group = groups[g];
      const auto at = std::ranges::find(group.gpus, gpu);
      if (at == group.gpus.end()) continue;
      std::vector<TestBox> boxes;
      for (std::size_t t = 0; t < rows_.size(); ++t) {
        if (!group.tensors[t].held) continue;
        TestBox box{NameOf(t), {0, 0}, {rows_[t], columns[t]}};
        std::int64_t rest = at - group.gpus.begin();
        std::vector<std::int64_t> coordinate(group.mesh.size());
        for (std::size_t axis = group.mesh.size(); axis-- > 0;) {
          coordinate[axis] = rest % group.mesh[axis];
          rest /= group.mesh[axis];
        }
        for (std::size_t axis = 0; axis < group.mesh.size(); ++axis) {
          const int dim = group.tensors[t].dim_of_axis[axis];
          if (dim < 0) continue;
          const auto k = static_cast<std::size_t>(dim);
          const std::int64_t size = box.extent[k];
          const std::int64_t begin = coordinate[axis] * size / group.mesh[axis];
          box.extent[k] = (coordinate[axis] + 1) * size / group.mesh[axis] - begin;
          box.begin[k] += begin;
        }
        boxes.push_back(std::move(box));
      }
      return {static_cast<std::int32_t>(g), std::move(boxes)};
    }
    return {kNoGroup, {}};
  }

  RandomDraws draws_;
  Cluster cluster_;
  std::string kind_;
  std::vector<std::int64_t> rows_;  // per tensor
  std::vector<RefitGroup> source_;
  std::vector<RefitGroup> destination_;
};

double BoundOf(const RandomRefit& refit) {
  const Demand demand = BuildDemand(refit.job).value();
  const RankResources resources = MakeRankResources(refit.job, refit.cluster).value();
  return LowerBound(refit.job, demand, refit.cluster, resources).seconds;
}

}  // namespace

RandomRefit MakeRandomRefit(std::uint64_t seed) {
  constexpr double kProbeScale = 1e6;  // latency is nothing beside what moves
  constexpr double kMovesNothing = 1e-3;
  for (std::uint64_t attempt = 0;; ++attempt) {
    RefitDraft draft(seed * 1000 + attempt);
    draft.Draw();
    const double seconds = BoundOf(draft.Make(kProbeScale));
    if (seconds < kMovesNothing) continue;
    return draft.Make(kProbeScale * draft.DrawSeconds() / seconds);
  }
}

}  // namespace reshard
