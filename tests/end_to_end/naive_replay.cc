#include "tests/end_to_end/naive_replay.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <vector>

#include "compiler/compile.h"
#include "compiler/job/job.h"
#include "runtime/engine.h"
#include "runtime/host_backend.h"
#include "schedules/plan_codec.h"
#include "simulator/constants.h"
#include "simulator/cost_model.h"

namespace reshard {
namespace {

constexpr std::chrono::seconds kDeadline{60};
constexpr std::byte kPad{0x5A};

// Any function that tells refits, tensors and elements apart will do; this one is not the
// runtime's.
std::uint64_t ValueOf(std::uint64_t refit, const ElementName& name) {
  std::uint64_t value = 1469598103934665603u;
  for (const std::uint64_t word :
       {refit, static_cast<std::uint64_t>(name.tensor), static_cast<std::uint64_t>(name.index)}) {
    value = (value ^ word) * 1099511628211u;
    value ^= value >> 29;
  }
  return value;
}

std::vector<std::byte> BytesOf(const NaiveParameter& parameter, std::uint64_t refit) {
  const auto element_bytes = static_cast<std::size_t>(ElementBytes(parameter.dtype));
  std::vector<std::byte> bytes(parameter.content.elements.size() * element_bytes, kPad);
  for (std::size_t i = 0; i < parameter.content.elements.size(); ++i) {
    const ElementName& name = parameter.content.elements[i];
    if (name.tensor < 0 && name.tensor != kNaiveZero) continue;
    const std::uint64_t value = name.tensor == kNaiveZero ? 0 : ValueOf(refit, name);
    std::memcpy(bytes.data() + i * element_bytes, &value, element_bytes);
  }
  return bytes;
}

// The parameters of one side of one rank in memory.
class NaiveMemory {
 public:
  explicit NaiveMemory(const std::vector<NaiveParameter>& parameters) : parameters_(parameters) {
    for (const NaiveParameter& parameter : parameters_) buffers_.push_back(BytesOf(parameter, 0));
  }

  // Parameters of no byte may be missing in the plan; all others must be there, alike.
  std::vector<NamedBuffer> Buffers(const std::vector<Parameter>& planned) {
    std::map<std::string, const Parameter*> by_name;
    for (const Parameter& parameter : planned) by_name[parameter.name] = &parameter;
    std::vector<NamedBuffer> named;
    for (std::size_t p = 0; p < parameters_.size(); ++p) {
      const auto found = by_name.find(parameters_[p].name);
      if (found == by_name.end() && buffers_[p].empty()) continue;
      if (found == by_name.end()) {
        ADD_FAILURE() << "the plan has no parameter " << parameters_[p].name;
        continue;
      }
      EXPECT_EQ(found->second->shape, parameters_[p].content.shape) << parameters_[p].name;
      EXPECT_EQ(found->second->dtype, parameters_[p].dtype) << parameters_[p].name;
      named.push_back(
          {parameters_[p].name, buffers_[p].data(), static_cast<std::int64_t>(buffers_[p].size())});
    }
    return named;
  }

  void Fill(std::uint64_t refit) {
    for (std::size_t p = 0; p < parameters_.size(); ++p) {
      const std::vector<std::byte> bytes = BytesOf(parameters_[p], refit);
      std::copy(bytes.begin(), bytes.end(), buffers_[p].begin());
    }
  }
  void Blank() {
    for (std::vector<std::byte>& buffer : buffers_) {
      std::fill(buffer.begin(), buffer.end(), kPad);
    }
  }
  void Expect(std::uint64_t refit, const std::string& whose) const {
    for (std::size_t p = 0; p < parameters_.size(); ++p) {
      EXPECT_TRUE(buffers_[p] == BytesOf(parameters_[p], refit))
          << whose << " parameter " << parameters_[p].name << " after refit " << refit;
    }
  }

