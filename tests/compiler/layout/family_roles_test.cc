#include "compiler/layout/family_roles.h"

#include <set>
#include <string_view>

#include "gtest/gtest.h"

namespace reshard {
namespace {

TEST(Role, NamesAreDistinctAndFound) {
  std::set<std::string_view> names;
  for (std::size_t r = 0; r < kRoleCount; ++r) {
    const auto role = static_cast<Role>(r);
    EXPECT_FALSE(Name(role).empty()) << r;
    EXPECT_TRUE(names.insert(Name(role)).second) << Name(role);
    EXPECT_EQ(RoleFromName(Name(role)), role);
  }
  EXPECT_EQ(RoleFromName("attention.query"), std::nullopt);
}

// The ends of the enumeration's sections, by the names a family file uses.
TEST(Role, SectionsEndWhereTheNamesSay) {
  EXPECT_EQ(RoleFromName("mtp.lm_head"), static_cast<Role>(kRoleCount - 1));
  for (const std::string_view name : RoleNames()) {
    const Role role = *RoleFromName(name);
    EXPECT_EQ(IsExpertRole(role), name.starts_with("expert.")) << name;
    EXPECT_EQ(IsExpertStackRole(role), name.starts_with("experts.")) << name;
    EXPECT_EQ(IsMtpRole(role), name.starts_with("mtp.")) << name;
    EXPECT_EQ(IsModelRole(role), name == "embedding" || name == "lm_head" || name == "norm.final")
        << name;
  }
  EXPECT_EQ(Role::kMlaOutput, RoleFromName("mla.o"));
  EXPECT_EQ(Role::kAttentionKeyNorm, RoleFromName("attention.k_norm"));
  EXPECT_EQ(Role::kSharedExpertRouter, RoleFromName("shared_expert.router"));
}

}  // namespace
}  // namespace reshard
