#include "compiler/baselines/expert_stacks.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace reshard {
namespace {

struct ExpertName {
  std::string layer;  // the name without its expert number
  std::int64_t expert = 0;
};

std::optional<ExpertName> ParseExpertName(std::string_view name) {
  constexpr std::string_view kExperts = ".experts.";
  const std::size_t at = name.find(kExperts);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view before = name.substr(0, at + kExperts.size());
  const std::string_view rest = name.substr(before.size());
  const std::string_view number = rest.substr(0, rest.find('.'));
  ExpertName parsed;
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), parsed.expert);
  if (error != std::errc() || end != number.data() + number.size()) return std::nullopt;
  parsed.layer = std::string(before) + "*" + std::string(rest.substr(number.size()));
  return parsed;
}

struct Expert {
  std::int64_t number = 0;
  std::size_t placed = 0;  // index of its entry
  TensorIndex tensor = 0;
};

bool AreAlike(std::span<const Expert> experts, const std::vector<PlacedTensors>& placed) {
  const PlacedTensors& first = placed[experts.front().placed];
  return std::ranges::all_of(experts, [&](const Expert& expert) {
    const PlacedTensors& other = placed[expert.placed];
    return other.shape == first.shape && other.element_bytes == first.element_bytes;
  });
}

// Appends `box` of expert `position`, to the last box where it continues that one.
void AppendStacked(const TensorBox& box, std::int64_t position, std::vector<TensorBox>& boxes) {
  const auto same = [](const std::vector<std::int64_t>& stacked,
                       const std::vector<std::int64_t>& one) {
    return std::equal(stacked.begin() + 1, stacked.end(), one.begin(), one.end());
  };
  if (!boxes.empty()) {
    TensorBox& last = boxes.back();
    if (last.begin[0] + last.extent[0] == position && same(last.begin, box.begin) &&
        same(last.extent, box.extent)) {
      ++last.extent[0];
      return;
    }
  }
  TensorBox& stacked = boxes.emplace_back(TensorBox{{position}, {1}});
  stacked.begin.insert(stacked.begin.end(), box.begin.begin(), box.begin.end());
  stacked.extent.insert(stacked.extent.end(), box.extent.begin(), box.extent.end());
}

// The shards of one side of a stack: `sides` are those of its experts, by position.
std::vector<Shard> StackShards(const std::vector<const std::vector<Shard>*>& sides) {
  std::map<RankIndex, std::vector<TensorBox>> boxes_of_rank;
  for (std::size_t position = 0; position < sides.size(); ++position) {
    for (const Shard& shard : *sides[position]) {
      for (const RankIndex rank : shard.ranks) {
        std::vector<TensorBox>& boxes = boxes_of_rank[rank];
        for (const TensorBox& box : shard.boxes) {
          AppendStacked(box, static_cast<std::int64_t>(position), boxes);
        }
      }
    }
  }
  std::vector<Shard> shards;
  for (auto& [rank, boxes] : boxes_of_rank) {
    ShardOf(std::move(boxes), shards).ranks.push_back(rank);
  }
  SortShards(shards);
  return shards;
}

// Entries by position in the stack: layers of equal signature are placed alike.
using Signature = std::vector<std::size_t>;

StackedTensors MakeStack(const Signature& signature, const std::vector<PlacedTensors>& placed) {
  const PlacedTensors& first = placed[signature.front()];
  StackedTensors stack{{{}, first.pattern, first.element_bytes, {}, {}, {}}, 0};
  stack.placed.shape.push_back(static_cast<std::int64_t>(signature.size()));
  stack.placed.shape.insert(stack.placed.shape.end(), first.shape.begin(), first.shape.end());
  std::vector<const std::vector<Shard>*> sources;
  std::vector<const std::vector<Shard>*> destinations;
  for (const std::size_t entry : signature) {
    sources.push_back(&placed[entry].sources);
    destinations.push_back(&placed[entry].destinations);
  }
  stack.placed.sources = StackShards(sources);
  stack.placed.destinations = StackShards(destinations);
  return stack;
}

}  // namespace

std::vector<StackedTensors> StackExperts(const JobRecords& job,
                                         const std::vector<PlacedTensors>& placed) {
  std::map<std::string, std::vector<Expert>> layers;
  std::vector<std::vector<TensorIndex>> apart(placed.size());
  for (std::size_t entry = 0; entry < placed.size(); ++entry) {
    for (const TensorIndex tensor : placed[entry].tensors) {
      auto name = ParseExpertName(job.tensors[static_cast<std::size_t>(tensor)].name);
      if (name) {
        layers[std::move(name->layer)].push_back({name->expert, entry, tensor});
      } else {
        apart[entry].push_back(tensor);
      }
    }
  }
  std::map<Signature, StackedTensors> stacks;
  for (auto& [layer, experts] : layers) {
    std::ranges::sort(experts, {}, &Expert::number);
    if (!AreAlike(experts, placed)) {
      for (const Expert& expert : experts) apart[expert.placed].push_back(expert.tensor);
      continue;
    }
    Signature signature;
    for (const Expert& expert : experts) signature.push_back(expert.placed);
    auto found = stacks.find(signature);
    if (found == stacks.end()) {
      found = stacks.emplace(signature, MakeStack(signature, placed)).first;
    }
    ++found->second.stacks;
    for (const Expert& expert : experts) found->second.placed.tensors.push_back(expert.tensor);
  }
  std::vector<StackedTensors> all;
  for (std::size_t entry = 0; entry < placed.size(); ++entry) {
    if (apart[entry].empty()) continue;
    all.push_back({placed[entry], static_cast<std::int64_t>(apart[entry].size())});
    all.back().placed.tensors = std::move(apart[entry]);
  }
  for (auto& [signature, stack] : stacks) all.push_back(std::move(stack));
  for (StackedTensors& stack : all) std::ranges::sort(stack.placed.tensors);
  std::ranges::sort(all, {},
                    [](const StackedTensors& stack) { return stack.placed.tensors.front(); });
  return all;
}

}  // namespace reshard
