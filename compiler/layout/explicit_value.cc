#include "compiler/layout/explicit_value.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "compiler/layout/block_composition.h"
#include "foundation/checked_arithmetic.h"

namespace reshard {
namespace {

using Kind = ValueStep::Kind;
using Join = ExplicitValue::Join;

// A block has few dims; a number beyond is a mistake.
constexpr IntegerRange kDim = {0, 1000};

// A place inside `place`, which may be empty.
std::string Inside(const std::string& place, const std::string& name) {
  return place.empty() ? name : place + "." + name;
}

struct StepWord {
  std::string_view name;
  Kind kind;
  std::size_t numbers;  // behind the dim; 0: any
};
constexpr StepWord kStepWords[] = {
    {"slice", Kind::kSlice, 2}, {"take", Kind::kTake, 0},       {"splitDim", Kind::kSplitDim, 1},
    {"pad", Kind::kPad, 1},     {"zeroPad", Kind::kZeroPad, 1}, {"repeat", Kind::kRepeat, 1},
};

Result<ValueStep> ReadStep(const JsonCursor& cursor, const std::string& place) {
  const Result<void> known = cursor.ExpectFields(
      {"transpose", "mergeDims", "slice", "take", "splitDim", "pad", "zeroPad", "repeat"});
  if (!known) return tl::unexpected(known.error());
  const auto members = cursor.Members();
  if (!members) return tl::unexpected(members.error());
  if (members->size() != 1) return cursor.Fail("a step is one word with what it needs");
  ValueStep step;
  step.place = place;
  const auto& [name, field] = members->front();
  if (name == "mergeDims") {
    const Result<std::int64_t> dim = field.AsInteger(kDim);
    if (!dim) return tl::unexpected(dim.error());
    step.kind = Kind::kMergeDims;
    step.dim = static_cast<int>(*dim);
    return step;
  }
  Result<std::vector<std::int64_t>> numbers = field.AsIntegers(kNotNegativeInteger);
  if (!numbers) return tl::unexpected(numbers.error());
  step.numbers = std::move(*numbers);
  if (name == "transpose") return step;
  const auto* const word =
      std::find_if(std::begin(kStepWords), std::end(kStepWords),
                   [&](const StepWord& known_word) { return known_word.name == name; });
  step.kind = word->kind;
  if (step.numbers.empty() || step.numbers.front() > kDim.max ||
      (word->numbers > 0 && step.numbers.size() != word->numbers + 1)) {
    return field.Fail(word->numbers == 0
                          ? "expected a dim and then indices"
                          : "expected a dim and then " + std::to_string(word->numbers) +
                                (word->numbers == 1 ? " number" : " numbers"));
  }
  step.dim = static_cast<int>(step.numbers.front());
  step.numbers.erase(step.numbers.begin());
  return step;
}

// An object of zeros or padding.
Result<ExplicitValue> ReadFill(const JsonCursor& cursor, std::string_view name,
                               ExplicitValue::Kind kind, const std::string& place) {
  if (const Result<void> known = cursor.ExpectFields({name, "then"}); !known) {
    return tl::unexpected(known.error());
  }
  ExplicitValue value;
  value.place = place;
  value.kind = kind;
  Result<std::vector<std::int64_t>> shape = cursor.Integers(name, kNotNegativeInteger);
  if (!shape) return tl::unexpected(shape.error());
  value.shape = std::move(*shape);
  std::optional<std::int64_t> size = 1;
  for (const std::int64_t extent : value.shape) {
    size = size ? CheckedMultiply(*size, std::max<std::int64_t>(extent, 1)) : size;
  }
  if (!size) return cursor.Fail("its size does not fit 64 bits");
  if (const std::optional<JsonCursor> then = cursor.Find("then")) {
    Result<std::vector<ValueStep>> steps = ReadValueSteps(*then, Inside(place, "then"));
    if (!steps) return tl::unexpected(steps.error());
    value.steps = std::move(*steps);
  }
  return value;
}

Result<ExplicitValue> ReadValue(const JsonCursor& cursor, const std::string& place) {
  if (const std::string* text = cursor.value().AsString()) {
    Result<NamePattern> pattern = NamePattern::Parse(*text);
    if (!pattern) return cursor.Fail(pattern.error().reason, pattern.error().remedy);
    if (pattern->HasStar()) return cursor.Fail("a part takes {piece} but no *");
    ExplicitValue value;
    value.place = place;
    value.kind = ExplicitValue::Kind::kTensors;
    value.pattern.push_back(std::move(*pattern));
    return value;
  }
  if (cursor.Has("zeros")) return ReadFill(cursor, "zeros", ExplicitValue::Kind::kZeros, place);
  if (cursor.Has("padding"))
    return ReadFill(cursor, "padding", ExplicitValue::Kind::kPadding, place);
  if (const Result<void> known = cursor.ExpectFields(kValueFields); !known) {
    return tl::unexpected(known.error());
  }
  return ReadPartsValue(cursor, place);
}

Result<void> ReadJoin(const JsonCursor& cursor, ExplicitValue& value) {
  constexpr std::pair<std::string_view, Join> kJoins[] = {
      {"concat", Join::kConcat}, {"stack", Join::kStack}, {"interleave", Join::kInterleave}};
  for (const auto& [name, join] : kJoins) {
    if (!cursor.Has(name)) continue;
    if (value.join != Join::kNone) {
      return cursor.Fail("parts are put together in one way",
                         "give one of concat, stack, interleave");
    }
    const Result<std::int64_t> dim = cursor.Integer(name, kDim);
    if (!dim) return tl::unexpected(dim.error());
    value.join = join;
    value.dim = static_cast<int>(*dim);
  }
  if (cursor.Has("groups") != (value.join == Join::kInterleave)) {
    return cursor.Fail("interleave and groups belong together");
  }
  if (value.join != Join::kInterleave) return {};
  const Result<std::int64_t> groups = cursor.Integer("groups", kPositiveInteger);
  if (!groups) return tl::unexpected(groups.error());
  value.groups = *groups;
  return {};
}

std::string DimsText(std::size_t dims) {
  return std::to_string(dims) + (dims == 1 ? " dim" : " dims");
}

// Whether `parts` can be put together as `value` says; the reason why not.
std::string JoinFault(const ExplicitValue& value, const std::vector<Block>& parts) {
  const auto dim = static_cast<std::size_t>(value.dim);
  const std::size_t dims = parts.front().shape().size();
  const bool stacks = value.join == Join::kStack;
  if (dim >= dims + (stacks ? 1 : 0)) {
    constexpr std::string_view kNames[] = {"", "concat", "stack", "interleave"};
    return std::string(kNames[static_cast<std::size_t>(value.join)]) + " is dim " +
           std::to_string(dim) + " of " + DimsText(dims);
  }
  for (const Block& part : parts) {
    std::vector<std::int64_t> shape = part.shape();
    if (!stacks && shape.size() == dims) shape[dim] = parts.front().shape()[dim];
    if (shape == parts.front().shape()) continue;
    return stacks ? "its parts differ in shape"
                  : "its parts differ in shape beside the dim they are joined along";
  }
  return "";
}

Result<Block> JoinParts(const ExplicitValue& value, const std::vector<Block>& parts) {
  if (parts.empty()) return InputError(value.place, "it has no part");
  if (value.join == Join::kNone) {
    if (parts.size() == 1) return parts.front();
    return InputError(value.place, std::to_string(parts.size()) + " parts and no concat",
                      "give the dim to join along: \"concat\": 0");
  }
  std::string fault = JoinFault(value, parts);
  if (!fault.empty()) return InputError(value.place, std::move(fault));
  std::optional<std::int64_t> joined = 0;
  for (const Block& part : parts) {
    if (value.join == Join::kStack) break;
    joined = CheckedAdd(*joined, part.shape()[static_cast<std::size_t>(value.dim)]);
    if (!joined) return InputError(value.place, "its size does not fit 64 bits");
  }
  if (value.join == Join::kStack) return StackAt(value.dim, parts);
  if (value.join == Join::kConcat) return Block::Concat(value.dim, parts);
  return Interleave(value.dim, value.groups, parts);
}

bool IsOrderOf(const std::vector<std::int64_t>& numbers, std::size_t dims) {
  std::vector<std::int64_t> sorted = numbers;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t k = 0; k < sorted.size(); ++k) {
    if (sorted[k] != static_cast<std::int64_t>(k)) return false;
  }
  return numbers.size() == dims;
}

// Why a step does not fit a block of `shape`; nothing if it does.
std::string StepFault(const ValueStep& step, const std::vector<std::int64_t>& shape) {
  const auto dim = static_cast<std::size_t>(step.dim);
  if (step.kind == Kind::kTranspose) {
    if (IsOrderOf(step.numbers, shape.size())) return "";
    return "transpose is no order of " + DimsText(shape.size());
  }
  if (dim + (step.kind == Kind::kMergeDims ? 1 : 0) >= shape.size()) {
    return "dim " + std::to_string(dim) + " of " + DimsText(shape.size());
  }
  const std::int64_t size = shape[dim];
  const std::string has = ", dim " + std::to_string(dim) + " has " + std::to_string(size);
  switch (step.kind) {
    case Kind::kSlice:
      if (step.numbers[0] <= step.numbers[1] && step.numbers[1] <= size) return "";
      return "slice of [" + std::to_string(step.numbers[0]) + ", " +
             std::to_string(step.numbers[1]) + ")" + has;
    case Kind::kTake:
      for (const std::int64_t index : step.numbers) {
        if (index >= size) return "take of index " + std::to_string(index) + has;
      }
      return "";
    case Kind::kPad:
    case Kind::kZeroPad:
      if (step.numbers[0] >= size) return "";
      return "padded to " + std::to_string(step.numbers[0]) + has;
    case Kind::kRepeat:
      return step.numbers[0] >= 1 ? "" : "repeated 0 times";
    default:
      return "";
  }
}

Result<Block> ApplyStep(const ValueStep& step, const Block& block) {
  switch (step.kind) {
    case Kind::kTranspose: {
      const std::vector<int> order(step.numbers.begin(), step.numbers.end());
      return block.Transpose(order);
    }
    case Kind::kSlice:
      return block.Slice(step.dim, step.numbers[0], step.numbers[1]);
    case Kind::kTake:
      return Take(block, step.dim, step.numbers);
    case Kind::kSplitDim:
      return block.SplitDim(step.dim, step.numbers[0]);
    case Kind::kMergeDims:
      return block.MergeDims(step.dim);
    case Kind::kPad:
      return block.PadTo(step.dim, step.numbers[0]);
    case Kind::kZeroPad:
      return ZeroPadTo(block, step.dim, step.numbers[0]);
    case Kind::kRepeat:
      return Repeat(block, step.dim, step.numbers[0]);
  }
  return block;
}

// Walks a value depth first and takes the blocks of its patterns as they come.
class Maker {
 public:
  explicit Maker(const std::vector<std::vector<Block>>& leaves) : leaves_(leaves) {}

