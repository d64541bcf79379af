#include "tests/end_to_end/random_explicit_group.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "tests/end_to_end/naive_mesh.h"

namespace reshard {
namespace {

using Longs = std::vector<std::int64_t>;

void AddField(JsonValue::Object& object, std::string name, JsonValue value) {
  object.push_back({std::move(name), std::move(value)});
}

JsonValue::Array AsArray(const Longs& numbers) {
  return JsonValue::Array(numbers.begin(), numbers.end());
}

std::string JoinNumbers(const std::vector<std::int32_t>& numbers) {
  std::string text;
  for (const std::int32_t number : numbers) {
    text += (text.empty() ? "" : ",") + std::to_string(number);
  }
  return text;
}

// How something is cut on a mesh.
struct NaiveSharding {
  std::size_t mesh = 0;
  std::vector<NaivePlacement> placements;
  std::vector<int> order;
};

// One group of one side: its words in JSON and what its ranks hold.
class GroupMaker {
 public:
  GroupMaker(RandomDraws& draws, const std::vector<NaiveTensor>& tensors,
             std::vector<std::int32_t> gpus)
      : draws_(draws), tensors_(tensors), gpus_(std::move(gpus)), held_(gpus_.size()) {}

  JsonValue::Object Make() {
    MakeMeshes();
    std::map<std::int32_t, bool> joins_family;
    bool leaves_rest = false;
    for (std::size_t t = 0; t < tensors_.size(); ++t) {
      const NaiveTensor& tensor = tensors_[t];
      if (tensor.family >= 0) {
        const auto [entry, is_first] = joins_family.try_emplace(tensor.family, false);
        if (is_first) entry->second = draws_.Percent(60);
        if (is_first && entry->second) JoinFamily(tensor.family);
        if (entry->second) continue;
      }
      // Regions say nothing of a tensor without elements, so a rule must.
      const bool is_empty = std::ranges::find(tensor.shape, 0) != tensor.shape.end();
      if (!is_empty && draws_.Percent(20)) {
        MakeRegions(t);
      } else if (draws_.Percent(15)) {
        leaves_rest = true;
        Hold(tensor.name, tensor.dtype, WholeArray(static_cast<std::int32_t>(t), tensor.shape),
             Replicated());
      } else {
        const NaiveSharding sharding = DrawSharding(tensor.shape);
        AddRule(tensor.name, sharding);
        Hold(tensor.name, tensor.dtype, WholeArray(static_cast<std::int32_t>(t), tensor.shape),
             sharding);
      }
    }
    if (leaves_rest || rules_.empty()) {
      NaiveSharding rest = Replicated();
      AddRule("*", rest);
    }
    JsonValue::Object layout;
    AddField(layout, "meshes", std::move(mesh_words_));
    AddField(layout, "tensors", std::move(rules_));
    if (!parameters_.empty()) AddField(layout, "parameters", std::move(parameters_));
    if (!regions_.empty()) AddField(layout, "regions", std::move(regions_));
    return {{"gpus", JoinNumbers(gpus_)},
            {"layout", JsonValue::Object{{"explicit", std::move(layout)}}}};
  }

  std::vector<std::vector<NaiveParameter>> TakeHeld() { return std::move(held_); }

 private:
  Longs DrawAxes(std::int64_t size) {
    Longs axes;
    while (axes.size() < 2 && draws_.Percent(70)) {
      std::int64_t factor = draws_.Between(1, size);
      while (size % factor != 0) ++factor;
      axes.push_back(factor);
      size /= factor;
    }
    axes.push_back(size);
    return axes;
  }

  void AddMesh(std::string name, std::vector<std::int32_t> ranks, bool says_ranks) {
    NaiveMesh mesh = {std::move(name), DrawAxes(static_cast<std::int64_t>(ranks.size())),
                      std::move(ranks)};
    JsonValue::Array axes;
    for (std::size_t axis = 0; axis < mesh.axes.size(); ++axis) {
      axes.emplace_back(JsonValue::Array{"axis" + std::to_string(axis), mesh.axes[axis]});
    }
    JsonValue::Object words;
    AddField(words, "axes", std::move(axes));
    if (says_ranks) AddField(words, "ranks", JoinNumbers(mesh.ranks));
    AddField(mesh_words_, mesh.name, std::move(words));
    meshes_.push_back(std::move(mesh));
  }

