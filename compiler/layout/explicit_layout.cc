#include "compiler/layout/explicit_layout.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/layout/explicit_regions.h"
#include "compiler/layout/explicit_words.h"
#include "compiler/layout/joined_parameters.h"

namespace reshard {
namespace {

// The layout of a group, as far as it is the same for all ranks.
struct Resolved {
  const Model* model = nullptr;
  ExplicitWords words;
  std::vector<std::vector<std::int32_t>> positions;  // per mesh, per rank of the group
  std::vector<std::optional<std::size_t>> rule_of;   // per tensor, where one is needed
  std::vector<TensorIndex> own;                      // tensors that are parameters of their own
  std::vector<JoinedParameter> joined;
  ExplicitRegions regions;
};

const Tensor& TensorAt(const Resolved& layout, TensorIndex tensor) {
  return layout.model->tensors[static_cast<std::size_t>(tensor)];
}

Block WholeTensor(const Resolved& layout, TensorIndex tensor) {
  return Block::OfTensor(tensor, TensorAt(layout, tensor).shape);
}

// The first rule that matches the tensor; what it says must fit the tensor's shape.
Result<std::size_t> FindRule(const ExplicitWords& words, const Tensor& tensor,
                             const std::string& place) {
  for (std::size_t r = 0; r < words.rules.size(); ++r) {
    const ExplicitRule& rule = words.rules[r];
    if (!rule.match.Matches(tensor.name)) continue;
    if (!rule.mesh) return r;
    const Result<void> fits =
        At(rule.place + ": tensor " + tensor.name,
           CheckSharding(rule.sharding, words.meshes[*rule.mesh], tensor.shape));
    if (!fits) return tl::unexpected(fits.error());
    return r;
  }
  return InputError(place, "no rule of tensors matches tensor " + tensor.name,
                    R"(add a rule; "match": "*" takes the rest)");
}

// Which tensors need a rule: all but those that regions or a parameter cut as a whole hold; and
// which are parameters of their own: all that are no parts.
Result<void> ResolveTensors(const JsonCursor& fields, Resolved& layout) {
  const std::size_t count = layout.model->tensors.size();
  std::vector<char> needs_rule(count, 1);
  std::vector<char> is_own(count, 1);
  for (const TensorIndex tensor : layout.regions.tensors) {
    needs_rule[static_cast<std::size_t>(tensor)] = 0;
    is_own[static_cast<std::size_t>(tensor)] = 0;
  }
  // A part of two parameters needs a rule where either of them leaves it to be cut.
  for (const bool cut_as_whole : {true, false}) {
    for (const JoinedParameter& joined : layout.joined) {
      if (layout.words.parameters[joined.entry].mesh.has_value() != cut_as_whole) continue;
      for (const TensorIndex part : joined.parts) {
        is_own[static_cast<std::size_t>(part)] = 0;
        needs_rule[static_cast<std::size_t>(part)] = cut_as_whole ? 0 : 1;
      }
    }
  }
  layout.rule_of.resize(count);
  for (std::size_t t = 0; t < count; ++t) {
    if (is_own[t] != 0) layout.own.push_back(static_cast<TensorIndex>(t));
    if (needs_rule[t] == 0) continue;
    const Result<std::size_t> rule =
        FindRule(layout.words, layout.model->tensors[t], fields.Place());
    if (!rule) return tl::unexpected(rule.error());
    layout.rule_of[t] = *rule;
  }
  return {};
}

// Per mesh, whether anything cuts along each of its axes; empty for meshes that nothing uses.
std::vector<std::vector<bool>> CuttingAxes(const Resolved& layout) {
  std::vector<std::vector<bool>> cuts(layout.words.meshes.size());
  const auto use = [&](std::size_t mesh, const Sharding& sharding) {
    cuts[mesh].resize(sharding.placements.size(), false);
    for (std::size_t axis = 0; axis < sharding.placements.size(); ++axis) {
      if (sharding.placements[axis].Cuts()) cuts[mesh][axis] = true;
    }
  };
  std::vector<bool> used(layout.words.rules.size(), false);
  for (const std::optional<std::size_t>& rule : layout.rule_of) {
    if (rule) used[*rule] = true;
  }
  for (std::size_t r = 0; r < used.size(); ++r) {
    const ExplicitRule& rule = layout.words.rules[r];
    if (used[r] && rule.mesh) use(*rule.mesh, rule.sharding);
  }
  for (const JoinedParameter& joined : layout.joined) {
    const ExplicitParameter& entry = layout.words.parameters[joined.entry];
    if (!entry.mesh) continue;
    use(*entry.mesh, entry.sharding);
    // Ranks of zeros hold something else than those of values.
    for (const ZeroExcept& except : entry.zero_except) {
      cuts[*entry.mesh].resize(layout.words.meshes[*entry.mesh].axes.size(), false);
      cuts[*entry.mesh][static_cast<std::size_t>(except.axis)] = true;
    }
  }
  return cuts;
}

// Equal for ranks that hold the same: per used mesh whether the rank is in it and its coordinate on
// the axes that cut; and the rank itself where regions name it.
std::vector<std::int64_t> LayoutKey(const Resolved& layout,
                                    const std::vector<std::vector<bool>>& cuts, std::int32_t rank) {
  std::vector<std::int64_t> key;
  for (std::size_t m = 0; m < layout.words.meshes.size(); ++m) {
    const std::int32_t position = layout.positions[m][static_cast<std::size_t>(rank)];
    key.push_back(position < 0 ? 0 : 1);
    const std::vector<std::int64_t> coordinate =
        layout.words.meshes[m].Coordinate(std::max(position, 0));
    for (std::size_t axis = 0; axis < cuts[m].size(); ++axis) {
      if (cuts[m][axis]) key.push_back(position < 0 ? 0 : coordinate[axis]);
    }
  }
  key.push_back(layout.regions.OfRank(rank).empty() ? -1 : rank);
  return key;
}

// What the rank holds of `whole`; none if it is not in the mesh.
std::optional<Block> LocalPart(const Resolved& layout, std::size_t mesh, const Sharding& sharding,
                               const Block& whole, std::int32_t rank) {
  const std::int32_t position = layout.positions[mesh][static_cast<std::size_t>(rank)];
  if (position < 0) return std::nullopt;
  const Mesh& m = layout.words.meshes[mesh];
  return LocalBlock(whole, sharding, m, m.Coordinate(position));
}

std::optional<Block> LocalTensor(const Resolved& layout, TensorIndex tensor, std::int32_t rank) {
  const ExplicitRule& rule = layout.words.rules[*layout.rule_of[static_cast<std::size_t>(tensor)]];
  if (!rule.mesh) return std::nullopt;
  return LocalPart(layout, *rule.mesh, rule.sharding, WholeTensor(layout, tensor), rank);
}

// The parameter made of `block_of` each of its tensors.
template <typename BlockOf>
Result<Block> MakeValue(const ExplicitParameter& entry, const JoinedParameter& joined,
                        const BlockOf& block_of) {
  std::vector<std::vector<Block>> leaves;
  for (const std::vector<TensorIndex>& tensors : joined.leaves) {
    std::vector<Block>& leaf = leaves.emplace_back();
    for (const TensorIndex tensor : tensors) leaf.push_back(block_of(tensor));
  }
  return MakeBlock(entry.value, leaves);
}

// Whether the rank at `coordinate` has the parameter's values, not zeros in their place.
bool HasValues(const ExplicitParameter& entry, const std::vector<std::int64_t>& coordinate) {
  return std::ranges::all_of(entry.zero_except, [&](const ZeroExcept& except) {
    const std::int64_t own = coordinate[static_cast<std::size_t>(except.axis)];
    return std::ranges::find(except.coordinates, own) != except.coordinates.end();
  });
}

// Of a parameter that is cut as a whole; none if the rank is not in its mesh.
Result<std::optional<Block>> LocalOfWhole(const Resolved& layout, const JoinedParameter& joined,
                                          std::int32_t rank) {
  const ExplicitParameter& entry = layout.words.parameters[joined.entry];
  const std::int32_t position = layout.positions[*entry.mesh][static_cast<std::size_t>(rank)];
  if (position < 0) return std::optional<Block>();
  const Result<Block> whole =
      MakeValue(entry, joined, [&](TensorIndex part) { return WholeTensor(layout, part); });
  if (!whole) return tl::unexpected(whole.error());
  const Mesh& mesh = layout.words.meshes[*entry.mesh];
  const Result<void> fits = CheckSharding(entry.sharding, mesh, whole->shape());
  if (!fits) return tl::unexpected(fits.error());
  const std::vector<std::int64_t> coordinate = mesh.Coordinate(position);
  Result<Block> local =
      ApplySteps(entry.local, LocalBlock(*whole, entry.sharding, mesh, coordinate));
  if (!local) return tl::unexpected(local.error());
  if (!HasValues(entry, coordinate)) return std::optional<Block>(Block::Zeros(local->shape()));
  return std::optional<Block>(std::move(*local));
}

// None if the rank does not hold the parameter.
Result<std::optional<Block>> LocalJoined(const Resolved& layout, const JoinedParameter& joined,
                                         std::int32_t rank) {
  const ExplicitParameter& entry = layout.words.parameters[joined.entry];
  if (entry.mesh) return LocalOfWhole(layout, joined, rank);
  TensorIndex held = 0;
  TensorIndex missing = 0;
  std::map<TensorIndex, Block> local_of;
  bool any_missing = false;
  for (const TensorIndex part : joined.parts) {
    std::optional<Block> local = LocalTensor(layout, part, rank);
    any_missing = any_missing || !local;
    (local ? held : missing) = part;
    if (local) local_of.insert_or_assign(part, std::move(*local));
  }
  if (local_of.empty()) return std::optional<Block>();
  if (any_missing) {
    return InputError("",
                      "rank " + std::to_string(rank) + " of the group holds part " +
                          TensorAt(layout, held).name + " but not part " +
                          TensorAt(layout, missing).name,
                      "place all parts on the same ranks");
  }
  Result<Block> block =
      MakeValue(entry, joined, [&](TensorIndex part) { return local_of.at(part); });
  if (!block) return tl::unexpected(block.error());
  return std::optional<Block>(std::move(*block));
}

Result<RankLayout> BuildRank(const JsonCursor& fields, const Resolved& layout, std::int32_t rank) {
  RankLayoutBuilder builder(*layout.model);
  for (const TensorIndex tensor : layout.own) {
    const std::optional<Block> local = LocalTensor(layout, tensor, rank);
    if (!local) continue;
    const Tensor& whole = TensorAt(layout, tensor);
    const Result<void> added =
        At(fields.Place(), builder.AddParameter(whole.name, whole.dtype, *local));
    if (!added) return tl::unexpected(added.error());
  }
  for (const JoinedParameter& joined : layout.joined) {
    const std::string& place = layout.words.parameters[joined.entry].place;
    const Result<std::optional<Block>> local =
        At(place + ": parameter " + joined.name, LocalJoined(layout, joined, rank));
    if (!local) return tl::unexpected(local.error());
    if (!*local) continue;
    const std::optional<DType>& said = layout.words.parameters[joined.entry].dtype;
    const DType dtype = joined.parts.empty() ? *said : TensorAt(layout, joined.parts.front()).dtype;
    const Result<void> added = At(place, builder.AddParameter(joined.name, dtype, **local));
    if (!added) return tl::unexpected(added.error());
  }
  for (const ExplicitParameterRegions& parameter : layout.regions.OfRank(rank)) {
    const Result<ParameterIndex> index =
        At(fields.Place(), builder.AddParameter(parameter.parameter));
    if (!index) return tl::unexpected(index.error());
    for (std::int64_t r = 0; r < parameter.regions.size(); ++r) {
      Region region = parameter.regions[r];
      region.parameter = *index;
      builder.AddRegion(region);
    }
    for (std::int64_t z = 0; z < parameter.zeros.size(); ++z) {
      Region region = parameter.zeros[z];
      region.parameter = *index;
      builder.AddZeros(region);
    }
  }
  return At(fields.Place(), std::move(builder).Build());
}

}  // namespace

Result<GroupLayout> BuildExplicitLayout(const Model& model, const JsonCursor& fields,
                                        std::int64_t rank_count) {
  Resolved layout;
  layout.model = &model;
  Result<ExplicitWords> words = ReadExplicitWords(fields, rank_count);
  if (!words) return tl::unexpected(words.error());
  layout.words = std::move(*words);
  for (const Mesh& mesh : layout.words.meshes)
    layout.positions.push_back(mesh.Positions(rank_count));
  Result<ExplicitRegions> regions = ResolveRegions(model, layout.words.regions);
  if (!regions) return tl::unexpected(regions.error());
  layout.regions = std::move(*regions);
  Result<std::vector<JoinedParameter>> joined = ExpandParameters(model, layout.words.parameters);
  if (!joined) return tl::unexpected(joined.error());
  layout.joined = std::move(*joined);
  const Result<void> resolved = ResolveTensors(fields, layout);
  if (!resolved) return tl::unexpected(resolved.error());

  GroupLayout group;
  const std::vector<std::vector<bool>> cuts = CuttingAxes(layout);
  std::map<std::vector<std::int64_t>, std::int32_t> known;
  for (std::int64_t r = 0; r < rank_count; ++r) {
    const auto rank = static_cast<std::int32_t>(r);
    const auto [entry, added] = known.emplace(LayoutKey(layout, cuts, rank),
                                              static_cast<std::int32_t>(group.layouts.size()));
    if (added) {
      Result<RankLayout> built = BuildRank(fields, layout, rank);
      if (!built) return tl::unexpected(built.error());
      group.layouts.push_back(std::move(*built));
    }
    group.layout_of_rank.push_back(entry->second);
  }
  return group;
}

}  // namespace reshard