 private:
  std::vector<NaiveParameter> parameters_;
  std::vector<std::vector<std::byte>> buffers_;
};

struct NaiveRank {
  std::unique_ptr<NaiveMemory> source;
  std::unique_ptr<NaiveMemory> destination;
  std::unique_ptr<Engine> engine;  // goes first
};

NaiveRank OpenRank(const NaiveJob& job, const std::string& path, RankIndex rank, const Rank& record,
                   const std::shared_ptr<HostExchange>& exchange) {
  NaiveRank opened;
  Result<RankPart> part = ReadRankPart(path, rank);
  if (!part) {
    ADD_FAILURE() << ToString(part.error());
    return opened;
  }
  const auto held_on = [&](const NaiveSide& side) {
    const auto found = side.find(record.gpu);
    return found == side.end() ? std::vector<NaiveParameter>{} : found->second;
  };
  opened.source = std::make_unique<NaiveMemory>(held_on(job.source));
  opened.destination = std::make_unique<NaiveMemory>(held_on(job.destination));
  const std::vector<NamedBuffer> source = opened.source->Buffers(part->source_parameters);
  const std::vector<NamedBuffer> destination =
      opened.destination->Buffers(part->destination_parameters);
  Result<Engine> engine = Engine::Open(*std::move(part), MakeHostBackend(exchange, rank));
  if (!engine) {
    ADD_FAILURE() << ToString(engine.error());
    return opened;
  }
  const Result<void> bound = engine->Bind(source, destination);
  EXPECT_TRUE(bound) << ToString(bound.error());
  opened.engine = std::make_unique<Engine>(*std::move(engine));
  return opened;
}

void ExpectRefit(std::vector<NaiveRank>& ranks, std::uint64_t refit) {
  for (NaiveRank& rank : ranks) {
    rank.source->Fill(refit);
    rank.destination->Blank();
    const Result<void> started = rank.engine->Replay(refit);
    ASSERT_TRUE(started) << ToString(started.error());
  }
  for (NaiveRank& rank : ranks) {
    const Result<void> ended = rank.engine->WaitFor(kDeadline);
    ASSERT_TRUE(ended) << ToString(ended.error());
  }
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    ranks[r].source->Expect(refit, "rank " + std::to_string(r) + " source");
    ranks[r].destination->Expect(refit, "rank " + std::to_string(r) + " destination");
  }
}

}  // namespace

NaiveReplay::NaiveReplay()
    : folder_(std::filesystem::temp_directory_path() /
              ("reshard-naive-replay-" + std::to_string(::getpid()))) {
  std::filesystem::create_directory(folder_);
}

NaiveReplay::~NaiveReplay() { std::filesystem::remove_all(folder_); }

Result<Plan> NaiveReplay::Compile(const NaiveJob& naive) const {
  std::ofstream(folder_ / "job.json") << naive.job_json;
  std::ofstream(folder_ / "model.json") << naive.model_json;
  const Result<Job> job = ReadJob(PathOf("job.json"));
  if (!job) return tl::unexpected(job.error());
  const Result<Constants> constants = DefaultConstants();
  if (!constants) return tl::unexpected(constants.error());
  Result<Compiled> compiled = reshard::Compile(*job, SimulatedCostModel(job->cluster, *constants));
  if (!compiled) return tl::unexpected(compiled.error());
  const auto written = WritePlanFile(compiled->plan, PathOf("job.reshard"));
  if (!written) return tl::unexpected(written.error());
  return std::move(compiled->plan);
}

void NaiveReplay::ExpectRight(const NaiveJob& job, const HostOptions& host) const {
  const Result<Plan> plan = Compile(job);
  ASSERT_TRUE(plan) << ToString(plan.error());
  const std::vector<Rank>& records = plan->job.ranks;
  const auto exchange = HostExchange::Make(static_cast<RankIndex>(records.size()), host).value();
  std::vector<NaiveRank> ranks;
  for (std::size_t r = 0; r < records.size(); ++r) {
    ranks.push_back(
        OpenRank(job, PathOf("job.reshard"), static_cast<RankIndex>(r), records[r], exchange));
    ASSERT_FALSE(::testing::Test::HasFailure());
  }
  ExpectRefit(ranks, 1);
  ExpectRefit(ranks, 2);
}

}  // namespace reshard
