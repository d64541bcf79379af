#include "tools/layout_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "foundation/json_writer.h"

namespace reshard {
namespace {

using ::testing::ElementsAre;

ParameterDescription Parameter(const std::string& name, std::vector<std::int64_t> shape = {2}) {
  ParameterDescription parameter;
  parameter.name = name;
  parameter.mesh = 0;
  parameter.placements = {"R", "S(0)", "R"};
  parameter.shapes = {{std::move(shape), 6}};
  parameter.tensors = 1;
  parameter.ranks = 6;
  parameter.bytes_max = 4;
  parameter.bytes = 24;
  return parameter;
}

std::vector<std::string> Names(const std::vector<ParameterRow>& rows) {
  std::vector<std::string> names;
  for (const ParameterRow& row : rows) {
    names.push_back(row.name + " x" + std::to_string(row.count));
  }
  return names;
}

std::vector<ParameterRow> Joined(std::span<const ParameterDescription> parameters) {
  Result<std::vector<ParameterRow>> rows = JoinAlike(parameters);
  EXPECT_TRUE(rows) << ToString(rows.error());
  return rows ? *std::move(rows) : std::vector<ParameterRow>();
}

TEST(LayoutReport, NamesThatDifferInNumbersAreJoined) {
  std::vector<ParameterDescription> parameters;
  for (const int layer : {0, 1, 2, 5}) {
    for (const int expert : {10, 11}) {
      parameters.push_back(Parameter("l." + std::to_string(layer) + ".w" + std::to_string(expert)));
    }
  }
  parameters.push_back(Parameter("l.7.w10", {3}));
  parameters.push_back(Parameter("norm"));
  const std::vector<ParameterRow> rows = Joined(parameters);
  EXPECT_THAT(Names(rows), ElementsAre("l.{0-2,5}.w{10-11} x8", "l.7.w10 x1", "norm x1"));
  EXPECT_EQ(rows[0].bytes, 8 * 24);
}

// Names that are no full set of combinations stay apart where they must.
TEST(LayoutReport, JoinedNamesClaimNoMoreThanThereIs) {
  const std::vector<ParameterDescription> parameters{Parameter("l.0.w0"), Parameter("l.0.w1"),
                                                     Parameter("l.1.w1"), Parameter("l.1.w2")};
  EXPECT_THAT(Names(Joined(parameters)), ElementsAre("l.0.w{0-1} x2", "l.1.w{1-2} x2"));
}

TEST(LayoutReport, LongAndPaddedDigitsAreNoNumbers) {
  const std::vector<ParameterDescription> parameters{Parameter("h12345678901.007"),
                                                     Parameter("h12345678902.007")};
  EXPECT_THAT(Names(Joined(parameters)), ElementsAre("h12345678901.007 x1", "h12345678902.007 x1"));
}

TEST(LayoutReport, BracesOfANameAreText) {
  const std::vector<ParameterDescription> alone{Parameter("a{}")};
  EXPECT_THAT(Names(Joined(alone)), ElementsAre("a{} x1"));
  const std::vector<ParameterDescription> both{Parameter("a5"), Parameter("a{}"),
                                               Parameter("a{}6{}"), Parameter("a{}7{}")};
  EXPECT_THAT(Names(Joined(both)), ElementsAre("a5 x1", "a{} x1", "a{}{6-7}{} x2"));
}

TEST(LayoutReport, BytesBeyond64BitsAreRefused) {
  std::vector<ParameterDescription> parameters{Parameter("w0"), Parameter("w1")};
  for (ParameterDescription& parameter : parameters) parameter.bytes = std::int64_t{1} << 62;
  const Result<std::vector<ParameterRow>> rows = JoinAlike(parameters);
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().place, "w{0-1}");
  EXPECT_EQ(rows.error().reason, "the bytes of all of these do not fit 64 bits");
}

TEST(LayoutReport, Texts) {
  const std::vector<NamedMesh> meshes{{"dense", {{{"dp", 2}, {"tp", 3}, {"cp", 1}}, {}}}};
  ParameterDescription parameter = Parameter("w", {2, 3});
  EXPECT_EQ(PlacementText(parameter, meshes), "dense: dp R, tp S(0)");
  EXPECT_EQ(ShapesText(parameter), "[2, 3]");
  EXPECT_EQ(MeshText(meshes[0]), "dense: dp 2 x tp 3 x cp 1");
  parameter.shapes.emplace_back(std::vector<std::int64_t>{}, 1);
  EXPECT_EQ(ShapesText(parameter), "[2, 3] on 6, [] on 1");
  parameter.mesh.reset();
  EXPECT_EQ(PlacementText(parameter, meshes), "no mesh explains it");
}

TEST(LayoutReport, Json) {
  const std::vector<NamedMesh> meshes{{"dense", {{{"dp", 2}}, {}}}};
  ParameterDescription parameter = Parameter("w");
  parameter.placements = {"R"};
  parameter.padding_bytes = 2;
  EXPECT_EQ(
      CanonicalJson(ParametersJson(Joined(std::vector{parameter}), meshes)),
      R"([{"bytes":24,"bytesMax":4,"count":1,"dtype":"BF16","mesh":"dense","name":"w",)"
      R"("paddingBytes":2,"placements":["R"],"shapes":[{"ranks":6,"shape":[2]}],"tensors":1}])");
  EXPECT_EQ(CanonicalJson(MeshesJson(meshes)), R"([{"axes":[["dp",2]],"name":"dense"}])");
}

}  // namespace
}  // namespace reshard
