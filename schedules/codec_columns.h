// How tables become columns of numbers and back; shared by the codec's files, seen by nobody else.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "foundation/error.h"
#include "schedules/plan.pb.h"

namespace reshard::codec {

using SignedColumn = google::protobuf::RepeatedField<std::int64_t>;

// What decoding may still allocate. Columns of varints expand by a bounded factor, but a row that
// refers to a list or to the name before it may say much in few bytes: such rows are charged, so
// that a small file cannot ask for much memory.
class DecodeBudget {
 public:
  explicit DecodeBudget(std::uint64_t file_bytes)
      : left_(kBase + kFactor * static_cast<std::int64_t>(file_bytes)) {}
  bool Charge(std::int64_t bytes) {
    left_ -= bytes;
    return left_ >= 0;
  }

 private:
  // A row of 8 dims costs 4 coded bytes at least and about 250 in memory.
  static constexpr std::int64_t kBase = std::int64_t{64} << 20;
  static constexpr std::int64_t kFactor = 256;
  std::int64_t left_;
};

// One section while it is read: its bytes' name in errors, and the budget of its file.
struct SectionContext {
  std::string place;    // of the file
  std::string section;  // "regions of layout 3"
  DecodeBudget* budget = nullptr;

  tl::unexpected<Error> Malformed(std::string_view what) const {
    return InputError(place, "the section \"" + section + "\" is malformed: " + std::string(what),
                      "write the plan again with reshard-compile");
  }
  tl::unexpected<Error> TooLarge() const {
    return Malformed("it asks for more memory than a file of its size may");
  }
};

// Sums and differences that come back to any number, whatever a file says.
inline std::int64_t WrappingAdd(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
inline std::int64_t WrappingSubtract(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

// Writes differences between neighbours.
class DeltaWriter {
 public:
  explicit DeltaWriter(SignedColumn* column) : column_(column) {}
  void Add(std::int64_t value) {
    column_->Add(WrappingSubtract(value, last_));
    last_ = value;
  }
  // The next difference is taken to `value`.
  void Expect(std::int64_t value) { last_ = value; }

 private:
  SignedColumn* column_;
  std::int64_t last_ = 0;
};

class DeltaReader {
 public:
  explicit DeltaReader(const SignedColumn& column) : column_(column) {}
  // Precondition: rows are left. A value that `Number` cannot hold is remembered in ok().
  template <std::integral Number = std::int64_t>
  Number Next() {
    last_ = WrappingAdd(column_.Get(row_++), last_);
    ok_ = ok_ && std::in_range<Number>(last_);
    return static_cast<Number>(last_);
  }
  void Expect(std::int64_t value) { last_ = value; }
  bool ok() const { return ok_; }

 private:
  const SignedColumn& column_;
  int row_ = 0;
  std::int64_t last_ = 0;
  bool ok_ = true;
};

// Whether all columns have `rows` rows.
template <typename... Columns>
bool AllOfSize(std::int64_t rows, const Columns&... columns) {
  return ((static_cast<std::int64_t>(columns.size()) == rows) && ...);
}

// Lists of numbers, each distinct one stored once, numbered by first use.
class ListWriter {
 public:
  explicit ListWriter(format::Lists* lists) : lists_(lists) {}
  std::uint32_t Intern(std::span<const std::int64_t> list);

 private:
  struct Place {
    std::uint32_t number;
    int first_value;
  };
  format::Lists* lists_;
  std::unordered_multimap<std::uint64_t, Place> by_hash_;  // looked up only, never iterated
};

class ListReader {
 public:
  // Precondition: IsWhole(). The message must outlive the reader.
  explicit ListReader(const format::Lists& lists);
  static bool IsWhole(const format::Lists& lists);
  std::int64_t size() const { return static_cast<std::int64_t>(starts_.size()) - 1; }
  std::span<const std::int64_t> operator[](std::int64_t number) const {
    const auto first = static_cast<std::size_t>(starts_[static_cast<std::size_t>(number)]);
    const auto last = static_cast<std::size_t>(starts_[static_cast<std::size_t>(number) + 1]);
    return std::span(lists_.value().data(), static_cast<std::size_t>(lists_.value_size()))
        .subspan(first, last - first);
  }

 private:
  const format::Lists& lists_;
  std::vector<std::int64_t> starts_;
};

// Names, each sharing the beginning of the one before.
class NameWriter {
 public:
  explicit NameWriter(format::Names* names) : names_(names) {}
  void Add(std::string_view name);

 private:
  format::Names* names_;
  std::string last_;
};

Result<std::vector<std::string>> ReadNames(const format::Names& names,
                                           const SectionContext& context);

// The bytes of a message; equal messages give equal bytes.
template <typename Message>
std::string Serialize(const Message& message) {
  return message.SerializeAsString();
}

// Fails on bytes that are no such message.
template <typename Message>
Result<Message> Parse(std::string_view bytes, const SectionContext& context) {
  Message message;
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()) ||
      !message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return context.Malformed("it is not what its kind says");
  }
  return message;
}

}  // namespace reshard::codec
