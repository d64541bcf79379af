#include "compiler/job/job_edit.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "compiler/demand/demand_builder.h"
#include "tests/compiler/job_fixture.h"

namespace reshard {
namespace {

// Sixteen GPUs in four domains of four. The source keeps the tensors by rows over 0-3, with a
// replica on 4-7; the destination is two vllm engines of tensor 4 of a small llama.
class JobEditTest : public JobFixture {
 protected:
  void SetUp() override {
    JobFixture::SetUp();
    Write("cluster.json",
          R"json({"domains": [{"type": "gb200-nvl72", "gpus": 4, "count": 4}]})json");
    Write("model.json", R"json({"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3",
      "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 8,
      "num_key_value_heads": 8, "head_dim": 8, "vocab_size": 128, "tie_word_embeddings": false,
      "torch_dtype": "bfloat16"})json");
    const std::string rows =
        R"json({"explicit": {"meshes": {"m": {"axes": [["r", 2], ["x", 4]]}}, "tensors":
            [{"match": "*", "mesh": "m", "placements": ["R", "S(0)"]}]}})json";
    job_ = MustRead(JobText(Side("0-7", rows), Side("8-15", R"json({"vllm": {"tensor": 4}})json")));
  }

  Result<Job> Edited(const std::string& edits) const {
    return ParseJobEdits(edits)
        .and_then([&](const std::vector<JobEdit>& parsed) {
          return EditJob(job_.canonical_json, parsed);
        })
        .and_then([](const std::string& text) { return ParseJob(text, "edited job"); });
  }
  Job MustEdit(const std::string& edits) const {
    Result<Job> job = Edited(edits);
    if (!job) {
      ADD_FAILURE() << edits << ": " << ToString(job.error());
      return {};
    }
    return std::move(*job);
  }
  std::string RefusalOf(const std::string& edits) const {
    const Result<Job> job = Edited(edits);
    return job ? "accepted" : ToString(job.error());
  }
  static std::vector<std::int32_t> Gpus(const Job& job) {
    std::vector<std::int32_t> gpus;
    for (const Rank& rank : job.records.ranks) gpus.push_back(rank.gpu);
    return gpus;
  }

  Job job_;
};

TEST_F(JobEditTest, EditsOfPartsChangeTheClusterAlone) {
  const Job job = MustEdit("nic 3=0; nic 4*0.5; domain 2 nvlink*0.5; rail 1*2; gpu 0 nic=5");
  EXPECT_EQ(job.cluster.nics[3].gbps, 0);
  EXPECT_EQ(job.cluster.nics[4].gbps, job_.cluster.nics[4].gbps / 2);
  EXPECT_EQ(job.cluster.nics[5].gbps, job_.cluster.nics[5].gbps * 2);
  EXPECT_EQ(job.cluster.nics[0].gbps, 5);
  EXPECT_EQ(job.cluster.gpus[8].nvlink_gbps, job_.cluster.gpus[8].nvlink_gbps / 2);
  EXPECT_EQ(job.cluster.gpus[7].nvlink_gbps, job_.cluster.gpus[7].nvlink_gbps);
  EXPECT_EQ(job.records, job_.records);
}

TEST_F(JobEditTest, KeysOfTheCluster) {
  const Job job = MustEdit("domains=2; nicGBps=96; nvlinkGBps*0.5; hbmGBps=1000; spine=4");
  EXPECT_EQ(job.cluster.domains.size(), 2);
  EXPECT_EQ(job.cluster.nics[15].gbps, 96);
  EXPECT_EQ(job.cluster.gpus[0].nvlink_gbps, job_.cluster.gpus[0].nvlink_gbps / 2);
  EXPECT_EQ(job.cluster.gpus[0].hbm_gbps, 1000);
  EXPECT_EQ(job.cluster.fabric.spine_oversubscription, 4);
  EXPECT_EQ(job.records.ranks[8].domain, 1);
  EXPECT_EQ(MustEdit("spine=4; railCrossing=NONE").cluster.fabric.rail_crossing,
            RailCrossing::kNone);
}

TEST_F(JobEditTest, KeysOfOptionsAndLayouts) {
  const Job job = MustEdit("stagingMiB=64; nicShare=0.25; destination.tensor=8");
  EXPECT_EQ(job.records.options.staging_bytes, 64 << 20);
  EXPECT_EQ(job.records.options.nic_share, 0.25);
  // One engine of eight instead of two of four: an eighth of the rows on each rank.
  EXPECT_NE(job.records.layouts, job_.records.layouts);
  EXPECT_EQ(Gpus(job), Gpus(job_));
}

