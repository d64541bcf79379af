#include "compiler/baselines/m2n_rings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace reshard {
namespace {

using ::testing::ElementsAre;

TEST(M2nRingsTest, FewReplicasServePartsOfTheDomains) {
  EXPECT_THAT(FindM2nRings({1, 16, 2, false, 144}), ElementsAre(M2nRing{0, {0, 1}}));
  // 7 domains over 3 replicas: 3, 2, 2.
  EXPECT_THAT(FindM2nRings({3, 7, 7, false, 100}),
              ElementsAre(M2nRing{0, {0, 1, 2}}, M2nRing{1, {3, 4}}, M2nRing{2, {5, 6}}));
}

TEST(M2nRingsTest, ManyReplicasServeADomainEachAndTheRestNone) {
  EXPECT_THAT(FindM2nRings({5, 16, 2, false, 160}), ElementsAre(M2nRing{0, {0}}, M2nRing{1, {1}}));
}

TEST(M2nRingsTest, LargeJobsInjectFourTimesAtMost) {
  // 8 domains of one replica each: dpr 1, J = min(32, 8, 4), K = 4.
  EXPECT_THAT(
      FindM2nRings({32, 8, 8, false, 512}),
      ElementsAre(M2nRing{0, {0, 4}}, M2nRing{1, {1, 5}}, M2nRing{2, {2, 6}}, M2nRing{3, {3, 7}}));
  EXPECT_THAT(FindM2nRings({32, 8, 8, false, 200}).size(), 8);  // not large
}

TEST(M2nRingsTest, ReplicasOfSeveralDomainsAreServedOnceAndPassedOn) {
  // 32 over 8 replicas: dpr 4, so J = 1 and K = 4: domain d to d + 4.
  const std::vector<M2nRing> rings = FindM2nRings({16, 8, 32, false, 512});
  ASSERT_EQ(rings.size(), 4U);
  EXPECT_EQ(rings[1], (M2nRing{0, {1, 5, 9, 13, 17, 21, 25, 29}}));
  // Inner replicas: other shards on every domain, each of which is a head.
  EXPECT_THAT(FindM2nRings({4, 8, 3, true, 300}),
              ElementsAre(M2nRing{0, {0}}, M2nRing{0, {1}}, M2nRing{0, {2}}));
}

TEST(M2nRingsTest, EveryDomainIsServedOnceByAReplicaThereIs) {
  const std::uint32_t seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int trial = 0; trial < 5000; ++trial) {
    const auto draw = [&](std::uint32_t most) {
      return 1 + static_cast<std::int64_t>(random() % most);
    };
    const M2nMeshes meshes{draw(20), draw(20), draw(20), random() % 2 == 0, draw(400)};
    std::vector<std::int64_t> served(static_cast<std::size_t>(meshes.domains));
    for (const M2nRing& ring : FindM2nRings(meshes)) {
      ASSERT_FALSE(ring.domains.empty());
      ASSERT_LT(ring.source_replica, meshes.source_replicas);
      for (const std::int64_t domain : ring.domains) ++served[static_cast<std::size_t>(domain)];
    }
    ASSERT_THAT(served, ::testing::Each(1));
  }
}

}  // namespace
}  // namespace reshard
