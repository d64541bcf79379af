#include "runtime/content_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "tests/schedules/small_plan.h"

namespace reshard {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// All ranks of the small plan at one table: content is one digest per fragment, the comparison is
// made by a first pass that gathers what the ranks tell.
class Ranks {
 public:
  Ranks() {
    for (RankIndex rank = 0; rank < 5; ++rank) checks_.emplace_back(plan_, rank);
    for (const ContentCheck& check : checks_) {
      held_.push_back(Digests(check.held()));
      needed_.push_back(Digests(check.needed()));
    }
  }
  // What each rank says; "" for nothing.
  std::vector<std::string> Run(std::optional<RankIndex> wrong_bytes = std::nullopt) {
    // Until all ranks have told all they tell, the minima are not known.
    std::vector<std::vector<std::uint64_t>> told(2);
    std::vector<std::string> said(5);
    for (int pass = 0; pass < 3; ++pass) {
      for (std::size_t r = 0; r < 5; ++r) {
        std::size_t question = 0;
        const auto minimum = [&](std::span<std::uint64_t> values, const std::string&) {
          std::vector<std::uint64_t>& all = told[question++];
          all.resize(values.size(), ~std::uint64_t{0});
          for (std::size_t i = 0; i < values.size(); ++i) {
            values[i] = all[i] = std::min(all[i], values[i]);
          }
          return Result<void>();
        };
        const Result<void> bytes =
            wrong_bytes == static_cast<RankIndex>(r)
                ? Result<void>(RunError("rank " + std::to_string(r), "byte 7 is wrong"))
                : Result<void>();
        const Result<void> right = checks_[r].Run(held_[r], needed_[r], bytes, minimum);
        said[r] = right ? "" : ToString(right.error());
      }
      // The first pass judged by what not all had told: its verdicts do not count.
      if (pass == 0) told[1].clear();
    }
    return said;
  }

  Plan plan_ = SmallPlan();
  std::vector<ContentCheck> checks_;
  std::vector<std::vector<std::uint64_t>> held_;
  std::vector<std::vector<std::uint64_t>> needed_;

 private:
  // Of a tensor's box: any number that only the content decides.
  static std::vector<std::uint64_t> Digests(const DigestTable& table) {
    std::vector<std::uint64_t> digests;
    for (std::int64_t i = 0; i < table.size(); ++i) {
      digests.push_back(static_cast<std::uint64_t>(1000 * table[i].tensor + table[i].first_index));
    }
    return digests;
  }
};

TEST(ContentCheckTest, EqualContentIsRight) {
  EXPECT_EQ(Ranks().Run(), std::vector<std::string>(5));
}

// Rank 3 needs columns 4 to 7 of "a", fragment 2, and nothing else.
TEST(ContentCheckTest, ANeederWithOtherContentIsNamedByAll) {
  Ranks ranks;
  ASSERT_EQ(ranks.needed_[3].size(), 1u);
  ++ranks.needed_[3][0];
  const std::vector<std::string> said = ranks.Run();
  EXPECT_THAT(said[3], HasSubstr("rank 3: fragment 2 (of tensor a) has another content digest"));
  for (const std::size_t other : {0, 1, 2, 4}) {
    EXPECT_THAT(said[other], HasSubstr("its content is right, that of rank 3 is not"));
  }
}

// "b" is held by ranks 0 and 1 and needed by 1 and 2.
TEST(ContentCheckTest, HoldersThatDifferAreNoReference) {
  Ranks ranks;
  ASSERT_EQ(ranks.held_[1].size(), 1u);
  ++ranks.held_[1][0];
  const std::vector<std::string> said = ranks.Run();
  for (const std::size_t needer : {1, 2}) {
    EXPECT_THAT(said[needer],
                HasSubstr("(of tensor b) has not the same content on all its holders"));
  }
  EXPECT_THAT(said[0], HasSubstr("that of rank 1 is not"));
}

TEST(ContentCheckTest, AWrongByteIsNamedBesideItsFragment) {
  Ranks ranks;
  EXPECT_THAT(ranks.Run(4)[4], HasSubstr("rank 4: byte 7 is wrong"));
  ++ranks.needed_[4][0];
  EXPECT_THAT(ranks.Run(4)[4],
              AllOf(HasSubstr("byte 7 is wrong"), HasSubstr("another content digest")));
  EXPECT_THAT(ranks.Run(4)[0], HasSubstr("that of rank 4 is not"));
}

}  // namespace
}  // namespace reshard
