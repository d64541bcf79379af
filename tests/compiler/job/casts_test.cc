#include "compiler/job/casts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/compiler/job_fixture.h"

namespace reshard {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class CastsTest : public JobFixture {
 protected:
  void SetUp() override {
    JobFixture::SetUp();
    Write("model.json", R"json({"n": {"shape": [4], "dtype": "BF16"},
                                "w": {"shape": [200, 96], "dtype": "BF16"}})json");
  }
  // A side of `ranks` GPUs that cut all tensors by rows in sizes of `w`.
  static std::string Cast(const std::string& gpus, int ranks, const std::string& casts) {
    return R"json({"gpus": ")json" + gpus + R"json(", "layout": )json" + Rows(ranks) +
           R"json(, "casts": [)json" + casts + "]}";
  }
  static std::string Names(const JobRecords& records) {
    std::string names;
    for (const Tensor& tensor : records.tensors) {
      names += tensor.name + " " + std::string(Name(tensor.dtype));
      for (const std::int64_t size : tensor.shape) names += " " + std::to_string(size);
      names += "; ";
    }
    return names;
  }
};

constexpr const char* kFp8 = R"json({"match": "w", "to": "F8_E4M3", "block": [50, 32]})json";

TEST_F(CastsTest, ADestinationGetsValuesAndScalesThatTheSourceComputes) {
  const Job job = MustRead(JobText(Side("0-1", Rows(2)), Cast("4", 1, kFp8)));
  // Blocks of 50 x 32: 200 / 50 by 96 / 32.
  EXPECT_EQ(Names(job.records), "n BF16 4; w F8_E4M3 200 96; w_scale_inv F32 4 3; ");
  ASSERT_EQ(job.records.converted.size(), 2U);
  const ConvertedTensor& values = job.records.converted[0];
  EXPECT_EQ(values.tensor, 1);
  EXPECT_EQ(values.kind, ConversionKind::kBlockValues);
  EXPECT_EQ(values.origin, "w");
  EXPECT_EQ(values.origin_dtype, DType::kBF16);
  EXPECT_THAT(values.origin_shape, ElementsAre(200, 96));
  EXPECT_THAT(values.block, ElementsAre(50, 32));
  EXPECT_EQ(job.records.converted[1].kind, ConversionKind::kBlockScales);

  // Rank 1 of the source stores rows 100 to 199 and computes from them.
  const RankLayout& layout =
      job.records.layouts[static_cast<std::size_t>(job.records.ranks[1].source_layout)];
  ASSERT_EQ(layout.parameters.size(), 4U);
  ASSERT_EQ(layout.conversions.size(), 2U);
  for (const Conversion& conversion : layout.conversions) {
    EXPECT_EQ(layout.parameters[static_cast<std::size_t>(conversion.source)].name, "w");
    EXPECT_EQ(conversion.offset, 0);
    EXPECT_THAT(conversion.extent, ElementsAre(100, 96));
    EXPECT_THAT(conversion.stride, ElementsAre(96, 1));
  }
  bool saw_scales = false;
  for (std::int64_t r = 0; r < layout.regions.size(); ++r) {
    const Region region = layout.regions[r];
    if (region.tensor != 2) continue;
    saw_scales = true;
    EXPECT_THAT(region.begin, ElementsAre(2, 0));
    EXPECT_THAT(region.extent, ElementsAre(2, 3));
    EXPECT_THAT(region.stride, ElementsAre(3, 1));
    EXPECT_EQ(layout.parameters[static_cast<std::size_t>(region.parameter)].dtype, DType::kF32);
  }
  EXPECT_TRUE(saw_scales);
}

TEST_F(CastsTest, CastsOfTheSourceHoldForADestinationWithoutItsOwn) {
  const Job theirs = MustRead(JobText(Cast("0-1", 2, kFp8), Side("4", Rows(1))));
  const Job own = MustRead(JobText(Side("0-1", Rows(2)), Cast("4", 1, kFp8)));
  EXPECT_EQ(theirs.records, own.records);
  EXPECT_NE(theirs.digest, own.digest);
}

TEST_F(CastsTest, AMasterCopyIsCastToTheModelsDtype) {
  const Job job =
      MustRead(JobText(Cast("0-1", 2, R"json({"match": "*", "from": "F32", "to": "BF16"})json"),
                       Side("4", Rows(1))));
  EXPECT_EQ(Names(job.records), "n BF16 4; w BF16 200 96; ");
  ASSERT_EQ(job.records.converted.size(), 2U);
  EXPECT_EQ(job.records.converted[1].kind, ConversionKind::kCast);
  EXPECT_EQ(job.records.converted[1].origin_dtype, DType::kF32);
  // Of each stored parameter one that is computed, element by element.
  const RankLayout& layout = job.records.layouts[0];
  ASSERT_EQ(layout.parameters.size(), 4U);
  ASSERT_EQ(layout.conversions.size(), 2U);
  EXPECT_THAT(layout.conversions[1].extent, ElementsAre(9600));
  EXPECT_EQ(layout.parameters[static_cast<std::size_t>(layout.conversions[1].source)].dtype,
            DType::kF32);
}