  // What the value stands for: one block, of a pattern as many as it matches.
  Result<std::vector<Block>> Make(const ExplicitValue& value) {
    if (value.kind == ExplicitValue::Kind::kTensors) return leaves_[next_++];
    Result<Block> block = Block();
    if (value.kind == ExplicitValue::Kind::kZeros) block = Block::Zeros(value.shape);
    if (value.kind == ExplicitValue::Kind::kPadding) block = Block::Padding(value.shape);
    if (value.kind == ExplicitValue::Kind::kParts) {
      std::vector<Block> parts;
      std::int64_t pieces = 0;
      for (const ExplicitValue& part : value.parts) {
        Result<std::vector<Block>> made = Make(part);
        if (!made) return made;
        for (const Block& block : *made) pieces += block.piece_count();
        if (pieces > Block::kMostPieces) {
          return InputError(value.place, "its parts have too many pieces");
        }
        std::move(made->begin(), made->end(), std::back_inserter(parts));
      }
      block = JoinParts(value, parts);
      if (!block && block.error().place.empty()) block.error().place = value.place;
    }
    if (block) block = ApplySteps(value.steps, std::move(*block));
    if (!block) return tl::unexpected(block.error());
    return std::vector<Block>{std::move(*block)};
  }

 private:
  const std::vector<std::vector<Block>>& leaves_;
  std::size_t next_ = 0;
};

}  // namespace

