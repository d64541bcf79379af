#include "compiler/job/job_assembly.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/job/form_union.h"
#include "compiler/layout/region_overlap.h"

namespace reshard {
namespace {

constexpr std::size_t kNamesShown = 3;

// "a, b, c and 9 more".
std::string ListNames(const std::vector<std::string_view>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kNamesShown); ++i) {
    if (i > 0) text += ", ";
    text += names[i];
  }
  if (names.size() > kNamesShown) {
    text += " and " + std::to_string(names.size() - kNamesShown) + " more";
  }
  return text;
}

// Which tensors move.
class TensorChoice {
 public:
  // `listed_names` are the tensors' as jobs write them.
  TensorChoice(const Model& model, std::span<const std::string> listed_names, const Side& source,
               const Side& destination)
      : model_(model), listed_names_(listed_names), sides_{&source, &destination} {
    for (std::size_t s = 0; s < sides_.size(); ++s) {
      side_holds_[s].resize(model.tensors.size(), false);
      for (const SideGroup& group : sides_[s]->groups) {
        std::vector<bool>& holds = group_holds_[s].emplace_back(model.tensors.size(), false);
        for (const TensorIndex tensor : HeldTensors(group)) {
          holds[static_cast<std::size_t>(tensor)] = true;
          side_holds_[s][static_cast<std::size_t>(tensor)] = true;
        }
      }
    }
  }

  // Index among the moved tensors, or -1.
  Result<std::vector<TensorIndex>> Choose(const std::string& place,
                                          const std::vector<NamePattern>& ignore,
                                          Notices& notices) const {
    std::vector<TensorIndex> chosen(model_.tensors.size(), -1);
    std::array<std::vector<std::string_view>, 2> only_here;
    TensorIndex next = 0;
    for (std::size_t t = 0; t < model_.tensors.size(); ++t) {
      const Tensor& tensor = model_.tensors[t];
      const bool ignored = std::ranges::any_of(
          ignore, [&](const NamePattern& pattern) { return pattern.Matches(listed_names_[t]); });
      const bool in_source = side_holds_[0][t];
      const bool in_destination = side_holds_[1][t];
      if (!ignored && TensorBytes(tensor) == 0) {  // nothing of it can be missing anywhere
        chosen[t] = next++;
      } else if (ignored || (!in_source && !in_destination)) {
        notices.untouched.push_back(tensor.name);
      } else if (in_source && in_destination) {
        chosen[t] = next++;
      } else {
        only_here[in_source ? 0 : 1].push_back(tensor.name);
      }
    }
    for (std::size_t s = 0; s < sides_.size(); ++s) {
      if (only_here[s].empty()) continue;
      return InputError(
          place,
          "only the " + sides_[s]->name + " holds " +
              (only_here[s].size() == 1 ? "tensor "
                                        : std::to_string(only_here[s].size()) + " tensors: ") +
              ListNames(only_here[s]) + HeldOtherwise(1 - s, only_here[s]),
          "name what shall stay where it is in options.ignore");
    }
    return chosen;
  }

  // "destination group 1 lacks 12 tensors: ..".
  void NoteLacking(const std::vector<TensorIndex>& chosen, Notices& notices) const {
    for (std::size_t s = 0; s < sides_.size(); ++s) {
      for (std::size_t g = 0; g < group_holds_[s].size(); ++g) {
        std::vector<std::string_view> lacking;
        for (std::size_t t = 0; t < chosen.size(); ++t) {
          if (chosen[t] >= 0 && side_holds_[s][t] && !group_holds_[s][g][t]) {
            lacking.push_back(model_.tensors[t].name);
          }
        }
        if (lacking.empty()) continue;
        notices.lacking.push_back(sides_[s]->name + " group " + std::to_string(g) + " lacks " +
                                  std::to_string(lacking.size()) +
                                  (lacking.size() == 1 ? " tensor: " : " tensors: ") +
                                  ListNames(lacking));
      }
    }
  }

