// What a parameter of an explicit layout is made of: expressions over tensors, as read.
//
// A value is a name pattern (the tensors it matches, in order), a list of parts put together, zeros
// or padding; and then steps, each on what the one before left.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/layout/block.h"
#include "compiler/layout/name_pattern.h"
#include "foundation/error.h"
#include "foundation/json_cursor.h"

namespace reshard {

// Places of errors are relative to the parameter: "parts.1.then.0".
struct ValueStep {
  enum class Kind {
    kTranspose,  // numbers: the order of dims
    kSlice,      // dim, [start, stop)
    kTake,       // dim, indices
    kSplitDim,   // dim, size of the inner one
    kMergeDims,  // dim, with the one behind it
    kPad,        // dim, size
    kZeroPad,    // dim, size
    kRepeat,     // dim, times
  };
  std::string place;
  Kind kind = Kind::kTranspose;
  int dim = 0;
  std::vector<std::int64_t> numbers;
};

struct ExplicitValue {
  enum class Kind { kTensors, kParts, kZeros, kPadding };
  enum class Join { kNone, kConcat, kStack, kInterleave };

  std::string place;
  Kind kind = Kind::kParts;
  std::vector<NamePattern> pattern;  // of kTensors: one
  std::vector<ExplicitValue> parts;  // of kParts
  Join join = Join::kNone;
  int dim = 0;                      // that `join` joins along, or makes
  std::int64_t groups = 1;          // of kInterleave
  std::vector<std::int64_t> shape;  // of kZeros and kPadding
  std::vector<ValueStep> steps;
};

// The fields of an object with parts: parts, concat or stack or interleave with groups, then.
inline constexpr std::array<std::string_view, 6> kValueFields = {"parts",      "concat", "stack",
                                                                 "interleave", "groups", "then"};

// Reads those fields of `cursor`, which stands at `place`; others are the caller's.
Result<ExplicitValue> ReadPartsValue(const JsonCursor& cursor, const std::string& place);
// Reads a list of steps.
Result<std::vector<ValueStep>> ReadValueSteps(const JsonCursor& cursor, const std::string& place);

// The patterns of a value, depth first, in the order they stand in.
std::vector<const NamePattern*> PatternsOf(const ExplicitValue& value);

// `steps` applied to `block`. Errors have the place of a step: it does not fit the block's shape.
Result<Block> ApplySteps(const std::vector<ValueStep>& steps, Block block);

// The value as a block. `leaves` are the blocks that each of PatternsOf() stands for, in order.
// Errors have a place inside the value: parts that do not fit each other, a step that does not fit.
Result<Block> MakeBlock(const ExplicitValue& value, const std::vector<std::vector<Block>>& leaves);

}  // namespace reshard
