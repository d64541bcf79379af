#include "compiler/layout/megatron_degrees.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "foundation/checked_arithmetic.h"

namespace reshard {
namespace {

constexpr std::array<std::string_view, 5> kAxes{"tp", "cp", "ep", "dp", "pp"};

// ranks / (product of degrees); an error that names them if it does not divide.
Result<std::int64_t> Replicas(const JsonCursor& fields, std::int64_t rank_count,
                              const std::array<std::int64_t, 3>& degrees, std::string_view names) {
  const std::optional<std::int64_t> product = CheckedProduct(degrees);
  if (product && rank_count % *product == 0) return rank_count / *product;
  return fields.Fail(
      std::string(names) + " = " + std::to_string(degrees[0]) + " x " + std::to_string(degrees[1]) +
          " x " + std::to_string(degrees[2]) + " does not divide the " +
          std::to_string(rank_count) + " GPUs of the group",
      names.starts_with("expertTensor") ? "mind that expertTensor is tensor unless given" : "");
}

Result<std::vector<std::string>> ReadOrder(const JsonCursor& fields) {
  const Result<std::string> text = fields.StringOr("order", "tp-cp-ep-dp-pp");
  if (!text) return tl::unexpected(text.error());
  std::vector<std::string> order;
  std::string_view rest = *text;
  while (true) {
    const std::size_t dash = rest.find('-');
    order.emplace_back(rest.substr(0, dash));
    if (dash == std::string_view::npos) break;
    rest.remove_prefix(dash + 1);
  }
  if (order.size() == kAxes.size() &&
      std::is_permutation(order.begin(), order.end(), kAxes.begin())) {
    return order;
  }
  return fields.Fail("order '" + *text + "' is no permutation of tp-cp-ep-dp-pp");
}

// The stage and two more coordinates of rank `rank` in the grid of `sizes`, by axis name.
std::int64_t Coordinate(std::int64_t rank, std::span<const std::string> order,
                        const std::array<std::int64_t, 5>& sizes, std::string_view axis) {
  for (const std::string& name : order) {
    const auto index =
        static_cast<std::size_t>(std::find(kAxes.begin(), kAxes.end(), name) - kAxes.begin());
    if (name == axis) return rank % sizes[index];
    rank /= sizes[index];
  }
  return 0;
}

}  // namespace

Result<MegatronDegrees> ReadMegatronDegrees(const JsonCursor& fields, std::int64_t rank_count) {
  const Result<void> known = fields.ExpectFields(kMegatronFields);
  if (!known) return tl::unexpected(known.error());
  MegatronDegrees degrees;
  for (const auto& [name, degree] :
       {std::pair{"tensor", &degrees.tensor}, std::pair{"context", &degrees.context},
        std::pair{"pipeline", &degrees.pipeline}, std::pair{"expert", &degrees.expert}}) {
    const Result<std::int64_t> value = fields.IntegerOr(name, 1, kPositiveInteger);
    if (!value) return tl::unexpected(value.error());
    *degree = *value;
  }
  const Result<std::int64_t> expert_tensor =
      fields.IntegerOr("expertTensor", degrees.tensor, kPositiveInteger);
  if (!expert_tensor) return tl::unexpected(expert_tensor.error());
  degrees.expert_tensor = *expert_tensor;

  const Result<std::int64_t> data =
      Replicas(fields, rank_count, {degrees.tensor, degrees.context, degrees.pipeline},
               "tensor x context x pipeline");
  if (!data) return tl::unexpected(data.error());
  degrees.data = *data;
  const Result<std::int64_t> expert_data =
      Replicas(fields, rank_count, {degrees.expert_tensor, degrees.expert, degrees.pipeline},
               "expertTensor x expert x pipeline");
  if (!expert_data) return tl::unexpected(expert_data.error());
  degrees.expert_data = *expert_data;
  for (const auto& [name, derived] :
       {std::pair{"data", degrees.data}, std::pair{"expertData", degrees.expert_data}}) {
    const Result<std::int64_t> given = fields.IntegerOr(name, derived, kPositiveInteger);
    if (!given) return tl::unexpected(given.error());
    if (*given == derived) continue;
    return fields.Field(name)->Fail(std::to_string(*given) + " does not match the " +
                                        std::to_string(derived) + " that follow from " +
                                        std::to_string(rank_count) + " GPUs and the other degrees",
                                    "leave it out or correct it");
  }

  Result<std::vector<std::string>> order = ReadOrder(fields);
  if (!order) return tl::unexpected(order.error());
  degrees.order = *std::move(order);
  const Result<bool> mtp = fields.BoolOr("mtp", false);
  if (!mtp) return tl::unexpected(mtp.error());
  degrees.mtp = *mtp;
  if (fields.Has("paddedVocabulary")) {
    const Result<std::int64_t> rows = fields.Integer("paddedVocabulary", kPositiveInteger);
    if (!rows) return tl::unexpected(rows.error());
    degrees.padded_vocabulary = *rows;
  }
  return degrees;
}

Result<std::vector<MegatronCoordinates>> PlaceMegatronRanks(const MegatronDegrees& degrees,
                                                            std::int64_t rank_count,
                                                            const JsonCursor& fields) {
  // In order of kAxes; an axis that a grid does not have is of size 1 there.
  const std::array<std::int64_t, 5> dense{degrees.tensor, degrees.context, 1, degrees.data,
                                          degrees.pipeline};
  const std::array<std::int64_t, 5> expert{degrees.expert_tensor, 1, degrees.expert,
                                           degrees.expert_data, degrees.pipeline};
  std::vector<MegatronCoordinates> ranks;
  ranks.reserve(static_cast<std::size_t>(rank_count));
  for (std::int64_t rank = 0; rank < rank_count; ++rank) {
    const MegatronCoordinates coordinates{
        .pipeline = Coordinate(rank, degrees.order, dense, "pp"),
        .tensor = Coordinate(rank, degrees.order, dense, "tp"),
        .expert_tensor = Coordinate(rank, degrees.order, expert, "tp"),
        .expert = Coordinate(rank, degrees.order, expert, "ep"),
    };
    const std::int64_t expert_stage = Coordinate(rank, degrees.order, expert, "pp");
    if (expert_stage != coordinates.pipeline) {
      return fields.Fail("rank " + std::to_string(rank) + " is of stage " +
                             std::to_string(coordinates.pipeline) +
                             " by its dense degrees and of " + std::to_string(expert_stage) +
                             " by its expert degrees",
                         "let pp be last in order, or let data equal expertData");
    }
    ranks.push_back(coordinates);
  }
  return ranks;
}

}  // namespace reshard
