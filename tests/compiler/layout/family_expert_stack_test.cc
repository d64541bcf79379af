#include "compiler/layout/family_expert_stack.h"

#include <functional>
#include <string>
#include <vector>

#include "family_test_model.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reshard {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kExperts = 2;
constexpr std::int64_t kHidden = 3;
constexpr std::int64_t kWidth = 4;
constexpr std::int64_t kExpert = 1;
constexpr Share kPart{1, 3};  // rows 1 and 2 of gate and of up

std::string Stack(const std::string& gate_up_role, const std::string& gate_up,
                  const std::string& down_role, const std::string& down) {
  return R"({"tensors": {
      "h.0.gu": {"shape": )" +
         gate_up + R"(, "dtype": "F32"},
      "h.0.gub": {"shape": [2, 8], "dtype": "F32"},
      "h.0.d": {"shape": )" +
         down + R"(, "dtype": "F32"},
      "h.0.db": {"shape": [2, 3], "dtype": "F32"}},
    "family": {"name": "mine", "layers": "1", "experts": "2", "fields": {"w": {}}, "tensors": [
      {"name": "h.{layer}.gu", "role": ")" +
         gate_up_role + R"(", "shape": ["w", "w", "w"]},
      {"name": "h.{layer}.gub", "role": ")" +
         gate_up_role + R"(", "kind": "bias",
       "shape": ["w", "w"]},
      {"name": "h.{layer}.d", "role": ")" +
         down_role + R"(", "shape": ["w", "w", "w"]},
      {"name": "h.{layer}.db", "role": ")" +
         down_role + R"(", "kind": "bias",
       "shape": ["w", "w"]}]}})";
}
const std::string kPlain = Stack("experts.gate_up", "[2, 8, 3]", "experts.down", "[2, 3, 4]");
const std::string kByInput =
    Stack("experts.gate_up_by_input", "[2, 3, 8]", "experts.down_by_input", "[2, 4, 3]");
const std::string kInterleaved =
    Stack("experts.gate_up_interleaved", "[2, 3, 8]", "experts.down_by_input", "[2, 4, 3]");

// Element (row, column) of a parameter made of a block, as the row-major element of its tensor.
using Formula = std::function<std::int64_t(std::int64_t row, std::int64_t column)>;

void ExpectBlock(const FamilyTensors& tensors, const Block& block, std::int64_t rows,
                 std::int64_t columns, const Formula& element) {
  RankLayoutBuilder builder(tensors.model());
  const Result<void> added = builder.AddParameter("p", DType::kF32, block);
  ASSERT_TRUE(added) << ToString(added.error());
  const std::vector<std::int64_t> held =
      ElementsOf(tensors.model(), *std::move(builder).Build(), "p");
  ASSERT_EQ(std::ssize(held), rows * columns);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      EXPECT_EQ(held[static_cast<std::size_t>(row * columns + column)], element(row, column))
          << row << ", " << column;
    }
  }
}

// What the blocks of kExpert are, from the shapes alone. Row r of rows 1, 2 of gate and 1, 2 of up
// is row f of half g.
struct RowOf {
  std::int64_t half;
  std::int64_t f;
};
RowOf Halves(std::int64_t row) { return {row / 2, 1 + row % 2}; }
RowOf Alternating(std::int64_t row) { return {row % 2, 1 + row / 2}; }

void ExpectStack(const std::string& json, bool interleaved, const Formula& gate_up,
                 const Formula& gate_up_bias, const Formula& down) {
  const Result<Model> model = ModelOf(json);
  ASSERT_TRUE(model) << ToString(model.error());
  const Result<FamilyTensors> tensors = FamilyTensors::Classify(*model);
  ASSERT_TRUE(tensors) << ToString(tensors.error());
  const auto stack = ExpertStackOf(*tensors, tensors->layers().at(0));
  ASSERT_TRUE(stack) << ToString(stack.error());
  ASSERT_TRUE(*stack);
  EXPECT_EQ((*stack)->width, kWidth);
  ExpectBlock(*tensors,
              ExpertGateUpBlock(*tensors, **stack, Kind::kWeight, kExpert, kPart, interleaved), 4,
              kHidden, gate_up);
  ExpectBlock(*tensors,
              ExpertGateUpBlock(*tensors, **stack, Kind::kBias, kExpert, kPart, interleaved), 4, 1,
              gate_up_bias);
  ExpectBlock(*tensors, ExpertDownBlock(*tensors, **stack, Kind::kWeight, kExpert, kPart), kHidden,
              2, down);
  ExpectBlock(*tensors, ExpertDownBlock(*tensors, **stack, Kind::kBias, kExpert, kPart), kHidden, 1,
              [](std::int64_t row, std::int64_t) { return kExpert * kHidden + row; });
}