 private:
  // What a side holds in place of one of these tensors, if any.
  std::string HeldOtherwise(std::size_t side, std::span<const std::string_view> tensors) const {
    for (const std::string_view tensor : tensors) {
      for (const SideGroup& group : sides_[side]->groups) {
        const auto found = group.layout.held_otherwise.find(tensor);
        if (found == group.layout.held_otherwise.end()) continue;
        return "; of " + std::string(tensor) + " the " + sides_[side]->name + " holds " +
               found->second + ", which is not planned";
      }
    }
    return "";
  }

  const Model& model_;
  std::span<const std::string> listed_names_;
  std::array<const Side*, 2> sides_;
  std::array<std::vector<bool>, 2> side_holds_;
  std::array<std::vector<std::vector<bool>>, 2> group_holds_;
};

// The layout's regions of chosen tensors, renumbered. The order stays: indices only close ranks.
void KeepChosen(const std::vector<TensorIndex>& chosen, RankLayout& layout) {
  bool same = true;
  for (std::int64_t r = 0; r < layout.regions.size() && same; ++r) {
    const TensorIndex tensor = layout.regions[r].tensor;
    same = chosen[static_cast<std::size_t>(tensor)] == tensor;
  }
  if (same) return;
  RegionTable kept;
  kept.Reserve(layout.regions);
  for (std::int64_t r = 0; r < layout.regions.size(); ++r) {
    Region region = layout.regions[r];
    region.tensor = chosen[static_cast<std::size_t>(region.tensor)];
    if (region.tensor >= 0) kept.Add(region);
  }
  layout.regions = std::move(kept);
}

// Equal layouts once, wherever they come from.
class LayoutTable {
 public:
  LayoutIndex Intern(RankLayout layout) {
    std::vector<LayoutIndex>& alike = by_fingerprint_[Fingerprint(layout)];
    for (const LayoutIndex known : alike) {
      if (layouts_[static_cast<std::size_t>(known)] == layout) return known;
    }
    alike.push_back(static_cast<LayoutIndex>(layouts_.size()));
    layouts_.push_back(std::move(layout));
    return alike.back();
  }
  std::vector<RankLayout> Take() && { return std::move(layouts_); }
  const RankLayout& operator[](LayoutIndex layout) const {
    return layouts_[static_cast<std::size_t>(layout)];
  }

 private:
  // FNV-1a over words; only to find candidates.
  static std::uint64_t Fingerprint(const RankLayout& layout) {
    std::uint64_t hash = 14695981039346656037U;
    const auto mix = [&](std::int64_t word) {
      hash = (hash ^ static_cast<std::uint64_t>(word)) * 1099511628211U;
    };
    mix(static_cast<std::int64_t>(layout.parameters.size()));
    for (std::int64_t r = 0; r < layout.regions.size(); ++r) {
      const Region region = layout.regions[r];
      mix(region.tensor);
      mix(region.offset);
      for (const std::int64_t begin : region.begin) mix(begin);
      for (const std::int64_t extent : region.extent) mix(extent);
    }
    mix(layout.zeros.size());
    return hash;
  }

  std::vector<RankLayout> layouts_;
  std::map<std::uint64_t, std::vector<LayoutIndex>> by_fingerprint_;
};

// Where a GPU stands in a side.
struct Seat {
  std::int32_t group = kNoGroup;
  std::int32_t layout = 0;  // of the group
};

std::vector<Seat> SeatsOf(const Side& side, std::size_t gpu_count) {
  std::vector<Seat> seats(gpu_count);
  for (std::size_t g = 0; g < side.groups.size(); ++g) {
    const SideGroup& group = side.groups[g];
    for (std::size_t i = 0; i < group.gpus.size(); ++i) {
      if (group.absent[i]) continue;
      seats[static_cast<std::size_t>(group.gpus[i])] = {static_cast<std::int32_t>(g),
                                                        group.layout.layout_of_rank[i]};
    }
  }
  return seats;
}

// Gives the layouts of one side their numbers in the records, each on its first use.
class SideLayouts {
 public:
  SideLayouts(Side& side, const std::vector<TensorIndex>& chosen, LayoutTable& table)
      : side_(side), chosen_(chosen), table_(table) {
    for (const SideGroup& group : side.groups) {
      numbers_.emplace_back(group.layout.layouts.size(), kNoLayout);
    }
  }

