#include "runtime/binding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "schedules/rank_part.h"
#include "tests/schedules/small_plan.h"

namespace reshard {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Rank 1 of the small plan: source "b" of 128 bytes; destination "fused" of 72 and "b" of 128
// bytes.
class BindingTest : public ::testing::Test {
 protected:
  std::string Message() const {
    const auto addresses = MatchBuffers(part_, source_, destination_);
    return addresses ? "bound" : ToString(addresses.error());
  }

  RankPart part_ = ExtractRankPart(SmallPlan(), 1);
  std::vector<std::byte> memory_ = std::vector<std::byte>(1024);
  std::vector<NamedBuffer> source_ = {{"b", memory_.data(), 128}};
  std::vector<NamedBuffer> destination_ = {{"b", memory_.data() + 128, 128},
                                           {"fused", memory_.data() + 256, 72}};
};

TEST_F(BindingTest, GivesAddressesInTheOrderOfThePart) {
  const auto addresses = MatchBuffers(part_, source_, destination_);
  ASSERT_TRUE(addresses);
  EXPECT_THAT(*addresses, ElementsAre(memory_.data(), memory_.data() + 256, memory_.data() + 128));
}

TEST_F(BindingTest, RefusesAMissingParameter) {
  destination_.pop_back();
  EXPECT_THAT(Message(), HasSubstr("rank 1: destination parameter fused: is not bound"));
}

TEST_F(BindingTest, RefusesAnUnknownParameter) {
  destination_.push_back({"lm_head", memory_.data() + 512, 16});
  EXPECT_THAT(Message(),
              HasSubstr("rank 1: destination parameter lm_head: is no parameter of the plan"));
}

TEST_F(BindingTest, RefusesAParameterBoundTwice) {
  source_.push_back({"b", memory_.data() + 512, 128});
  EXPECT_THAT(Message(), HasSubstr("rank 1: source parameter b: is bound twice"));
}

TEST_F(BindingTest, RefusesAnotherSize) {
  source_[0].bytes = 64;
  EXPECT_THAT(Message(), HasSubstr("rank 1: source parameter b: is bound to 64 bytes and has 128"));
}

TEST_F(BindingTest, RefusesNoMemory) {
  source_[0].data = nullptr;
  EXPECT_THAT(Message(), HasSubstr("rank 1: source parameter b: is bound to no memory"));
}

TEST_F(BindingTest, RefusesSharedMemory) {
  destination_[1].data = memory_.data() + 255;  // one byte into destination "b"
  EXPECT_THAT(Message(), AllOf(HasSubstr("destination parameter fused: shares memory with "
                                         "destination parameter b"),
                               HasSubstr("options.inPlace")));
  destination_[1].data = memory_.data() + 256;
  EXPECT_EQ(Message(), "bound");
}

TEST_F(BindingTest, SourceAndDestinationShareMemoryOnlyAsAPair) {
  destination_[0].data = memory_.data();
  EXPECT_THAT(Message(), HasSubstr("shares memory with"));
  part_.in_place = {{"b", "b"}};
  EXPECT_EQ(Message(), "bound");
}

TEST_F(BindingTest, APairMustBeginAtOneAddress) {
  part_.in_place = {{"b", "b"}};
  EXPECT_THAT(Message(), HasSubstr("destination parameter b: does not begin where source "
                                   "parameter b does"));
}

TEST_F(BindingTest, APairCoversItsLargerParameter) {
  // "fused" is paired with "b" and ends inside of it; another parameter in b's last bytes is
  // refused all the same.
  part_.in_place = {{"b", "fused"}};
  destination_[1].data = memory_.data();
  EXPECT_EQ(Message(), "bound");
  destination_[0].data = memory_.data() + 100;
  EXPECT_THAT(Message(), HasSubstr("shares memory with"));
}

}  // namespace
}  // namespace reshard
