#include "compiler/layout/layout_description.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "foundation/checked_arithmetic.h"
#include "schedules/region_table.h"

namespace reshard {
namespace {

// A box of a tensor: begin and extent of each dim.
using Box = std::vector<std::pair<std::int64_t, std::int64_t>>;

// What one distinct layout holds of one parameter.
struct Holding {
  const Parameter* parameter = nullptr;
  std::map<TensorIndex, std::vector<Box>> boxes;  // ascending
  std::optional<std::int64_t> elements = 0;       // of tensors, where they fit 64 bits
};

// Of one parameter, by index of the layout; only those that have it.
using Holdings = std::map<std::int32_t, Holding>;

std::int64_t Elements(std::span<const std::int64_t> shape) {
  std::int64_t elements = 1;
  for (const std::int64_t size : shape) elements *= size;
  return elements;
}

std::map<std::string, Holdings> CollectHoldings(const GroupLayout& group) {
  std::map<std::string, Holdings> all;
  for (std::size_t l = 0; l < group.layouts.size(); ++l) {
    const RankLayout& layout = group.layouts[l];
    std::vector<Holding*> of_parameter;
    for (const Parameter& parameter : layout.parameters) {
      Holding& holding = all[parameter.name][static_cast<std::int32_t>(l)];
      holding.parameter = &parameter;
      of_parameter.push_back(&holding);
    }
    for (std::int64_t r = 0; r < layout.regions.size(); ++r) {
      const Region region = layout.regions[r];
      Holding& holding = *of_parameter[static_cast<std::size_t>(region.parameter)];
      Box& box = holding.boxes[region.tensor].emplace_back();
      for (std::size_t d = 0; d < region.begin.size(); ++d) {
        box.emplace_back(region.begin[d], region.extent[d]);
      }
      if (holding.elements) {
        holding.elements = CheckedAdd(*holding.elements, Elements(region.extent));
      }
    }
  }
  for (auto& [name, holdings] : all) {
    for (auto& [layout, holding] : holdings) {
      for (auto& [tensor, boxes] : holding.boxes) std::sort(boxes.begin(), boxes.end());
    }
  }
  return all;
}

// The dims in which two lists of boxes differ; nullopt if they are not of equal form.
std::optional<std::set<std::size_t>> DimsThatDiffer(const std::vector<Box>& a,
                                                    const std::vector<Box>& b) {
  std::set<std::size_t> dims;
  if (a == b) return dims;
  for (std::size_t d = 0; d < a.front().size(); ++d) {
    if (a.size() == 1 && b.size() == 1) {
      if (a.front()[d] != b.front()[d]) dims.insert(d);
      continue;
    }
    std::set<std::pair<std::int64_t, std::int64_t>> in_a;
    std::set<std::pair<std::int64_t, std::int64_t>> in_b;
    for (const Box& box : a) in_a.insert(box[d]);
    for (const Box& box : b) in_b.insert(box[d]);
    if (in_a != in_b) dims.insert(d);
  }
  if (dims.empty() && a != b) return std::nullopt;
  return dims;
}

// How neighbours share equal ranges: the length of every run, or 0 if runs differ.
std::int64_t RunLength(const std::vector<const std::vector<Box>*>& line) {
  std::int64_t length = 0;
  std::int64_t run = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    ++run;
    if (i + 1 < line.size() && *line[i + 1] == *line[i]) continue;
    if (length != 0 && run != length) return 0;
    length = run;
    run = 0;
  }
  return length;
}

// Of one tensor over the ranks of a line that hold elements of the parameter; nullopt if neither
// replication nor a cut along one dim says it.
std::optional<std::string> PlacementOfTensor(const std::vector<const Holding*>& line,
                                             TensorIndex tensor) {
  std::vector<const std::vector<Box>*> boxes;
  for (const Holding* holding : line) {
    const auto found = holding->boxes.find(tensor);
    if (found == holding->boxes.end()) return "tensors";
    boxes.push_back(&found->second);
  }
  std::set<std::size_t> dims;
  for (const std::vector<Box>* other : boxes) {
    const auto differing = DimsThatDiffer(*boxes.front(), *other);
    if (!differing) return std::nullopt;
    dims.insert(differing->begin(), differing->end());
  }
  if (dims.empty()) return "R";
  if (dims.size() > 1) return std::nullopt;
  const std::int64_t copies = RunLength(boxes);
  return "S(" + std::to_string(*dims.begin()) + ")" +
         (copies > 1 ? "x" + std::to_string(copies) : "");
}

// One shard of a line has all its elements: cut, along a dim that other lines must say.
constexpr std::string_view kCutSomehow = "S(?)";

// Along one line of ranks; "" if none holds elements of the parameter, nullopt if nothing says it.
std::optional<std::string> PlacementOfLine(const std::vector<const Holding*>& line) {
  std::vector<const Holding*> held;
  std::vector<const Holding*> filled;  // shards may be empty, or padding alone
  for (const Holding* holding : line) {
    if (holding == nullptr) continue;
    held.push_back(holding);
    if (holding->elements != 0) filled.push_back(holding);
  }
  if (held.empty()) return "";
  // Replicas share their layout.
  if (std::ranges::all_of(line, [&](const Holding* one) { return one == line.front(); })) {
    return filled.empty() ? "" : "R";
  }
  if (held.size() < line.size()) return held.size() == 1 ? "one" : "some";
  if (filled.empty()) return "";
  if (filled.size() == 1 && line.size() > 1) return std::string(kCutSomehow);
  std::set<TensorIndex> tensors;
  for (const Holding* holding : filled) {
    for (const auto& [tensor, boxes] : holding->boxes) tensors.insert(tensor);
  }
  std::set<std::string> placements;
  for (const TensorIndex tensor : tensors) {
    const std::optional<std::string> placement = PlacementOfTensor(filled, tensor);
    if (!placement) return std::nullopt;
    placements.insert(*placement);
  }
  std::string joined;
  for (const std::string& placement : placements) {
    joined += (joined.empty() ? "" : "|") + placement;
  }
  return joined;
}

// The ranks of a mesh that differ along one axis alone, as their layouts; equal lines once.
struct AxisLines {
  std::vector<std::vector<std::int32_t>> lines;
  std::vector<std::vector<std::size_t>> of_layout;  // the lines a layout is in
};

struct MeshLines {
  std::vector<AxisLines> axes;
  std::vector<bool> covers;  // all ranks of a layout are in the mesh
};

MeshLines LinesOf(const Mesh& mesh, const GroupLayout& group) {
  MeshLines lines;
  lines.covers.assign(group.layouts.size(), true);
  std::vector<bool> in_mesh(group.layout_of_rank.size(), false);
  for (const std::int32_t rank : mesh.ranks) in_mesh[static_cast<std::size_t>(rank)] = true;
  for (std::size_t r = 0; r < in_mesh.size(); ++r) {
    if (!in_mesh[r]) lines.covers[static_cast<std::size_t>(group.layout_of_rank[r])] = false;
  }
  const auto total = static_cast<std::int64_t>(mesh.ranks.size());
  std::int64_t stride = total;
  for (const MeshAxis& axis : mesh.axes) {
    stride /= axis.size;
    AxisLines& along = lines.axes.emplace_back();
    std::set<std::vector<std::int32_t>> seen;
    for (std::int64_t position = 0; position < total; ++position) {
      if (position / stride % axis.size != 0) continue;
      std::vector<std::int32_t> line;
      for (std::int64_t i = 0; i < axis.size; ++i) {
        const auto rank = mesh.ranks[static_cast<std::size_t>(position + i * stride)];
        line.push_back(group.layout_of_rank[static_cast<std::size_t>(rank)]);
      }
      seen.insert(std::move(line));
    }
    along.of_layout.resize(group.layouts.size());
    for (const std::vector<std::int32_t>& line : seen) {
      for (const std::int32_t layout : std::set<std::int32_t>(line.begin(), line.end())) {
        along.of_layout[static_cast<std::size_t>(layout)].push_back(along.lines.size());
      }
      along.lines.push_back(line);
    }
  }
  return lines;
}

// The placement along one axis, if all lines agree.
std::optional<std::string> ExplainAxis(const Holdings& holdings, const AxisLines& axis) {
  std::set<std::size_t> touched;
  for (const auto& [layout, holding] : holdings) {
    const auto& lines = axis.of_layout[static_cast<std::size_t>(layout)];
    touched.insert(lines.begin(), lines.end());
  }
  std::string placement;
  bool cut_somehow = false;
  std::vector<const Holding*> line;
  for (const std::size_t number : touched) {
    line.clear();
    for (const std::int32_t layout : axis.lines[number]) {
      const auto found = holdings.find(layout);
      line.push_back(found == holdings.end() ? nullptr : &found->second);
    }
    const std::optional<std::string> along = PlacementOfLine(line);
    if (!along) return std::nullopt;
    if (along->empty()) continue;
    if (*along == kCutSomehow) {
      cut_somehow = true;
      continue;
    }
    if (!placement.empty() && placement != *along) return std::nullopt;
    placement = *along;
  }
  if (placement.empty()) return cut_somehow ? "S(0)" : "R";
  if (placement == "R" && cut_somehow) return std::nullopt;
  return placement;
}

// One placement for each axis.
std::optional<std::vector<std::string>> Explain(const Holdings& holdings, const MeshLines& mesh) {
  for (const auto& [layout, holding] : holdings) {
    if (!mesh.covers[static_cast<std::size_t>(layout)]) return std::nullopt;
  }
  std::vector<std::string> placements;
  for (const AxisLines& axis : mesh.axes) {
    std::optional<std::string> placement = ExplainAxis(holdings, axis);
    if (!placement) return std::nullopt;
    placements.push_back(*std::move(placement));
  }
  return placements;
}

// How far placements are from DTensor's own words: the less, the better a mesh explains. That one
// stage alone has a parameter, any mesh says.
std::int64_t Oddity(std::span<const std::string> placements, const Mesh& mesh) {
  std::int64_t oddity = 0;
  for (std::size_t axis = 0; axis < placements.size(); ++axis) {
    if (mesh.axes[axis].name == "pp") continue;
    const std::string& placement = placements[axis];
    if (placement == "one" || placement.find("tensors") != std::string::npos) ++oddity;
    if (placement == "some") oddity += 2;
  }
  return oddity;
}

// Adds `count` times `bytes` to `sum`; false if it does not fit 64 bits.
bool AddTimes(std::int64_t count, std::int64_t bytes, std::int64_t& sum) {
  const std::optional<std::int64_t> all = CheckedMultiply(count, bytes);
  const std::optional<std::int64_t> more = all ? CheckedAdd(sum, *all) : std::nullopt;
  if (more) sum = *more;
  return more.has_value();
}

// `ranks` counts those of each layout. False if bytes do not fit 64 bits.
bool AddSizes(const Holdings& holdings, std::span<const std::int64_t> ranks,
              ParameterDescription& described) {
  std::set<TensorIndex> tensors;
  for (const auto& [layout, holding] : holdings) {
    const std::int64_t count = ranks[static_cast<std::size_t>(layout)];
    const std::int64_t element = ElementBytes(holding.parameter->dtype);
    const std::vector<std::int64_t>& shape = holding.parameter->shape;
    const std::int64_t bytes = Elements(shape) * element;  // they fit: its layout was built
    const std::optional<std::int64_t> filled =
        holding.elements ? CheckedMultiply(*holding.elements, element) : std::nullopt;
    if (!filled || !AddTimes(count, bytes, described.bytes) ||
        !AddTimes(count, bytes - *filled, described.padding_bytes)) {
      return false;
    }
    described.ranks += count;
    described.bytes_max = std::max(described.bytes_max, bytes);
    const auto same = std::find_if(described.shapes.begin(), described.shapes.end(),
                                   [&](const auto& entry) { return entry.first == shape; });
    if (same != described.shapes.end()) {
      same->second += count;
    } else {
      described.shapes.emplace_back(shape, count);
    }
    for (const auto& [tensor, boxes] : holding.boxes) tensors.insert(tensor);
  }
  described.tensors = static_cast<std::int64_t>(tensors.size());
  return true;
}

}  // namespace

