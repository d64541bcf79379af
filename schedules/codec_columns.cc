#include "schedules/codec_columns.h"

#include <xxhash.h>

#include <algorithm>

namespace reshard::codec {

std::uint32_t ListWriter::Intern(std::span<const std::int64_t> list) {
  const std::uint64_t hash = XXH3_64bits(list.data(), list.size_bytes());
  const auto [first, last] = by_hash_.equal_range(hash);
  for (auto found = first; found != last; ++found) {
    const Place& place = found->second;
    if (lists_->size(static_cast<int>(place.number)) != list.size()) continue;
    if (std::equal(list.begin(), list.end(), lists_->value().begin() + place.first_value)) {
      return place.number;
    }
  }
  const auto number = static_cast<std::uint32_t>(lists_->size_size());
  by_hash_.emplace(hash, Place{number, lists_->value_size()});
  lists_->add_size(static_cast<std::uint32_t>(list.size()));
  lists_->mutable_value()->Add(list.begin(), list.end());
  return number;
}

bool ListReader::IsWhole(const format::Lists& lists) {
  std::int64_t values = 0;
  for (const std::uint32_t size : lists.size()) values += size;
  return values == lists.value_size();
}

ListReader::ListReader(const format::Lists& lists) : lists_(lists) {
  starts_.reserve(static_cast<std::size_t>(lists.size_size()) + 1);
  starts_.push_back(0);
  for (const std::uint32_t size : lists.size()) starts_.push_back(starts_.back() + size);
}

void NameWriter::Add(std::string_view name) {
  const auto [end, unused] = std::mismatch(name.begin(), name.end(), last_.begin(), last_.end());
  const auto shared = static_cast<std::size_t>(end - name.begin());
  names_->add_shared(static_cast<std::uint32_t>(shared));
  names_->add_added(static_cast<std::uint32_t>(name.size() - shared));
  names_->mutable_text()->append(name.substr(shared));
  last_ = name;
}

Result<std::vector<std::string>> ReadNames(const format::Names& names,
                                           const SectionContext& context) {
  const auto count = static_cast<std::size_t>(names.shared_size());
  if (!AllOfSize(names.shared_size(), names.added())) {
    return context.Malformed("columns of names differ in length");
  }
  std::vector<std::string> result;
  result.reserve(count);
  std::string_view text = names.text();
  std::string_view last;
  for (int i = 0; i < names.shared_size(); ++i) {
    const std::size_t shared = names.shared(i);
    const std::size_t added = names.added(i);
    if (shared > last.size() || added > text.size()) {
      return context.Malformed("a name reaches beyond its text");
    }
    if (!context.budget->Charge(static_cast<std::int64_t>(sizeof(std::string) + shared + added))) {
      return context.TooLarge();
    }
    std::string name;
    name.reserve(shared + added);
    name.append(last.substr(0, shared)).append(text.substr(0, added));
    text.remove_prefix(added);
    result.push_back(std::move(name));
    last = result.back();
  }
  if (!text.empty()) return context.Malformed("text that belongs to no name");
  return result;
}

}  // namespace reshard::codec
