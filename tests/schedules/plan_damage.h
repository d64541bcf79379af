// Ways to damage the small plan, each with what the verifier must say about it.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "schedules/plan.h"

namespace reshard {

using Longs = std::vector<std::int64_t>;

// The verifier's refusal, or "accepted".
std::string VerdictOn(const Plan& plan);

struct Damage {
  std::string name;
  std::function<void(Plan&)> apply;
  std::string reason;  // part of the verdict
};

// Instantiated by each part of the verifier with its own damages.
class DamageTest : public ::testing::TestWithParam<Damage> {};

std::string NameOf(const ::testing::TestParamInfo<Damage>& info);

// Changes one row of a table that offers no way to change rows.
void EditRegion(
    Plan& plan, std::size_t layout, std::int64_t index,
    const std::function<void(Region&, Longs& begin, Longs& extent, Longs& stride)>& edit);
void EditFragment(
    Plan& plan, std::int64_t index,
    const std::function<void(Longs& begin, Longs& extent, std::int64_t& bytes)>& edit);
// Gives a program a single entry.
void ReplaceProgram(Plan& plan, std::size_t index, ParameterIndex parameter, std::int64_t offset,
                    std::int64_t run, const std::vector<CopyDim>& dims);

}  // namespace reshard
