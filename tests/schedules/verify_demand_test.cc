#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/schedules/plan_damage.h"
#include "tests/schedules/small_plan.h"

namespace reshard {
namespace {

std::vector<Damage> DemandDamages() {
  return {
      {"fragment_outside",
       [](Plan& p) {
         EditFragment(p, 2, [](Longs& begin, Longs&, std::int64_t&) { begin[1] = 5; });
       },
       "class 1, fragment 2: it is not inside tensor \"a\""},
      {"fragment_bytes",
       [](Plan& p) { EditFragment(p, 1, [](Longs&, Longs&, std::int64_t& bytes) { bytes = 16; }); },
       "class 0, fragment 1: it has 8 bytes, not 16"},
      {"class_bytes", [](Plan& p) { p.demand.classes[2].bytes = 129; },
       "class 2: its fragments have 128 bytes, not 129"},
      {"holder_is_no_source",
       [](Plan& p) {
         p.demand.rank_sets[3] = {0, 2};
       },
       "class 2: a rank that is no source holds it"},
      {"needer_is_no_destination",
       [](Plan& p) {
         p.demand.rank_sets[2] = {0, 3, 4};
       },
       "class 1: a rank that is no destination needs it"},
      {"needer_missing", [](Plan& p) { p.demand.rank_sets[2] = {3}; },
       "class 1: 1 of 2 ranks of layout 3 need it"},
      // Rank 1 holds b alone; as a holder of class 0 it would have to hold a.
      {"false_holder",
       [](Plan& p) {
         p.demand.classes[0].holders = 3;
         CopyProgram program;
         program.layout = 1;
         program.demand_class = 0;
         program.Add(0, 0, 64, std::vector<CopyDim>{});
         program.Add(0, 64, 8, std::vector<CopyDim>{});
         p.programs.insert(p.programs.begin() + 3, program);
       },
       "layout 1, class 0, fragment 0: no region of the layout has it, so its ranks do not hold "
       "it"},
      // Ranks 1 and 2 need class 1 as well, says the demand; their layout has no room for it.
      {"false_needer",
       [](Plan& p) {
         p.demand.rank_sets[2] = {1, 2, 3, 4};
         CopyProgram program;
         program.layout = 2;
         program.demand_class = 1;
         program.Add(0, 0, 64, std::vector<CopyDim>{});
         p.programs.insert(p.programs.begin() + 5, program);
       },
       "layout 2, class 1, fragment 2: no region of the layout has it, so its ranks do not need "
       "it"},
      {"no_program", [](Plan& p) { p.programs.pop_back(); },
       "layout 3, class 1: ranks of the layout need the class, but it has no program"},
      {"stray_program",
       [](Plan& p) {
         CopyProgram program = p.programs[3];
         program.demand_class = 1;
         p.programs.insert(p.programs.begin() + 3, program);
       },
       "program of layout 1, class 1: no rank of the layout holds or needs the class"},
      {"program_offset",
       [](Plan& p) {
         ReplaceProgram(p, 1, 0, 10, 8, {{8, 16}});
       },
       "layout 0, class 1, fragment 2: the program's entry addresses other bytes than the region "
       "has"},
      {"program_stride",
       [](Plan& p) {
         ReplaceProgram(p, 6, 0, 2, 8, {{8, 8}});
       },
       "layout 3, class 1, fragment 2: the program's entry addresses other bytes"},
      {"program_bytes",
       [](Plan& p) {
         ReplaceProgram(p, 6, 0, 2, 8, {{7, 12}});
       },
       "layout 3, class 1, fragment 2: the program's entry addresses other bytes"},
      {"program_wraps",
       [](Plan& p) {
         ReplaceProgram(p, 2, 1, 0, 128, {{std::int64_t{1} << 62, 0}, {4, 0}});
       },
       "layout 0, class 2, fragment 3: the program's entry addresses other bytes"},
      // The demand forgets the last row of the right half.
      {"fragment_short",
       [](Plan& p) {
         EditFragment(p, 2, [](Longs&, Longs& extent, std::int64_t& bytes) {
           extent[0] = 7;
           bytes = 56;
         });
         p.demand.classes[1].bytes = 56;
         p.columns[1].end = 56;
         ReplaceProgram(p, 1, 0, 8, 8, {{7, 16}});
         ReplaceProgram(p, 6, 0, 2, 8, {{7, 12}});
       },
       "layout 3, region 0 of tensor \"a\": 4 of its 32 elements are in no class that it needs"},
  };
}

// Rank 3 and 4's layout has the right half of "a" once more, in a parameter of its own: place 1 of
// class 1 is 64 bytes from its byte 0. And the element before and behind each row are zeros.
Plan PlanOfTwoPlaces() {
  Plan plan = SmallPlan();
  RankLayout& layout = plan.job.layouts[3];
  layout.parameters.push_back({"a.right.2", DType::kBF16, {8, 4}});
  layout.regions.Add({0, 1, 0, Longs{0, 4}, Longs{8, 4}, Longs{4, 1}});
  layout.zeros.Add({kZeroTensor, 0, 0, Longs{0}, Longs{8}, Longs{6}});
  layout.zeros.Add({kZeroTensor, 0, 5, Longs{0}, Longs{8}, Longs{6}});
  CopyProgram place;
  place.layout = 3;
  place.demand_class = 1;
  place.Add(1, 0, 64, std::vector<CopyDim>{});
  plan.programs.push_back(place);
  CopyProgram zeros;
  zeros.layout = 3;
  zeros.demand_class = kZeroClass;
  zeros.Add(0, 0, 2, std::vector<CopyDim>{{8, 12}});
  zeros.Add(0, 10, 2, std::vector<CopyDim>{{8, 12}});
  plan.programs.insert(plan.programs.end() - 2, zeros);
  plan.schedules[3].zero_round = 0;
  plan.schedules[4].zero_round = 4;
  return plan;
}

TEST(PlacesAndZerosTest, AreAcceptedWhereTheyAreWhole) {
  EXPECT_EQ(VerdictOn(PlanOfTwoPlaces()), "accepted");
}

TEST(PlacesAndZerosTest, EveryPlaceIsWrittenOnce) {
  Plan plan = PlanOfTwoPlaces();
  plan.programs.pop_back();
  EXPECT_NE(VerdictOn(plan).find("layout 3, region 1 of tensor \"a\": 32 of its 32 elements are"),
            std::string::npos)
      << VerdictOn(plan);
  plan = PlanOfTwoPlaces();
  plan.programs.back() = plan.programs[plan.programs.size() - 2];
  EXPECT_NE(VerdictOn(plan).find("layout 3, region 0 of tensor \"a\""), std::string::npos)
      << VerdictOn(plan);
  // A place of a class that the layout only holds is never written.
  plan = PlanOfTwoPlaces();
  plan.programs.insert(plan.programs.begin() + 1, plan.programs[0]);
  EXPECT_NE(VerdictOn(plan).find("layout 0, class 0: it has a program of a second place"),
            std::string::npos)
      << VerdictOn(plan);
}

TEST(PlacesAndZerosTest, DeclaredZerosAreWrittenOnceAndNothingElse) {
  const auto verdict = [](const std::function<void(Plan&)>& damage) {
    Plan plan = PlanOfTwoPlaces();
    damage(plan);
    return VerdictOn(plan);
  };
  const auto program = [](Plan& p) { return p.programs.end() - 3; };
  EXPECT_NE(verdict([&](Plan& p) {
              p.programs.erase(program(p));
            }).find("layout 3: it declares zeros, but has no program of them"),
            std::string::npos);
  EXPECT_NE(verdict([&](Plan& p) {
              CopyProgram zeros;
              zeros.layout = 3;
              zeros.demand_class = kZeroClass;
              zeros.Add(0, 0, 2, std::vector<CopyDim>{{8, 12}});
              zeros.Add(0, 2, 2, std::vector<CopyDim>{{8, 12}});
              *program(p) = zeros;
            }).find("layout 3, zeros 1: the program's entry addresses other bytes"),
            std::string::npos);
  EXPECT_NE(verdict([](Plan& p) {
              p.schedules[3].zero_round = kNoZeros;
            }).find("rank 3: the zeros that its destination layout declares are never written"),
            std::string::npos);
  EXPECT_NE(verdict([](Plan& p) {
              p.schedules[1].zero_round = 0;
            }).find("rank 1: it writes zeros, but its destination layout declares none"),
            std::string::npos);
  EXPECT_NE(verdict([](Plan& p) {
              p.schedules[3].zero_round = 5;
            }).find("rank 3: it writes its zeros outside the plan's rounds"),
            std::string::npos);
  // Element 1 of a row is the first of the right half.
  EXPECT_NE(verdict([](Plan& p) {
              p.job.layouts[3].zeros = {};
              p.job.layouts[3].zeros.Add({kZeroTensor, 0, 0, Longs{0}, Longs{8}, Longs{6}});
              p.job.layouts[3].zeros.Add({kZeroTensor, 0, 1, Longs{0}, Longs{8}, Longs{6}});
            }).find("layout 3: regions 0 and zeros 1 overlap at element 1"),
            std::string::npos);
  EXPECT_NE(verdict([](Plan& p) {
              p.job.layouts[3].zeros = {};
              p.job.layouts[3].zeros.Add({kZeroTensor, 0, 0, Longs{0}, Longs{8}, Longs{6}});
              p.job.layouts[3].zeros.Add({kZeroTensor, 0, 6, Longs{0}, Longs{8}, Longs{6}});
            }).find("zeros 1: they reach beyond parameter \"a.right\""),
            std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Demand, DamageTest, ::testing::ValuesIn(DemandDamages()), NameOf);

}  // namespace
}  // namespace reshard
