#include "compiler/layout/family_catalog.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "foundation/json_cursor.h"
#include "foundation/nearest_name.h"
#include "foundation/strict_json.h"

namespace reshard {
namespace {

Result<std::vector<Family>> ReadBuiltinFamilies() {
  std::vector<Family> families;
  for (const auto& [name, text] : BuiltinFamilyFiles()) {
    const Result<JsonDocument> document = ParseJson(text, std::string(name));
    if (!document) return tl::unexpected(document.error());
    Result<Family> family = ReadFamily(JsonCursor(*document));
    if (!family) return tl::unexpected(family.error());
    families.push_back(*std::move(family));
  }
  return families;
}

// What a family makes of a tensor list.
struct Recognition {
  std::int64_t known = 0;  // tensors before the first unknown one
  std::int64_t first_unknown = -1;
  std::int64_t unused = 0;             // patterns that no tensor has
  std::optional<std::size_t> lacking;  // first of Family::required that is not there
};

Recognition Recognise(const Family& family, std::span<const Tensor> tensors) {
  Recognition recognition;
  const NameMatcher matcher(family);
  std::vector<bool> used(family.tensors.size(), false);
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    const std::optional<NameMatch> match = matcher.Match(tensors[t].name);
    if (!match) {
      recognition.first_unknown = static_cast<std::int64_t>(t);
      return recognition;
    }
    ++recognition.known;
    used[static_cast<std::size_t>(match->pattern)] = true;
  }
  std::array<std::array<bool, kKindCount>, kRoleCount> held{};
  for (std::size_t p = 0; p < used.size(); ++p) {
    const TensorPattern& pattern = family.tensors[p];
    if (used[p]) {
      held[static_cast<std::size_t>(pattern.role)][static_cast<std::size_t>(pattern.kind)] = true;
    }
    if (!used[p]) ++recognition.unused;
  }
  for (std::size_t r = 0; r < family.required.size() && !recognition.lacking; ++r) {
    const std::vector<RequiredTensor>& any = family.required[r];
    if (std::none_of(any.begin(), any.end(), [&](const RequiredTensor& tensor) {
          return held[static_cast<std::size_t>(tensor.role)][static_cast<std::size_t>(tensor.kind)];
        })) {
      recognition.lacking = r;
    }
  }
  return recognition;
}

std::string Names(std::span<const Family* const> families) {
  std::string names;
  for (const Family* family : families) names += (names.empty() ? "" : ", ") + family->name;
  return names;
}

}  // namespace

Result<std::span<const Family>> BuiltinFamilies() {
  static const Result<std::vector<Family>> kFamilies = ReadBuiltinFamilies();
  if (!kFamilies) {
    return InternalError("built-in family " + kFamilies.error().place, kFamilies.error().reason);
  }
  return std::span<const Family>(*kFamilies);
}

Result<const Family*> FamilyByName(std::string_view name) {
  const Result<std::span<const Family>> families = BuiltinFamilies();
  if (!families) return tl::unexpected(families.error());
  std::vector<std::string_view> names;
  for (const Family& family : *families) {
    if (family.name == name) return &family;
    names.emplace_back(family.name);
  }
  return InputError("", "unknown family '" + std::string(name) + "'", SuggestName(name, names));
}

Result<const Family*> FamilyByModelType(std::string_view model_type) {
  const Result<std::span<const Family>> families = BuiltinFamilies();
  if (!families) return tl::unexpected(families.error());
  std::vector<std::string_view> types;
  for (const Family& family : *families) {
    for (const auto* list : {&family.model_types, &family.multimodal.model_types}) {
      for (const std::string& type : *list) {
        if (type == model_type) return &family;
        types.emplace_back(type);
      }
    }
  }
  return InputError("", "unknown model_type '" + std::string(model_type) + "'",
                    SuggestName(model_type, types));
}

namespace {

// The built-in families live as long as the program: nobody owns them.
std::shared_ptr<const Family> Unowned(const Family* family) {
  return {std::shared_ptr<const Family>(), family};
}

Result<const Family*> RecogniseFamily(const Model& model) {
  const Result<std::span<const Family>> families = BuiltinFamilies();
  if (!families) return tl::unexpected(families.error());
  std::vector<const Family*> best;
  std::int64_t fewest_unused = 0;
  const Family* nearest = nullptr;  // for the error: the one that knows most
  Recognition nearest_recognition;
  for (const Family& family : *families) {
    const Recognition recognition = Recognise(family, model.tensors);
    if (nearest == nullptr || recognition.known > nearest_recognition.known) {
      nearest = &family;
      nearest_recognition = recognition;
    }
    if (recognition.first_unknown >= 0 || recognition.lacking) continue;
    if (best.empty() || recognition.unused < fewest_unused) {
      best.clear();
      fewest_unused = recognition.unused;
    }
    if (recognition.unused == fewest_unused) best.push_back(&family);
  }
  if (best.size() == 1) return best.front();
  if (best.size() > 1) {
    return InputError("model", "its tensors fit several families: " + Names(best),
                      "name one as \"family\"");
  }
  if (nearest == nullptr || nearest_recognition.first_unknown < 0) {
    return InputError("model", "its tensors are of no known family", "name one as \"family\"");
  }
  const std::string& unknown =
      model.tensors[static_cast<std::size_t>(nearest_recognition.first_unknown)].name;
  return InputError("model",
                    "its tensors are of no known family; the nearest, " + nearest->name +
                        ", has no tensor " + unknown,
                    "name another as \"family\", or leave the tensor out");
}

}  // namespace

Result<std::shared_ptr<const Family>> FamilyOf(const Model& model) {
  if (!model.own_family.root.IsNull()) {
    Result<Family> own = ReadFamily(JsonCursor(model.own_family));
    if (!own) return tl::unexpected(own.error());
    return std::make_shared<const Family>(*std::move(own));
  }
  const Result<const Family*> family =
      model.family.empty() ? RecogniseFamily(model) : FamilyByName(model.family);
  if (!family) return tl::unexpected(family.error());
  return Unowned(*family);
}

}  // namespace reshard
