#include "runtime/fragment_digests.h"

#include <gtest/gtest.h>

#include <map>

#include "kernels/mixing.h"
#include "runtime/trial_replay.h"
#include "tests/schedules/small_plan.h"

namespace reshard {
namespace {

// The digest of a fragment of trial values, element by element from its definition.
std::uint64_t ExpectedDigest(const Plan& plan, std::int64_t number, std::uint64_t refit) {
  const Fragment fragment = plan.demand.fragments[number];
  const Tensor& tensor = plan.job.tensors[static_cast<std::size_t>(fragment.tensor)];
  const std::int64_t element_bytes = ElementBytes(tensor.dtype);
  const std::uint64_t mask =
      element_bytes == 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * element_bytes)) - 1;
  std::int64_t elements = 1;
  for (const std::int64_t extent : fragment.extent) elements *= extent;
  std::uint64_t sum = 0;
  for (std::int64_t e = 0; e < elements; ++e) {
    std::int64_t rest = e;
    std::int64_t index = 0;
    std::int64_t stride = 1;
    for (std::size_t d = tensor.shape.size(); d-- > 0;) {
      index += (fragment.begin[d] + rest % fragment.extent[d]) * stride;
      rest /= fragment.extent[d];
      stride *= tensor.shape[d];
    }
    const std::uint64_t key = static_cast<std::uint64_t>(fragment.tensor) * kGoldenGamma +
                              static_cast<std::uint64_t>(index);
    sum += Mix64(Mix64(key) + (TrialValue(refit, fragment.tensor, index) & mask));
  }
  return sum;
}

// The bytes of the named buffers as bases, in the order of `parameters`.
std::vector<const std::byte*> Bases(const std::vector<Parameter>& parameters,
                                    const std::vector<NamedBuffer>& buffers) {
  std::map<std::string, const std::byte*> by_name;
  for (const NamedBuffer& buffer : buffers) by_name[buffer.name] = buffer.data;
  std::vector<const std::byte*> bases;
  for (const Parameter& parameter : parameters) bases.push_back(by_name.at(parameter.name));
  return bases;
}

const std::vector<Parameter>& ParametersOf(const Plan& plan, LayoutIndex layout) {
  static const std::vector<Parameter>* const kNone = new std::vector<Parameter>();
  return layout == kNoLayout ? *kNone
                             : plan.job.layouts[static_cast<std::size_t>(layout)].parameters;
}

TEST(FragmentDigestsTest, HoldersAndNeedersHaveTheDigestOfTheDefinition) {
  const Plan plan = SmallPlan();
  TrialReplay trial = *TrialReplay::Make(plan, {});
  trial.Fill(7);
  ASSERT_TRUE(trial.Replay(7, std::chrono::seconds(30)));
  std::vector<int> seen(static_cast<std::size_t>(plan.demand.fragments.size()), 0);
  for (RankIndex rank = 0; rank < 5; ++rank) {
    const Rank& record = plan.job.ranks[static_cast<std::size_t>(rank)];
    const FragmentDigests held = HeldFragments(plan, rank);
    const FragmentDigests needed = NeededFragments(plan, rank);
    const std::vector<std::uint64_t> held_sums = RunDigests(
        held.table,
        Bases(ParametersOf(plan, record.source_layout), trial.memory(rank).SourceBuffers()));
    const std::vector<std::uint64_t> needed_sums =
        RunDigests(needed.table, Bases(ParametersOf(plan, record.destination_layout),
                                       trial.memory(rank).DestinationBuffers()));
    for (std::size_t i = 0; i < held_sums.size(); ++i) {
      EXPECT_EQ(held_sums[i], ExpectedDigest(plan, held.fragments[i], 7));
      ++seen[static_cast<std::size_t>(held.fragments[i])];
    }
    for (std::size_t i = 0; i < needed_sums.size(); ++i) {
      EXPECT_EQ(needed_sums[i], ExpectedDigest(plan, needed.fragments[i], 7));
      ++seen[static_cast<std::size_t>(needed.fragments[i])];
    }
  }
  // Every holder and every needer of every class, and nobody else.
  for (const DemandClass& demand_class : plan.demand.classes) {
    const std::size_t ranks =
        plan.demand.Holders(demand_class).size() + plan.demand.Needers(demand_class).size();
    for (std::int64_t i = 0; i < demand_class.fragment_count; ++i) {
      EXPECT_EQ(seen[static_cast<std::size_t>(demand_class.first_fragment + i)],
                static_cast<int>(ranks));
    }
  }
}

TEST(FragmentDigestsTest, AChangedByteChangesTheDigest) {
  const Plan plan = SmallPlan();
  TrialReplay trial = *TrialReplay::Make(plan, {});
  trial.Fill(1);
  const FragmentDigests held = HeldFragments(plan, 0);
  const std::vector<NamedBuffer> buffers = trial.memory(0).SourceBuffers();
  const std::vector<const std::byte*> bases = Bases(ParametersOf(plan, 0), buffers);
  const std::vector<std::uint64_t> before = RunDigests(held.table, bases);
  buffers[0].data[5] ^= std::byte{1};
  EXPECT_NE(RunDigests(held.table, bases), before);
}

TEST(FragmentDigestsTest, ARankOfOneSideHasNothingOnTheOther) {
  const Plan plan = SmallPlan();
  EXPECT_EQ(NeededFragments(plan, 0).table.size(), 0);
  EXPECT_EQ(HeldFragments(plan, 4).table.size(), 0);
}

}  // namespace
}  // namespace reshard
