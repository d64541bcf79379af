#include <algorithm>
#include <charconv>
#include <utility>

#include "compiler/layout/family.h"

namespace reshard {
namespace {

// A number as HF writes it: digits without a leading zero, within 63 bits.
std::optional<std::int64_t> NumberOf(std::string_view piece) {
  std::int64_t value = 0;
  const char* end = piece.data() + piece.size();
  const auto [stop, status] = std::from_chars(piece.data(), end, value);
  if (piece.empty() || status != std::errc() || stop != end || value < 0) return std::nullopt;
  if (piece.front() == '0' && piece.size() > 1) return std::nullopt;
  return value;
}

// `name` with each piece that is a number replaced by "{}"; the numbers in order.
std::string Skeleton(std::string_view name, std::vector<std::int64_t>& numbers) {
  std::string skeleton;
  skeleton.reserve(name.size() + 4);
  while (true) {
    const std::size_t dot = name.find('.');
    const std::string_view piece = name.substr(0, dot);
    if (const std::optional<std::int64_t> number = NumberOf(piece)) {
      skeleton += "{}";
      numbers.push_back(*number);
    } else {
      skeleton += piece;
    }
    if (dot == std::string_view::npos) return skeleton;
    skeleton += '.';
    name.remove_prefix(dot + 1);
  }
}

}  // namespace

void NameMatcher::AddName(const TensorPattern& pattern, std::string_view name, Entry entry) {
  std::string skeleton;
  while (true) {
    const std::size_t dot = name.find('.');
    const std::string_view piece = name.substr(0, dot);
    const std::optional<std::int64_t> number = NumberOf(piece);
    if (piece == "{layer}" || piece == "{expert}" || number) {
      skeleton += "{}";
      entry.indices.push_back(number               ? Index::kLiteral
                              : piece == "{layer}" ? Index::kLayer
                                                   : Index::kExpert);
      entry.literals.push_back(number.value_or(0));
    } else {
      skeleton += piece;
    }
    if (dot == std::string_view::npos) break;
    skeleton += '.';
    name.remove_prefix(dot + 1);
  }
  if (pattern.quantized) {
    Entry scale = entry;
    scale.scale = true;
    entries_.emplace_back(skeleton + std::string(kScaleSuffix), std::move(scale));
  }
  entries_.emplace_back(std::move(skeleton), std::move(entry));
}

NameMatcher::NameMatcher(const Family& family) {
  for (std::size_t p = 0; p < family.tensors.size(); ++p) {
    const TensorPattern& pattern = family.tensors[p];
    const auto index = static_cast<std::int32_t>(p);
    AddName(pattern, pattern.name, {.pattern = index});
    if (family.multimodal.model_types.empty()) continue;
    // A name that is the same in both forms tells neither.
    const std::string other = Replaced(pattern.name, family.multimodal.prefix);
    if (other != pattern.name) AddName(pattern, other, {.pattern = index, .multimodal = true});
  }
  std::stable_sort(entries_.begin(), entries_.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
}

std::optional<NameMatch> NameMatcher::Match(std::string_view name) const {
  std::vector<std::int64_t> numbers;
  const std::string skeleton = Skeleton(name, numbers);
  auto entry = std::lower_bound(
      entries_.begin(), entries_.end(), skeleton,
      [](const auto& candidate, const std::string& wanted) { return candidate.first < wanted; });
  for (; entry != entries_.end() && entry->first == skeleton; ++entry) {
    const Entry& candidate = entry->second;
    NameMatch match{
        .pattern = candidate.pattern, .scale = candidate.scale, .multimodal = candidate.multimodal};
    bool equal = true;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      switch (candidate.indices[i]) {
        case Index::kLayer:
          match.layer = numbers[i];
          break;
        case Index::kExpert:
          match.expert = numbers[i];
          break;
        case Index::kLiteral:
          equal = equal && candidate.literals[i] == numbers[i];
          break;
      }
    }
    if (equal) return match;
  }
  return std::nullopt;
}

}  // namespace reshard