  void MakeMeshes() {
    std::vector<std::int32_t> all(gpus_.size());
    std::iota(all.begin(), all.end(), 0);
    AddMesh("all", all, false);
    if (all.size() > 1 && draws_.Percent(50)) {
      std::vector<std::int32_t> some = all;
      draws_.Shuffle(some);
      some.resize(
          static_cast<std::size_t>(draws_.Between(1, static_cast<std::int64_t>(all.size()) - 1)));
      AddMesh("some", some, true);
    }
  }

  NaiveSharding Replicated() const {
    NaiveSharding sharding;
    sharding.placements.resize(meshes_[0].axes.size());
    sharding.order.resize(meshes_[0].axes.size());
    std::iota(sharding.order.begin(), sharding.order.end(), 0);
    return sharding;
  }

  NaiveSharding DrawSharding(const Longs& shape) {
    NaiveSharding sharding;
    sharding.mesh =
        static_cast<std::size_t>(draws_.Below(static_cast<std::int64_t>(meshes_.size())));
    const Longs& axes = meshes_[sharding.mesh].axes;
    const std::vector<std::string> kinds = {"chunk", "balanced", "sizes", "strided"};
    const std::string kind = draws_.Of(kinds);
    std::set<int> cut_dims;
    for (const std::int64_t axis : axes) {
      NaivePlacement placement;
      if (!shape.empty() && draws_.Percent(65)) {
        const auto dim = static_cast<int>(draws_.Below(static_cast<std::int64_t>(shape.size())));
        // Given sizes stand alone on their dim.
        if (kind != "sizes" || !cut_dims.contains(dim)) placement.dim = dim;
      }
      if (placement.dim >= 0) {
        cut_dims.insert(placement.dim);
        if (kind == "strided") {
          if (draws_.Percent(60)) placement.split = draws_.Between(2, 4);
        } else {
          placement.cut = kind;
        }
        if (kind == "sizes") {
          placement.sizes = DrawSizes(shape[static_cast<std::size_t>(placement.dim)], axis);
        }
      }
      sharding.placements.push_back(placement);
      sharding.order.push_back(static_cast<int>(sharding.order.size()));
    }
    if (draws_.Percent(30)) draws_.Shuffle(sharding.order);
    return sharding;
  }

  Longs DrawSizes(std::int64_t size, std::int64_t count) {
    Longs cuts = {0, size};
    for (std::int64_t i = 1; i < count; ++i) cuts.push_back(draws_.Between(0, size));
    std::sort(cuts.begin(), cuts.end());
    Longs sizes;
    for (std::size_t i = 1; i < cuts.size(); ++i) sizes.push_back(cuts[i] - cuts[i - 1]);
    return sizes;
  }

  // The fields mesh, placements, split and order.
  void AddWords(const NaiveSharding& sharding, JsonValue::Object& words) const {
    AddField(words, "mesh", meshes_[sharding.mesh].name);
    JsonValue::Array placements;
    JsonValue::Array sizes;
    std::string cut = "chunk";
    for (const NaivePlacement& placement : sharding.placements) {
      std::string word = "R";
      if (placement.dim >= 0 && placement.split > 1) {
        word = "_S(" + std::to_string(placement.dim) + ", " + std::to_string(placement.split) + ")";
      } else if (placement.dim >= 0) {
        word = "S(" + std::to_string(placement.dim) + ")";
        cut = placement.cut;
      }
      placements.emplace_back(word);
      sizes.emplace_back(AsArray(placement.sizes));
    }
    AddField(words, "placements", std::move(placements));
    if (cut == "balanced") AddField(words, "split", cut);
    if (cut == "sizes") AddField(words, "split", std::move(sizes));
    if (!std::is_sorted(sharding.order.begin(), sharding.order.end())) {
      JsonValue::Array order;
      for (const int axis : sharding.order) order.emplace_back("axis" + std::to_string(axis));
      AddField(words, "order", std::move(order));
    }
  }

  void AddRule(const std::string& match, const NaiveSharding& sharding) {
    JsonValue::Object words;
    AddField(words, "match", match);
    AddWords(sharding, words);
    rules_.emplace_back(std::move(words));
  }

  std::optional<NaiveArray> LocalPart(const NaiveArray& whole, const NaiveSharding& sharding,
                                      std::size_t rank) const {
    const NaiveMesh& mesh = meshes_[sharding.mesh];
    const std::optional<Longs> coordinate = mesh.CoordinateOf(static_cast<std::int32_t>(rank));
    if (!coordinate) return std::nullopt;
    return Place(whole, mesh.axes, *coordinate, sharding.placements, sharding.order);
  }