TEST_F(JobEditTest, AReplicaServesForADeadGpuOfTheSource) {
  const Job job = MustEdit("gpu 1 dead");
  EXPECT_EQ(Gpus(job),
            (std::vector<std::int32_t>{0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}));
  const Demand demand = BuildDemand(job.records).value();
  // What only GPUs 1 and 5 held is now GPU 5's alone (rank 4): some class has that one holder.
  bool alone = false;
  for (const DemandClass& c : demand.classes) {
    const auto holders = demand.Holders(c);
    ASSERT_FALSE(holders.empty());
    alone |= holders.size() == 1 && holders[0] == 4;
  }
  EXPECT_TRUE(alone);
}

TEST_F(JobEditTest, AClassWithoutHolderCannotRun) {
  const Job job = MustEdit("gpu 1,5 dead");
  const Result<Demand> demand = BuildDemand(job.records);
  ASSERT_FALSE(demand);
  EXPECT_EQ(demand.error().reason, "the destination needs it and no source rank holds it");
}

TEST_F(JobEditTest, ADeadGpuTakesItsEngineAlong) {
  EXPECT_EQ(Gpus(MustEdit("gpu 13 dead")),
            (std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  // Engines are those of the degrees at the end, wherever the edit stands.
  EXPECT_EQ(Gpus(MustEdit("gpu 13 dead; destination.tensor=2")),
            (std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 14, 15}));
  EXPECT_EQ(Gpus(MustEdit("domain 3 dead")), Gpus(MustEdit("gpu 13 dead")));
  EXPECT_EQ(RefusalOf("gpu 8 dead; gpu 15 dead"), "no inference engine of the destination is left");
  EXPECT_EQ(RefusalOf("gpu 0-7 dead"), "no GPU of the source is left");
}

// A plan of an edited job embeds it, so it must read back as itself.
TEST_F(JobEditTest, EditedJobsAreCanonical) {
  const Job job = MustEdit("gpu 13 dead; domains=2");
  const Job again = ParseJob(job.canonical_json, "again").value();
  EXPECT_EQ(again.canonical_json, job.canonical_json);
  EXPECT_EQ(again.records, job.records);
  // And more may be edited in it.
  const std::vector<JobEdit> more = ParseJobEdits("gpu 2 dead").value();
  const Job both = ParseJob(EditJob(job.canonical_json, more).value(), "both").value();
  EXPECT_EQ(Gpus(both), (std::vector<std::int32_t>{0, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
}

TEST_F(JobEditTest, RefusesUnknownNames) {
  EXPECT_EQ(RefusalOf("nicGBp=3"),
            "edit 'nicGBp=3': there is no key 'nicGBp'; did you mean 'nicGBps'?");
  EXPECT_EQ(RefusalOf("stagingMib=3"),
            "edit 'stagingMib=3': there is no key 'stagingMib'; did you mean 'stagingMiB'?");
  EXPECT_EQ(RefusalOf("destination.tensr=4"),
            "edit 'destination.tensr=4': a vllm layout has no 'tensr'; did you mean 'tensor'?");
  EXPECT_EQ(RefusalOf("source.tensor=4"),
            "edit 'source.tensor=4': the source has an explicit layout, which knows no degrees");
  EXPECT_EQ(RefusalOf("domains*2"),
            "edit 'domains*2': only rates and latencies take a factor; write =VALUE");
  EXPECT_EQ(RefusalOf("nic 16=0"),
            "edit 'nic 16=0': there is no NIC 16 among 16; they are numbered from 0");
}

TEST_F(JobEditTest, KeysAreKnownBeforeTheJobIs) {
  const auto reason = [](const std::string& text) {
    const Result<void> known = CheckEditKeys(ParseJobEdits(text).value());
    return known ? "known" : ToString(known.error());
  };
  for (const char* edits : {"nicGBps*2; domains=3", "spine=2; railCrossing=NONE", "planner=direct",
                            "source.tensor=4", "gpu 9 dead", "nic 99=1"}) {
    EXPECT_EQ(reason(edits), "known") << edits;
  }
  EXPECT_EQ(reason("nicGBps=3; nicGBp=3"),
            "edit 'nicGBp=3': there is no key 'nicGBp'; did you mean 'nicGBps'?");
  EXPECT_EQ(reason("spine*2"),
            "edit 'spine*2': only rates and latencies take a factor; write =VALUE");
}

// These are outcomes of a scenario, not slips of its author.
TEST_F(JobEditTest, RefusesWhatTheJobDoesNotAllowAsItsFault) {
  for (const char* edits : {"domains=3", "spine=0.5", "destination.tensor=3", "gpu 8-15 dead",
                            "stagingMiB=-4", "railCrossing=HALF"}) {
    const Result<Job> job = Edited(edits);
    ASSERT_FALSE(job) << edits;
    EXPECT_EQ(job.error().fault, Fault::kInput) << edits;
  }
}

}  // namespace
}  // namespace reshard
