#include "compiler/layout/family_segments.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>
#include <vector>

namespace reshard {
namespace {

// The input projection of a delta net, as checkpoints have it.
constexpr std::array kDeltaJoined{Role::kDeltaQkvz, Role::kDeltaBa};
constexpr std::array kDeltaApart{Role::kDeltaQkv, Role::kDeltaZ, Role::kDeltaB, Role::kDeltaA};

struct Field {
  const char* name;
  std::int64_t* target;
};

Result<void> ReadSizes(const FamilyTensors& model, std::initializer_list<Field> fields) {
  for (const Field& field : fields) {
    const Result<std::int64_t> value = model.SizeField(field.name);
    if (!value) return tl::unexpected(value.error());
    *field.target = *value;
  }
  return {};
}

// A segment of a tensor's rows: `units` of so many rows, cut between units, or whole on every rank.
struct Segment {
  std::int64_t units = 0;
  std::int64_t rows_of_unit = 0;
  bool replicated = false;
};

const std::string& NameOf(const FamilyTensors& model, const RoleTensors& tensors) {
  return model.tensor(tensors[Kind::kWeight]).name;
}

Result<void> CheckRows(const FamilyTensors& model, const RoleTensors& tensors, std::int64_t rows) {
  if (RowCount(model, tensors) == rows) return {};
  return InputError("model", NameOf(model, tensors) + " has " +
                                 std::to_string(RowCount(model, tensors)) + " rows, not the " +
                                 std::to_string(rows) + " of its segments");
}

// The rank's rows of each segment; together the segments are the whole tensor.
Result<std::vector<RowRange>> SegmentRows(const FamilyTensors& model, const RoleTensors& tensors,
                                          const std::vector<Segment>& segments,
                                          const SegmentShare& share) {
  std::int64_t begin = 0;
  std::vector<RowRange> rows;
  for (const Segment& segment : segments) {
    Share units{0, segment.units};
    if (!segment.replicated) {
      const Result<Share> cut = EqualShare(segment.units, share.count, share.index,
                                           NameOf(model, tensors) + ": heads or groups");
      if (!cut) return tl::unexpected(cut.error());
      units = *cut;
    }
    rows.push_back({tensors, begin + units.begin * segment.rows_of_unit,
                    begin + units.end * segment.rows_of_unit});
    begin += segment.units * segment.rows_of_unit;
  }
  if (const Result<void> checked = CheckRows(model, tensors, begin); !checked) {
    return tl::unexpected(checked.error());
  }
  return rows;
}

// A family of one's own need not know all roles that an input projection is made of.
tl::unexpected<Error> FewParts(const FamilyTensors& model, const RoleTensors& part) {
  return InputError("family " + model.family().name,
                    "it has " + NameOf(model, part) + " but not all parts of that projection",
                    "give patterns for delta.qkvz and delta.ba, or for delta.qkv, z, b and a");
}

}  // namespace

Result<MambaSizes> MambaSizesOf(const FamilyTensors& model) {
  MambaSizes sizes;
  const Result<void> read = ReadSizes(model, {{"mamba_num_heads", &sizes.heads},
                                              {"mamba_head_dim", &sizes.head_dim},
                                              {"n_groups", &sizes.groups},
                                              {"ssm_state_size", &sizes.state}});
  if (!read) return tl::unexpected(read.error());
  return sizes;
}

Result<std::vector<RowRange>> MambaInputRows(const FamilyTensors& model, const MambaSizes& sizes,
                                             const RoleTensors& tensors,
                                             const SegmentShare& share) {
  const bool whole = sizes.replicates_one_group && sizes.groups == 1;
  const Segment inner{sizes.heads, sizes.head_dim};
  const Segment groups{sizes.groups, sizes.state, whole};
  return SegmentRows(model, tensors, {inner, inner, groups, groups, {sizes.heads, 1}}, share);
}

Result<std::vector<RowRange>> MambaConvolutionRows(const FamilyTensors& model,
                                                   const MambaSizes& sizes,
                                                   const RoleTensors& tensors,
                                                   const SegmentShare& share) {
  const bool whole = sizes.replicates_one_group && sizes.groups == 1;
  const Segment groups{sizes.groups, sizes.state, whole};
  return SegmentRows(model, tensors, {{sizes.heads, sizes.head_dim}, groups, groups}, share);
}

Result<DeltaSizes> DeltaSizesOf(const FamilyTensors& model) {
  DeltaSizes sizes;
  const Result<void> read = ReadSizes(model, {{"linear_num_key_heads", &sizes.key_heads},
                                              {"linear_num_value_heads", &sizes.value_heads},
                                              {"linear_key_head_dim", &sizes.key_dim},
                                              {"linear_value_head_dim", &sizes.value_dim}});
  if (!read) return tl::unexpected(read.error());
  if (sizes.value_heads % sizes.key_heads != 0) {
    return InputError("model", std::to_string(sizes.value_heads) +
                                   " value heads of linear attention do not divide by " +
                                   std::to_string(sizes.key_heads) + " key heads");
  }
  return sizes;
}

bool HoldsDeltaInput(const FamilyLayer& layer) {
  const auto held = [&](Role role) { return layer[role].held(); };
  return std::ranges::any_of(kDeltaJoined, held) || std::ranges::any_of(kDeltaApart, held);
}

Result<std::vector<RowRange>> DeltaInputRows(const FamilyTensors& model, const DeltaSizes& sizes,
                                             const FamilyLayer& layer, const SegmentShare& share) {
  const std::int64_t ratio = sizes.value_heads / sizes.key_heads;
  std::vector<RowRange> rows;
  // Of each key head of the rank the rows [begin, begin + size) of the `stride` that a tensor has
  // for a key head.
  const auto add = [&](const RoleTensors& tensors, const Share& heads, std::int64_t stride,
                       std::int64_t begin, std::int64_t size) {
    for (std::int64_t head = heads.begin; head < heads.end; ++head) {
      rows.push_back({tensors, head * stride + begin, head * stride + begin + size});
    }
  };
  const Result<std::vector<RoleTensors>> joined = Together(model, layer, kDeltaJoined, "in_proj");
  if (!joined) return tl::unexpected(joined.error());
  if (!joined->empty()) {
    if (joined->size() != kDeltaJoined.size()) return FewParts(model, joined->front());
    const RoleTensors& qkvz = joined->front();
    const RoleTensors& ba = joined->back();
    const Result<Share> heads =
        EqualShare(sizes.key_heads, share.count, share.index, NameOf(model, qkvz) + ": key heads");
    if (!heads) return tl::unexpected(heads.error());
    const std::int64_t values = ratio * sizes.value_dim;  // of a key head
    const std::int64_t stride = 2 * sizes.key_dim + 2 * values;
    for (const auto& [tensors, count] :
         {std::pair{&qkvz, sizes.key_heads * stride}, std::pair{&ba, 2 * sizes.value_heads}}) {
      const Result<void> checked = CheckRows(model, *tensors, count);
      if (!checked) return tl::unexpected(checked.error());
    }
    add(qkvz, *heads, stride, 0, sizes.key_dim);
    add(qkvz, *heads, stride, sizes.key_dim, sizes.key_dim);
    add(qkvz, *heads, stride, 2 * sizes.key_dim, values);
    add(qkvz, *heads, stride, 2 * sizes.key_dim + values, values);
    add(ba, *heads, 2 * ratio, 0, ratio);
    add(ba, *heads, 2 * ratio, ratio, ratio);
    return rows;
  }
  const Result<std::vector<RoleTensors>> flat = Together(model, layer, kDeltaApart, "in_proj");
  if (!flat) return tl::unexpected(flat.error());
  if (flat->empty()) return rows;
  if (flat->size() != kDeltaApart.size()) return FewParts(model, flat->front());
  const Segment keys{sizes.key_heads, sizes.key_dim};
  const Segment values{sizes.key_heads, ratio * sizes.value_dim};
  const Segment scalars{sizes.key_heads, ratio};
  const std::vector<std::vector<Segment>> segments{
      {keys, keys, values}, {values}, {scalars}, {scalars}};
  for (std::size_t part = 0; part < segments.size(); ++part) {
    const auto cut = SegmentRows(model, (*flat)[part], segments[part], share);
    if (!cut) return cut;
    rows.insert(rows.end(), cut->begin(), cut->end());
  }
  return rows;
}

Result<std::vector<RowRange>> DeltaConvolutionRows(const FamilyTensors& model,
                                                   const DeltaSizes& sizes,
                                                   const RoleTensors& tensors,
                                                   const SegmentShare& share) {
  const std::int64_t ratio = sizes.value_heads / sizes.key_heads;
  const Segment keys{sizes.key_heads, sizes.key_dim};
  return SegmentRows(model, tensors, {keys, keys, {sizes.key_heads, ratio * sizes.value_dim}},
                     share);
}

}  // namespace reshard