  void Hold(const std::string& name, DType dtype, const NaiveArray& whole,
            const NaiveSharding& sharding) {
    for (std::size_t rank = 0; rank < gpus_.size(); ++rank) {
      std::optional<NaiveArray> local = LocalPart(whole, sharding, rank);
      if (local) held_[rank].push_back({name, dtype, *std::move(local)});
    }
  }

  // One parameter of all tensors of a family: cut part by part and joined, or joined and then cut.
  void JoinFamily(std::int32_t family) {
    std::vector<NaiveArray> parts;
    JsonValue::Array names;
    const NaiveTensor* first = nullptr;
    for (std::size_t t = 0; t < tensors_.size(); ++t) {
      if (tensors_[t].family != family) continue;
      if (first == nullptr) first = &tensors_[t];
      parts.push_back(WholeArray(static_cast<std::int32_t>(t), tensors_[t].shape));
      names.emplace_back(tensors_[t].name);
    }
    const std::string name = "joined." + std::to_string(family);
    JsonValue::Object words;
    AddField(words, "name", name);
    AddField(words, "concat", first->concat);
    AddField(words, "parts", names);
    if (draws_.Percent(40)) {
      const NaiveArray whole = Concatenate(parts, first->concat);
      const NaiveSharding sharding = DrawSharding(whole.shape);
      AddWords(sharding, words);
      Hold(name, first->dtype, whole, sharding);
    } else {
      // One sharding for all parts, so that the local pieces fit; given sizes fit no two parts.
      NaiveSharding sharding = DrawSharding(first->shape);
      for (NaivePlacement& placement : sharding.placements) {
        if (placement.cut == "sizes") placement = {placement.dim, 1, "chunk", {}};
      }
      for (const JsonValue& part : names) AddRule(*part.AsString(), sharding);
      for (std::size_t rank = 0; rank < gpus_.size(); ++rank) {
        std::vector<NaiveArray> local;
        for (const NaiveArray& part : parts) {
          std::optional<NaiveArray> piece = LocalPart(part, sharding, rank);
          if (piece) local.push_back(*std::move(piece));
        }
        if (!local.empty()) {
          held_[rank].push_back({name, first->dtype, Concatenate(local, first->concat)});
        }
      }
    }
    parameters_.emplace_back(std::move(words));
  }

  // Slices of dim 0, dealt to some ranks, each in a padded and perhaps transposed buffer. The whole
  // tensor goes to one rank where there is no dim 0.
  void MakeRegions(std::size_t t) {
    const NaiveTensor& tensor = tensors_[t];
    const auto ranks = static_cast<std::int64_t>(gpus_.size());
    const std::int64_t count = tensor.shape.empty() ? 1 : draws_.Between(1, ranks);
    for (std::int64_t rank = 0; rank < count; ++rank) {
      Longs begin(tensor.shape.size(), 0);
      Longs end = tensor.shape;
      if (!begin.empty()) {
        begin[0] = tensor.shape[0] * rank / count;
        end[0] = tensor.shape[0] * (rank + 1) / count;
      }
      if (begin == end && !begin.empty()) continue;
      AddRegion(t, rank, begin, end, "piece.");
      // The same bytes or some of them, perhaps some more, at further places.
      for (const std::string place : {"again.", "third."}) {
        if (!draws_.Percent(20)) break;
        Longs first = begin;
        Longs last = end;
        if (!begin.empty() && draws_.Percent(50)) {
          first[0] = draws_.Between(0, tensor.shape[0] - 1);
          last[0] = draws_.Between(first[0] + 1, tensor.shape[0]);
        }
        AddRegion(t, rank, first, last, place);
      }
    }
    if (draws_.Percent(20)) AddZeroParameter(t, draws_.Below(ranks));
  }

  // A parameter that holds nothing but zeros, perhaps with padding behind.
  void AddZeroParameter(std::size_t t, std::int64_t rank) {
    const std::int64_t zeros = draws_.Between(1, 9);
    const std::int64_t size = zeros + draws_.Between(0, 3);
    const std::string name = "zeros." + tensors_[t].name;
    regions_.emplace_back(JsonValue::Object{{"rank", rank},
                                            {"zeros", JsonValue::Array{zeros}},
                                            {"dtype", Name(tensors_[t].dtype)},
                                            {"parameter", name},
                                            {"shape", JsonValue::Array{size}},
                                            {"at", JsonValue::Array{0}}});
    NaiveArray content = {{size}, {}};
    content.elements.resize(static_cast<std::size_t>(size));
    for (std::int64_t i = 0; i < zeros; ++i) {
      content.elements[static_cast<std::size_t>(i)].tensor = kNaiveZero;
    }
    held_[static_cast<std::size_t>(rank)].push_back({name, tensors_[t].dtype, std::move(content)});
  }