TEST_F(CastsTest, TheFirstMatchCountsAndBlocksPassOverVectors) {
  const std::string casts = R"json({"match": "*", "to": "F8_E4M3", "block": [1, 32],
                                    "scale": "floor"}, {"match": "*", "to": "F32"})json";
  const Job job = MustRead(JobText(Side("0-1", Rows(2)), Cast("4", 1, casts)));
  EXPECT_EQ(Names(job.records), "n F32 4; w F8_E4M3 200 96; w_scale U8 200 3; ");
  EXPECT_EQ(job.records.converted[0].kind, ConversionKind::kCast);
  EXPECT_EQ(job.records.converted[1].kind, ConversionKind::kFloorValues);
}

TEST_F(CastsTest, EnginesOfSeveralDtypesGetATensorOfEach) {
  const Job job = MustRead(
      JobText(Side("0-1", Rows(2)), "[" + Side("4", Rows(1)) + ", " + Cast("5", 1, kFp8) + "]"));
  EXPECT_EQ(Names(job.records),
            "n BF16 4; w BF16 200 96; w:F8_E4M3 50x32 F8_E4M3 200 96; "
            "w_scale_inv:F8_E4M3 50x32 F32 4 3; ");
}

// Whoever writes options.ignore knows the names of the model and its scales, not those of forms.
TEST_F(CastsTest, IgnoringATensorIgnoresItsForms) {
  const std::string both = "[" + Side("4", Rows(1)) + ", " + Cast("5", 1, kFp8) + "]";
  const auto names = [&](const std::string& ignore) {
    return Names(MustRead(JobText(Side("0-1", Rows(2)), both, ignore)).records);
  };
  EXPECT_EQ(names(R"json({"ignore": ["w"]})json"), "n BF16 4; w_scale_inv:F8_E4M3 50x32 F32 4 3; ");
  EXPECT_EQ(names(R"json({"ignore": ["w", "w_scale_inv"]})json"), "n BF16 4; ");
  EXPECT_EQ(names(R"json({"ignore": ["w*"]})json"), "n BF16 4; ");
}

TEST_F(CastsTest, TheCanonicalTextIsTheSameJob) {
  for (const std::string& casts :
       {std::string(kFp8),
        std::string(R"json({"match": "*", "to": "F8_E4M3", "block": [1, 32], "scale": "rceil",
                            "at": "source"}, {"match": "n", "to": "F16"})json")}) {
    const Job job = MustRead(JobText(Side("0-1", Rows(2)), Cast("4", 1, casts)));
    const Result<Job> again = ParseJob(job.canonical_json, "again");
    ASSERT_TRUE(again) << ToString(again.error());
    EXPECT_EQ(again->canonical_json, job.canonical_json);
    EXPECT_EQ(again->records, job.records);
  }
}

TEST_F(CastsTest, AShardThatCutsABlockIsRefusedByName) {
  EXPECT_EQ(
      Refusal(
          JobText(Side("2-3", Rows(2)),
                  Cast("4", 1, R"json({"match": "w", "to": "F8_E4M3", "block": [128, 128]})json"))),
      "job.json: source: GPU 2: tensor w: its shard has 0 to 100 of 200 along dim 0, which cuts a "
      "block of 128x128: a block's scale needs all of it on one rank; choose degrees whose shards "
      "end on block boundaries, or cast this tensor to a dtype without blocks");
}

TEST_F(CastsTest, WhatCannotBeCastIsRefused) {
  const auto refusal = [this](const std::string& cast) {
    return Refusal(JobText(Side("0-1", Rows(2)), Cast("4", 1, cast)));
  };
  EXPECT_THAT(refusal(R"json({"match": "*", "to": "F8_E5M2"})json"),
              HasSubstr("destination.casts.0.to: no cast to 'F8_E5M2'"));
  EXPECT_THAT(refusal(R"json({"match": "*", "to": "F8_E4M3"})json"), HasSubstr("needs a block"));
  EXPECT_THAT(refusal(R"json({"match": "*", "to": "BF16", "block": [1, 32]})json"),
              HasSubstr("casts.0.block: only F8_E4M3 has blocks"));
  EXPECT_THAT(refusal(R"json({"match": "*", "to": "F8_E4M3", "block": [32]})json"),
              HasSubstr("casts.0.block: expected [rows, columns]"));
  EXPECT_THAT(
      refusal(R"json({"match": "*", "to": "F8_E4M3", "block": [1, 32], "scale": "up"})json"),
      HasSubstr("casts.0.scale: unknown scale 'up'; use floor or rceil"));
  EXPECT_THAT(
      refusal(R"json({"match": "*", "to": "F8_E4M3", "block": [2, 32], "scale": "floor"})json"),
      HasSubstr("casts.0.block: E8M0 scales are of MXFP8's blocks"));
  EXPECT_THAT(refusal(R"json({"match": "*", "to": "F32", "at": "destination"})json"),
              HasSubstr("casts.0.at: casts at the destination are not planned"));
  EXPECT_THAT(refusal(R"json({"match": "*", "to": "F32", "from": "BF16"})json"),
              HasSubstr("casts.0.from: only a source group"));
  EXPECT_THAT(refusal(R"json({"match": "*", "too": "F32"})json"), HasSubstr("too"));
  Write("model.json", R"json({"n": {"shape": [4], "dtype": "I64"},
                              "w": {"shape": [4, 4], "dtype": "BF16"}})json");
  EXPECT_THAT(refusal(R"json({"match": "*", "to": "F32"})json"),
              HasSubstr("destination: casts: tensor n: it is I64, which cannot be cast to F32"));
  Write("model.json", R"json({"w_scale_inv": {"shape": [4], "dtype": "F32"},
                              "w": {"shape": [4, 4], "dtype": "BF16"}})json");
  EXPECT_THAT(refusal(kFp8), HasSubstr("its scales would be w_scale_inv, which the model lists"));
}