// [E, 2F, H]: row f of half g is row g F + f; [E, H, F].
TEST(ExpertStack, GateRowsThenUpRows) {
  ExpectStack(
      kPlain, false,
      [](std::int64_t row, std::int64_t column) {
        const auto [half, f] = Halves(row);
        return (kExpert * 2 * kWidth + half * kWidth + f) * kHidden + column;
      },
      [](std::int64_t row, std::int64_t) {
        const auto [half, f] = Halves(row);
        return kExpert * 2 * kWidth + half * kWidth + f;
      },
      [](std::int64_t row, std::int64_t column) {
        return (kExpert * kHidden + row) * kWidth + 1 + column;
      });
}

// [E, H, 2F]: row f of half g is column g F + f; [E, F, H].
TEST(ExpertStack, ByInputIsTurned) {
  ExpectStack(
      kByInput, false,
      [](std::int64_t row, std::int64_t column) {
        const auto [half, f] = Halves(row);
        return (kExpert * kHidden + column) * 2 * kWidth + half * kWidth + f;
      },
      [](std::int64_t row, std::int64_t) {
        const auto [half, f] = Halves(row);
        return kExpert * 2 * kWidth + half * kWidth + f;
      },
      [](std::int64_t row, std::int64_t column) {
        return (kExpert * kWidth + 1 + column) * kHidden + row;
      });
}

// [E, H, 2F]: row f of half g is column 2 f + g, taken apart or left so.
TEST(ExpertStack, InterleavedComesApartOrStays) {
  for (const bool interleaved : {false, true}) {
    const auto row_of = interleaved ? Alternating : Halves;
    ExpectStack(
        kInterleaved, interleaved,
        [&](std::int64_t row, std::int64_t column) {
          const auto [half, f] = row_of(row);
          return (kExpert * kHidden + column) * 2 * kWidth + 2 * f + half;
        },
        [&](std::int64_t row, std::int64_t) {
          const auto [half, f] = row_of(row);
          return kExpert * 2 * kWidth + 2 * f + half;
        },
        [](std::int64_t row, std::int64_t column) {
          return (kExpert * kWidth + 1 + column) * kHidden + row;
        });
  }
}

std::string ErrorOf(const std::string& json) {
  const Result<Model> model = ModelOf(json);
  if (!model) return ToString(model.error());
  const Result<FamilyTensors> tensors = FamilyTensors::Classify(*model);
  if (!tensors) return ToString(tensors.error());
  const auto stack = ExpertStackOf(*tensors, tensors->layers().at(0));
  return stack ? "none" : ToString(stack.error());
}

TEST(ExpertStack, ShapesThatDoNotBelongTogetherAreRefused) {
  EXPECT_EQ(ErrorOf(kPlain), "none");
  EXPECT_THAT(ErrorOf(Stack("experts.gate_up", "[2, 6, 3]", "experts.down", "[2, 3, 4]")),
              HasSubstr("h.0.gu does not fit the stack of experts it is of; expected [2, 8, 3]"));
  EXPECT_THAT(ErrorOf(Stack("experts.gate_up", "[3, 8, 3]", "experts.down", "[3, 3, 4]")),
              HasSubstr("h.0.gu does not fit the stack of experts it is of; expected [2, 8, 3]"));
  EXPECT_THAT(ErrorOf(Stack("mlp.up", "[2, 8, 3]", "experts.down", "[2, 3, 4]")),
              HasSubstr("h.0.d is listed without the stack of gate and up"));
}

}  // namespace
}  // namespace reshard