Result<std::vector<ValueStep>> ReadValueSteps(const JsonCursor& cursor, const std::string& place) {
  const auto elements = cursor.Elements();
  if (!elements) return tl::unexpected(elements.error());
  std::vector<ValueStep> steps;
  for (const JsonCursor& element : *elements) {
    Result<ValueStep> step = ReadStep(element, Inside(place, std::to_string(steps.size())));
    if (!step) return tl::unexpected(step.error());
    steps.push_back(std::move(*step));
  }
  return steps;
}

Result<ExplicitValue> ReadPartsValue(const JsonCursor& cursor, const std::string& place) {
  ExplicitValue value;
  value.place = place;
  const auto parts = cursor.Elements("parts");
  if (!parts) return tl::unexpected(parts.error());
  for (const JsonCursor& element : *parts) {
    Result<ExplicitValue> part =
        ReadValue(element, Inside(place, "parts." + std::to_string(value.parts.size())));
    if (!part) return part;
    value.parts.push_back(std::move(*part));
  }
  if (value.parts.empty()) return cursor.Fail("a parameter without parts");
  if (const Result<void> join = ReadJoin(cursor, value); !join) {
    return tl::unexpected(join.error());
  }
  if (const std::optional<JsonCursor> then = cursor.Find("then")) {
    Result<std::vector<ValueStep>> steps = ReadValueSteps(*then, Inside(place, "then"));
    if (!steps) return tl::unexpected(steps.error());
    value.steps = std::move(*steps);
  }
  return value;
}

std::vector<const NamePattern*> PatternsOf(const ExplicitValue& value) {
  std::vector<const NamePattern*> patterns;
  if (value.kind == ExplicitValue::Kind::kTensors) patterns.push_back(&value.pattern.front());
  for (const ExplicitValue& part : value.parts) {
    const std::vector<const NamePattern*> inner = PatternsOf(part);
    patterns.insert(patterns.end(), inner.begin(), inner.end());
  }
  return patterns;
}

Result<Block> ApplySteps(const std::vector<ValueStep>& steps, Block block) {
  for (const ValueStep& step : steps) {
    std::string fault = StepFault(step, block.shape());
    if (!fault.empty()) return InputError(step.place, std::move(fault));
    Result<Block> next = ApplyStep(step, block);
    if (!next) {
      if (next.error().place.empty()) next.error().place = step.place;
      return next;
    }
    block = std::move(*next);
  }
  return block;
}

Result<Block> MakeBlock(const ExplicitValue& value, const std::vector<std::vector<Block>>& leaves) {
  Result<std::vector<Block>> made = Maker(leaves).Make(value);
  if (!made) return tl::unexpected(made.error());
  return std::move(made->front());
}

}  // namespace reshard