  LayoutIndex Number(const Seat& seat) {
    const auto group = static_cast<std::size_t>(seat.group);
    const auto layout = static_cast<std::size_t>(seat.layout);
    LayoutIndex& number = numbers_[group][layout];
    if (number == kNoLayout) {
      RankLayout taken = std::move(side_.groups[group].layout.layouts[layout]);
      KeepChosen(chosen_, taken);
      number = table_.Intern(std::move(taken));
    }
    return number;
  }

 private:
  Side& side_;
  const std::vector<TensorIndex>& chosen_;
  LayoutTable& table_;
  std::vector<std::vector<LayoutIndex>> numbers_;
};

Result<void> CheckNoOverlap(const Side& destination, const JobRecords& records) {
  std::set<LayoutIndex> checked;
  for (const Rank& rank : records.ranks) {
    if (rank.destination_layout == kNoLayout || !checked.insert(rank.destination_layout).second) {
      continue;
    }
    const SideGroup& group = destination.groups[static_cast<std::size_t>(rank.destination_group)];
    const RankLayout& layout = records.layouts[static_cast<std::size_t>(rank.destination_layout)];
    const Result<std::optional<RegionOverlap>> overlap = At(group.place, FindOverlap(layout));
    if (!overlap) return tl::unexpected(overlap.error());
    if (!*overlap) continue;
    const std::int64_t regions = layout.regions.size();
    const auto region_at = [&](std::int64_t r) {
      return r < regions ? layout.regions[r] : layout.zeros[r - regions];
    };
    const auto content_of = [&](std::int64_t r) {
      if (r >= regions) return std::string("of declared zeros");
      return "of tensor " + records.tensors[static_cast<std::size_t>(region_at(r).tensor)].name;
    };
    const ParameterIndex parameter = region_at((*overlap)->first).parameter;
    return InputError(group.place,
                      "on GPU " + std::to_string(rank.gpu) + " parameter " +
                          layout.parameters[static_cast<std::size_t>(parameter)].name +
                          " has overlapping regions, " + content_of((*overlap)->first) + " and " +
                          content_of((*overlap)->second),
                      "let every element of a destination parameter be written once");
  }
  return {};
}

bool HasParameter(const RankLayout& layout, const std::string& name) {
  return std::binary_search(layout.parameters.begin(), layout.parameters.end(),
                            Parameter{name, DType::kBF16, {}},
                            [](const Parameter& a, const Parameter& b) { return a.name < b.name; });
}

// The parameters that any rank computes tensors from.
std::set<std::string_view> ConvertedParameters(const JobRecords& records) {
  std::set<std::string_view> names;
  for (const RankLayout& layout : records.layouts) {
    for (const Conversion& conversion : layout.conversions) {
      names.insert(layout.parameters[static_cast<std::size_t>(conversion.source)].name);
    }
  }
  return names;
}

Result<void> CheckInPlace(const std::string& place, const JobRecords& records) {
  std::set<std::pair<LayoutIndex, LayoutIndex>> layouts;
  for (const Rank& rank : records.ranks) {
    if (rank.source_layout != kNoLayout && rank.destination_layout != kNoLayout) {
      layouts.emplace(rank.source_layout, rank.destination_layout);
    }
  }
  if (records.in_place.empty()) return {};
  const std::set<std::string_view> converted = ConvertedParameters(records);
  for (const InPlacePair& pair : records.in_place) {
    if (converted.contains(pair.source_parameter)) {
      return InputError(place + ": options.inPlace",
                        "tensors are converted from source parameter " + pair.source_parameter +
                            ", so the destination cannot overwrite it while it is read",
                        "leave the pair out, or the cast");
    }
    const bool somewhere = std::any_of(layouts.begin(), layouts.end(), [&](const auto& both) {
      return HasParameter(records.layouts[static_cast<std::size_t>(both.first)],
                          pair.source_parameter) &&
             HasParameter(records.layouts[static_cast<std::size_t>(both.second)],
                          pair.destination_parameter);
    });
    if (somewhere) continue;
    return InputError(place + ": options.inPlace",
                      "no rank has both source parameter " + pair.source_parameter +
                          " and destination parameter " + pair.destination_parameter);
  }
  return {};
}