// No cast leads from blocks to others, and the scales a model lists get none of their own.
TEST_F(CastsTest, WhatTheModelListsInBlocksStaysInThem) {
  const auto of_blocks = [](const std::string& block) {
    return JobText(
        Side("0-1", Rows(2)),
        Cast("4", 1, R"json({"match": "*", "to": "F8_E4M3", "block": )json" + block + "}"));
  };
  Write("model.json", R"json({"w": {"shape": [200, 96], "dtype": "F8_E4M3"},
                              "w_scale_inv": {"shape": [4, 3], "dtype": "F32"}})json");
  const Job same = MustRead(of_blocks("[50, 32]"));
  EXPECT_EQ(Names(same.records), "w F8_E4M3 200 96; w_scale_inv F32 4 3; ");
  EXPECT_TRUE(same.records.converted.empty());
  EXPECT_EQ(Refusal(of_blocks("[100, 96]")),
            "job.json: destination: casts: tensor w: the model lists it in F8_E4M3 with other "
            "scales w_scale_inv than a cast to blocks of 100x96 makes; let the model list what the "
            "source holds, and casts match that alone");
  Write("model.json", R"json({"w": {"shape": [200, 96], "dtype": "F8_E4M3"}})json");
  EXPECT_THAT(Refusal(of_blocks("[50, 32]")), HasSubstr("without the scales w_scale_inv"));
}

TEST_F(CastsTest, AParameterThatIsConvertedIsNotInPlace) {
  EXPECT_EQ(Refusal(JobText(Side("0-1", Rows(2)), Cast("0-1", 2, kFp8),
                            R"json({"inPlace": [["w", "w"]]})json")),
            "job.json: options.inPlace: tensors are converted from source parameter w, so the "
            "destination cannot overwrite it while it is read; leave the pair out, or the cast");
}

TEST_F(CastsTest, SourceGroupsMustAgree) {
  const std::string f32 = R"json({"match": "*", "from": "F32", "to": "BF16"})json";
  const std::string f16 = R"json({"match": "*", "from": "F16", "to": "BF16"})json";
  EXPECT_THAT(Refusal(JobText("[" + Cast("0", 1, f32) + ", " + Cast("1", 1, f16) + "]",
                              Side("4", Rows(1)))),
              HasSubstr("source.1: it holds tensor n as F16, another source group as F32"));
  EXPECT_THAT(Refusal(JobText("[" + Cast("0", 1, kFp8) + ", " + Side("1", Rows(1)) + "]",
                              Side("4", Rows(1)))),
              HasSubstr("source.1: casts: tensors leave this group in other dtypes"));
}

TEST_F(CastsTest, AFamilysOwnFormIsTakenBeforeCasts) {
  Model model;
  model.tensors = {{"m.A_log", DType::kBF16, {4}}, {"m.norm", DType::kBF16, {4}}};
  std::vector<StoredForm> stored(2);
  stored[0] = {*NamePattern::Parse("*.A_log"), ElementFunction::kNegativeExponential, DType::kF32};
  stored[1] = {*NamePattern::Parse("*.norm"), ElementFunction::kMinusOne, {}};
  std::vector<reshard::Cast> casts(1);
  casts[0].match = *NamePattern::Parse("*");
  casts[0].to = DType::kF16;
  const Result<FormedModel> formed = DestinationModel(model, casts, stored);
  ASSERT_TRUE(formed);
  EXPECT_EQ(formed->model.tensors[0].dtype, DType::kF32);
  EXPECT_EQ(formed->tensors[0].form.function, ElementFunction::kNegativeExponential);
  EXPECT_EQ(formed->model.tensors[1].dtype, DType::kF16);
  EXPECT_EQ(formed->tensors[1].form.function, ElementFunction::kMinusOne);
}

}  // namespace
}  // namespace reshard