Result<std::vector<ParameterDescription>> DescribeParameters(const GroupLayout& group,
                                                             std::span<const NamedMesh> meshes) {
  std::vector<std::int64_t> ranks(group.layouts.size(), 0);
  for (const std::int32_t layout : group.layout_of_rank) ++ranks[static_cast<std::size_t>(layout)];
  std::vector<MeshLines> lines;
  for (const NamedMesh& mesh : meshes) lines.push_back(LinesOf(mesh.mesh, group));
  std::vector<ParameterDescription> descriptions;
  for (const auto& [name, holdings] : CollectHoldings(group)) {
    ParameterDescription& described = descriptions.emplace_back();
    described.name = name;
    described.dtype = holdings.begin()->second.parameter->dtype;
    if (!AddSizes(holdings, ranks, described)) {
      return InputError(name, "its bytes on all ranks do not fit 64 bits");
    }
    for (std::size_t m = 0; m < meshes.size(); ++m) {
      const auto placements = Explain(holdings, lines[m]);
      if (!placements) continue;
      if (described.mesh) {
        const std::int64_t before = Oddity(described.placements, meshes[*described.mesh].mesh);
        const std::int64_t now = Oddity(*placements, meshes[m].mesh);
        // Equally odd: the mesh of experts, which stands behind, is where such parameters lie.
        if (now > before || (now == before && now == 0)) continue;
      }
      described.mesh = m;
      described.placements = *placements;
    }
  }
  return descriptions;
}

std::vector<std::string> TensorsNotHeld(const Model& model, const GroupLayout& group) {
  std::vector<bool> held(model.tensors.size(), false);
  for (const RankLayout& layout : group.layouts) {
    for (std::int64_t r = 0; r < layout.regions.size(); ++r) {
      held[static_cast<std::size_t>(layout.regions[r].tensor)] = true;
    }
  }
  std::vector<std::string> names;
  for (std::size_t t = 0; t < model.tensors.size(); ++t) {
    if (!held[t] && Elements(model.tensors[t].shape) > 0) names.push_back(model.tensors[t].name);
  }
  return names;
}

}  // namespace reshard