  void AddRegion(std::size_t t, std::int64_t rank, const Longs& begin, const Longs& end,
                 const std::string& prefix) {
    const NaiveTensor& tensor = tensors_[t];
    const std::size_t dims = begin.size();
    const bool transposes = dims > 1 && draws_.Percent(40);
    // Of the parameter: dim d of the tensor lies along dim Along(d).
    const auto along = [&](std::size_t d) { return transposes ? dims - 1 - d : d; };
    Longs at(dims);
    Longs shape(dims);
    for (std::size_t d = 0; d < dims; ++d) {
      at[along(d)] = draws_.Between(0, 2);
      shape[along(d)] = at[along(d)] + (end[d] - begin[d]) + draws_.Between(0, 2);
    }
    Longs parameter_strides(dims, 1);
    for (std::size_t d = dims; d-- > 1;) {
      parameter_strides[d - 1] = parameter_strides[d] * shape[d];
    }
    NaiveArray content = {shape, {}};
    content.elements.resize(static_cast<std::size_t>(
        std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>())));
    Longs index = begin;
    bool is_empty = false;
    for (std::size_t d = 0; d < dims; ++d) is_empty = is_empty || begin[d] == end[d];
    for (bool more = !is_empty; more;) {
      std::int64_t element = 0;
      std::int64_t position = 0;
      for (std::size_t d = 0; d < dims; ++d) {
        element = element * tensor.shape[d] + index[d];
        position += (at[along(d)] + index[d] - begin[d]) * parameter_strides[along(d)];
      }
      content.elements[static_cast<std::size_t>(position)] = {static_cast<std::int32_t>(t),
                                                              element};
      more = false;
      for (std::size_t d = dims; d-- > 0 && !more;) {
        more = ++index[d] < end[d];
        if (!more) index[d] = begin[d];
      }
    }
    if (is_empty) return;
    JsonValue::Array box;
    JsonValue::Array strides;
    for (std::size_t d = 0; d < dims; ++d) {
      box.emplace_back(JsonValue::Array{begin[d], end[d]});
      strides.emplace_back(parameter_strides[along(d)]);
    }
    const std::string name = prefix + tensor.name;
    JsonValue::Object words = {{"rank", rank},      {"tensor", tensor.name},   {"box", box},
                               {"parameter", name}, {"shape", AsArray(shape)}, {"at", AsArray(at)}};
    if (transposes || draws_.Percent(30)) AddField(words, "strides", strides);
    regions_.emplace_back(std::move(words));
    // The rows behind what lies there, as zeros.
    const std::int64_t used = dims == 0 ? 0 : at[0] + (end[along(0)] - begin[along(0)]);
    if (dims > 0 && used < shape[0] && draws_.Percent(40)) {
      Longs zeros = shape;
      Longs zeros_at(dims, 0);
      zeros[0] = shape[0] - used;
      zeros_at[0] = used;
      regions_.emplace_back(JsonValue::Object{{"rank", rank},
                                              {"zeros", AsArray(zeros)},
                                              {"parameter", name},
                                              {"shape", AsArray(shape)},
                                              {"at", AsArray(zeros_at)}});
      const std::int64_t first = used * parameter_strides[0];
      for (std::size_t i = static_cast<std::size_t>(first); i < content.elements.size(); ++i) {
        content.elements[i].tensor = kNaiveZero;
      }
    }
    held_[static_cast<std::size_t>(rank)].push_back({name, tensor.dtype, std::move(content)});
  }

  RandomDraws& draws_;
  const std::vector<NaiveTensor>& tensors_;
  std::vector<std::int32_t> gpus_;
  std::vector<std::vector<NaiveParameter>> held_;  // by rank of the group
  std::vector<NaiveMesh> meshes_;
  JsonValue::Object mesh_words_;
  JsonValue::Array rules_;
  JsonValue::Array parameters_;
  JsonValue::Array regions_;
};

}  // namespace

RandomGroup MakeRandomGroup(RandomDraws& draws, const std::vector<NaiveTensor>& tensors,
                            const std::vector<std::int32_t>& gpus) {
  GroupMaker maker(draws, tensors, gpus);
  RandomGroup group;
  group.words = maker.Make();
  group.held = maker.TakeHeld();
  return group;
}

}  // namespace reshard
