#include "schedules/verification.h"

#include <fmt/format.h>

#include <cstddef>
#include <utility>

namespace reshard::verification {

tl::unexpected<Error> Broken(int promise, std::string place, const std::string& reason) {
  return InputError(std::move(place), fmt::format("{} (promise {})", reason, promise),
                    "compile the plan again; it must not be replayed");
}

ChunkSpans::ChunkSpans(const Plan& plan) {
  starts_.reserve(plan.columns.size() + 1);
  starts_.push_back(0);
  for (const Column& column : plan.columns) {
    const Profile& profile = plan.profiles[static_cast<std::size_t>(column.profile)];
    const auto last = static_cast<std::int64_t>(profile.weights.size()) - 1;
    std::int64_t rest = column.end - column.begin;
    for (std::int64_t begin = 0; begin < last;) {
      std::int64_t end = begin + 1;
      while (end < last && profile.weights[static_cast<std::size_t>(end)] ==
                               profile.weights[static_cast<std::size_t>(begin)]) {
        ++end;
      }
      const std::int64_t bytes = ChunkBytes(column, profile, begin);
      if (bytes > 0) spans_.push_back({begin, end, bytes});
      rest -= bytes * (end - begin);
      begin = end;
    }
    if (rest > 0) spans_.push_back({last, last + 1, rest});
    starts_.push_back(spans_.size());
  }
}

}  // namespace reshard::verification