// What there is to move, and what of it is computed.
struct MovableTensors {
  const Model& model;
  std::span<const std::string> listed_names;  // of each, as jobs write it
  std::span<const ConvertedTensor> converted;
};

Result<JobAssembly> Assemble(const std::string& place, const Cluster& cluster,
                             const MovableTensors& movable, Side source, Side destination,
                             const JobOptions& options) {
  JobAssembly assembly;
  JobRecords& records = assembly.records;
  records.options = options.options;
  records.in_place = options.in_place;

  const TensorChoice choice(movable.model, movable.listed_names, source, destination);
  const Result<std::vector<TensorIndex>> chosen =
      choice.Choose(place, options.ignore, assembly.notices);
  if (!chosen) return tl::unexpected(chosen.error());
  choice.NoteLacking(*chosen, assembly.notices);
  for (std::size_t t = 0; t < chosen->size(); ++t) {
    if ((*chosen)[t] < 0) continue;
    records.tensors.push_back(ViewedTensor(movable.model, static_cast<TensorIndex>(t)));
  }
  for (const ConvertedTensor& one : movable.converted) {
    const TensorIndex moved = (*chosen)[static_cast<std::size_t>(one.tensor)];
    if (moved < 0) continue;
    records.converted.push_back(one);
    records.converted.back().tensor = moved;
  }
  std::set<std::string> recompute;
  for (const Side* side : {&source, &destination}) {
    for (const SideGroup& group : side->groups) {
      recompute.insert(group.layout.recompute.begin(), group.layout.recompute.end());
    }
  }
  assembly.notices.recompute.assign(recompute.begin(), recompute.end());

  const std::vector<Seat> source_seats = SeatsOf(source, cluster.gpus.size());
  const std::vector<Seat> destination_seats = SeatsOf(destination, cluster.gpus.size());
  LayoutTable table;
  SideLayouts source_layouts(source, *chosen, table);
  SideLayouts destination_layouts(destination, *chosen, table);
  for (std::size_t gpu = 0; gpu < cluster.gpus.size(); ++gpu) {
    const Seat& from = source_seats[gpu];
    const Seat& to = destination_seats[gpu];
    if (from.group == kNoGroup && to.group == kNoGroup) continue;
    Rank rank;
    rank.gpu = static_cast<std::int32_t>(gpu);
    rank.node = cluster.gpus[gpu].node;
    rank.domain = cluster.gpus[gpu].domain;
    rank.source_group = from.group;
    rank.destination_group = to.group;
    if (from.group != kNoGroup) rank.source_layout = source_layouts.Number(from);
    if (to.group != kNoGroup) rank.destination_layout = destination_layouts.Number(to);
    records.ranks.push_back(rank);
  }
  records.layouts = std::move(table).Take();

  const Result<void> disjoint = CheckNoOverlap(destination, records);
  if (!disjoint) return tl::unexpected(disjoint.error());
  const Result<void> in_place = CheckInPlace(place, records);
  if (!in_place) return tl::unexpected(in_place.error());
  return assembly;
}

}  // namespace

Result<JobAssembly> AssembleJob(const std::string& place, const Cluster& cluster,
                                const Model& model, Side source, Side destination,
                                const JobOptions& options) {
  if (HasForms(source) || HasForms(destination)) {
    Result<FormUnion> united = UniteForms(model, source, destination);
    if (!united) return tl::unexpected(united.error());
    return Assemble(place, cluster, {united->model, united->listed_names, united->converted},
                    std::move(source), std::move(destination), options);
  }
  std::vector<std::string> names;
  names.reserve(model.tensors.size());
  for (const Tensor& tensor : model.tensors) names.push_back(tensor.name);
  return Assemble(place, cluster, {model, names, {}}, std::move(source), std::move(destination),
                  options);
}

}  // namespace reshard
