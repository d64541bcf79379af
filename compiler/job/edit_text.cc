#include "compiler/job/edit_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <utility>

#include "compiler/layout/index_list.h"
#include "foundation/nearest_name.h"
#include "topology/cluster_builder.h"

namespace reshard {
namespace {

constexpr std::array<std::string_view, 4> kParts = {"nic", "gpu", "domain", "rail"};
constexpr std::array<std::string_view, 2> kProperties = {"nvlink", "nic"};

std::string_view Trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// Takes the first word, up to a blank, off `text`.
std::string_view TakeWord(std::string_view& text) {
  const std::string_view word = text.substr(0, text.find_first_of(" \t"));
  text = Trimmed(text.substr(word.size()));
  return word;
}

// Splits "nic 17*0.5" or "gpu 9 dead" into its subject and what happens to it.
Result<std::string_view> TakeAction(std::string_view text, JobEdit& edit) {
  const std::size_t sign = text.find_first_of("=*");
  if (sign != std::string_view::npos) {
    edit.action = text[sign] == '=' ? EditAction::kSet : EditAction::kScale;
    edit.value = Trimmed(text.substr(sign + 1));
    if (edit.value.empty()) {
      return RefuseEdit(edit, std::string("nothing follows ") + text[sign], "give a value");
    }
    return Trimmed(text.substr(0, sign));
  }
  constexpr std::string_view kDead = " dead";
  if (!text.ends_with(kDead)) {
    return RefuseEdit(edit, "changes nothing", "write =VALUE, *FACTOR or, of a part, dead");
  }
  edit.action = EditAction::kKill;
  return Trimmed(text.substr(0, text.size() - kDead.size()));
}

Result<void> ReadPart(std::string_view word, std::string_view rest, JobEdit& edit) {
  std::size_t part = 0;
  while (part < kParts.size() && kParts[part] != word) ++part;
  if (part == kParts.size()) {
    return RefuseEdit(edit, "there is no part '" + std::string(word) + "'",
                      SuggestName(word, kParts));
  }
  edit.part = static_cast<EditPart>(part);
  const std::string_view numbers = TakeWord(rest);
  Result<std::vector<std::int32_t>> listed = ParseIndexList(numbers, kMaxNics);
  if (!listed) return RefuseEdit(edit, listed.error().reason, listed.error().remedy);
  edit.numbers = std::move(*listed);
  edit.name = rest;
  const bool takes_property = edit.part == EditPart::kGpu || edit.part == EditPart::kDomain;
  if (edit.action == EditAction::kKill || !takes_property) {
    if (edit.name.empty()) return {};
    return RefuseEdit(edit, "'" + edit.name + "' has no place there",
                      "write " + std::string(word) + " " + std::string(numbers) +
                          (edit.action == EditAction::kKill ? " dead" : "=VALUE"));
  }
  if (edit.name.empty()) {
    return RefuseEdit(edit, "does not say what of the " + std::string(word),
                      "write " + std::string(word) + " " + std::string(numbers) + " nvlink or nic");
  }
  if (edit.name != kProperties[0] && edit.name != kProperties[1]) {
    return RefuseEdit(edit, "a " + std::string(word) + " has no '" + edit.name + "'",
                      SuggestName(edit.name, kProperties));
  }
  return {};
}

Result<JobEdit> ParseJobEdit(std::string_view text) {
  JobEdit edit;
  edit.text = text;
  const Result<std::string_view> subject = TakeAction(text, edit);
  if (!subject) return tl::unexpected(subject.error());
  std::string_view rest = *subject;
  const std::string_view word = TakeWord(rest);
  if (word.empty()) return RefuseEdit(edit, "does not say what changes", "name a part or a key");
  if (rest.empty() && edit.action != EditAction::kKill) {
    edit.name = word;
    return edit;
  }
  if (Result<void> part = ReadPart(word, rest, edit); !part) return tl::unexpected(part.error());
  return edit;
}

}  // namespace

tl::unexpected<Error> RefuseEdit(const JobEdit& edit, std::string reason, std::string remedy) {
  return tl::unexpected<Error>(
      Error{Fault::kUsage, "edit '" + edit.text + "'", std::move(reason), std::move(remedy)});
}

Result<double> NumberOf(const JobEdit& edit) {
  double number = 0;
  const char* const end = edit.value.data() + edit.value.size();
  const auto [stop, fault] = std::from_chars(edit.value.data(), end, number);
  if (fault != std::errc() || stop != end || !std::isfinite(number) || number < 0) {
    return RefuseEdit(edit, "'" + edit.value + "' is no number of at least 0");
  }
  return number;
}

Result<std::vector<JobEdit>> ParseJobEdits(std::string_view text) {
  std::vector<JobEdit> edits;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view piece = rest.substr(0, rest.find(';'));
    rest.remove_prefix(std::min(rest.size(), piece.size() + 1));
    if (Trimmed(piece).empty()) continue;
    Result<JobEdit> edit = ParseJobEdit(Trimmed(piece));
    if (!edit) return tl::unexpected(edit.error());
    edits.push_back(std::move(*edit));
  }
  if (edits.empty()) {
    return tl::unexpected<Error>(Error{Fault::kUsage, "", "a scenario without an edit",
                                       "for example 'nic 17=0; gpu 9 dead'"});
  }
  return edits;
}

}  // namespace reshard
