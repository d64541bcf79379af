#include "compiler/layout/joined_parameters.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

namespace reshard {
namespace {

using Values = std::vector<std::string_view>;

struct ValuesLess {
  bool operator()(const Values& a, const Values& b) const {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), PieceLess);
  }
};

// The tensors of one part: by the values of the pieces it shares with the name, then by those of
// the pieces it has alone.
struct PartMatches {
  std::vector<std::size_t> shared;  // which pieces of the name, in ascending order
  std::map<Values, std::map<Values, TensorIndex, ValuesLess>, ValuesLess> tensors;
};

PartMatches MatchPart(const Model& model, const NamePattern& name, const NamePattern& part) {
  PartMatches matches;
  std::vector<std::size_t> shared_at;  // where in the part's own pieces
  std::vector<std::size_t> alone_at;
  for (std::size_t i = 0; i < name.pieces().size(); ++i) {
    const auto found = std::find(part.pieces().begin(), part.pieces().end(), name.pieces()[i]);
    if (found == part.pieces().end()) continue;
    matches.shared.push_back(i);
    shared_at.push_back(static_cast<std::size_t>(found - part.pieces().begin()));
  }
  for (std::size_t i = 0; i < part.pieces().size(); ++i) {
    if (std::find(shared_at.begin(), shared_at.end(), i) == shared_at.end()) alone_at.push_back(i);
  }
  for (std::size_t t = 0; t < model.tensors.size(); ++t) {
    const std::optional<Values> values = part.Match(model.tensors[t].name);
    if (!values) continue;
    Values shared;
    Values alone;
    for (const std::size_t i : shared_at) shared.push_back((*values)[i]);
    for (const std::size_t i : alone_at) alone.push_back((*values)[i]);
    matches.tensors[shared].emplace(alone, static_cast<TensorIndex>(t));
  }
  return matches;
}

// "i=3, e=7".
std::string Describe(const NamePattern& name, const Values& values) {
  std::string text;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) text += ", ";
    text.append(name.pieces()[i]).append("=").append(values[i]);
  }
  return text;
}

// All values of the name's pieces: those of the first part that has every one of them.
Result<std::vector<Values>> NameValues(const ExplicitParameter& entry,
                                       const std::vector<PartMatches>& parts) {
  const std::size_t piece_count = entry.name.pieces().size();
  std::map<Values, bool, ValuesLess> all;
  bool complete = false;
  for (const PartMatches& part : parts) {
    if (part.shared.size() != piece_count) continue;
    complete = true;
    for (const auto& [values, tensors] : part.tensors) all.emplace(values, true);
  }
  // Zeros and padding alone are one parameter.
  if (parts.empty() && piece_count == 0) return std::vector<Values>(1);
  if (!complete) {
    return InputError(entry.place, "no part has all pieces of the name '" + entry.name.text() + "'",
                      "name the same pieces in name and parts");
  }
  std::vector<Values> result;
  for (const auto& [values, unused] : all) result.push_back(values);
  return result;
}

// How many blocks the value is put together from.
std::size_t PartCount(const ExplicitValue& value, const JoinedParameter& parameter) {
  std::size_t count = 0;
  std::size_t leaf = 0;
  for (const ExplicitValue& part : value.parts) {
    const bool is_pattern = part.kind == ExplicitValue::Kind::kTensors;
    count += is_pattern ? parameter.leaves[leaf].size() : 1;
    leaf += PatternsOf(part).size();
  }
  return count;
}

}  // namespace

Result<std::vector<JoinedParameter>> ExpandParameters(
    const Model& model, const std::vector<ExplicitParameter>& entries) {
  std::vector<JoinedParameter> joined;
  for (std::size_t e = 0; e < entries.size(); ++e) {
    const ExplicitParameter& entry = entries[e];
    const std::vector<const NamePattern*> patterns = PatternsOf(entry.value);
    std::vector<PartMatches> parts;
    for (const NamePattern* part : patterns) {
      parts.push_back(MatchPart(model, entry.name, *part));
      if (!parts.back().tensors.empty()) continue;
      return InputError(entry.place, "part '" + part->text() + "' matches no tensor of the model",
                        "correct it or leave the parameter out");
    }
    const Result<std::vector<Values>> all = NameValues(entry, parts);
    if (!all) return tl::unexpected(all.error());
    for (const Values& values : *all) {
      JoinedParameter parameter{e, entry.name.Fill(values), {}, {}};
      for (std::size_t p = 0; p < parts.size(); ++p) {
        Values shared;
        for (const std::size_t piece : parts[p].shared) shared.push_back(values[piece]);
        const auto found = parts[p].tensors.find(shared);
        if (found == parts[p].tensors.end()) {
          return InputError(entry.place,
                            "part '" + patterns[p]->text() + "' matches no tensor for " +
                                Describe(entry.name, values) + ", where another part does");
        }
        std::vector<TensorIndex>& leaf = parameter.leaves.emplace_back();
        for (const auto& [alone, tensor] : found->second) leaf.push_back(tensor);
        parameter.parts.insert(parameter.parts.end(), leaf.begin(), leaf.end());
      }
      const std::size_t count = PartCount(entry.value, parameter);
      if (count > 1 && entry.value.join == ExplicitValue::Join::kNone) {
        return InputError(entry.place,
                          "parameter " + parameter.name + " has " + std::to_string(count) +
                              " parts and no concat",
                          "give the dim to join along: \"concat\": 0");
      }
      if (parameter.parts.empty() && (!entry.dtype || !entry.mesh)) {
        return InputError(entry.place,
                          "parameter " + parameter.name + " has no tensor, so nothing says its " +
                              (entry.dtype ? "ranks" : "dtype"),
                          entry.dtype ? "give it a mesh and placements" : "add \"dtype\"");
      }
      joined.push_back(std::move(parameter));
    }
  }
  return joined;
}

}  // namespace reshard
