#include "tests/end_to_end/random_explicit_job.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "foundation/json_value.h"
#include "foundation/json_writer.h"
#include "tests/compiler/random_draws.h"
#include "tests/end_to_end/random_explicit_group.h"

namespace reshard {
namespace {

using Longs = std::vector<std::int64_t>;

void AddField(JsonValue::Object& object, std::string name, JsonValue value) {
  object.push_back({std::move(name), std::move(value)});
}

JsonValue::Array AsArray(const Longs& numbers) {
  return JsonValue::Array(numbers.begin(), numbers.end());
}

class ExplicitJobMaker {
 public:
  explicit ExplicitJobMaker(std::uint64_t seed) : draws_(seed) {}

  NaiveJob Make() {
    JsonValue::Object job;
    AddField(job, "cluster", MakeCluster());
    AddField(job, "model", "model.json");
    MakeTensors();
    MakeSides(job);
    AddField(job, "options", JsonValue::Object{{"stagingMiB", draws_.Between(1, 64)}});
    draws_.Shuffle(job);
    made_.job_json = JsonLine(JsonValue(std::move(job)));
    return std::move(made_);
  }

 private:
  JsonValue MakeCluster() {
    JsonValue::Object types;
    JsonValue::Array domains;
    for (std::int64_t d = draws_.Between(1, 4); d > 0; --d) {
      const std::int64_t gpus = draws_.Between(1, 6);
      JsonValue::Array nics;
      for (std::int64_t g = 0; g < gpus; ++g) {
        nics.emplace_back(JsonValue::Object{
            {"gpus", JsonValue::Array{g}}, {"GBps", draws_.Between(10, 50)}, {"rail", g}});
      }
      const std::string name = "domain" + std::to_string(d);
      JsonValue::Object type;
      AddField(type, "gpus", gpus);
      AddField(type, "gpusPerNode", gpus);
      AddField(type, "nvlinkGBps", draws_.Between(100, 800));
      AddField(type, "hbmGBps", 4000);
      AddField(type, "nics", std::move(nics));
      AddField(type, "nvlinkLatencyUs", 3);
      AddField(type, "networkLatencyUs", 14);
      AddField(types, name, std::move(type));
      domains.emplace_back(JsonValue::Object{{"type", name}});
      gpu_count_ += static_cast<std::int32_t>(gpus);
    }
    return JsonValue::Object{{"types", std::move(types)}, {"domains", std::move(domains)}};
  }

  void MakeTensors() {
    std::int64_t number = 0;
    const auto add = [&](DType dtype, Longs shape, std::int32_t family, std::size_t concat) {
      tensors_.push_back({"layer." + std::to_string(number++) + ".weight", dtype, std::move(shape),
                          family, concat});
    };
    const auto draw_dtype = [&] { return static_cast<DType>(draws_.Below(kDTypeCount)); };
    const auto draw_shape = [&](std::int64_t least_dims) {
      Longs shape(static_cast<std::size_t>(draws_.Between(least_dims, 4)));
      for (std::int64_t& extent : shape) extent = draws_.Between(draws_.Percent(3) ? 0 : 1, 9);
      return shape;
    };
    for (std::int64_t t = draws_.Between(1, 4); t > 0; --t) add(draw_dtype(), draw_shape(0), -1, 0);
    for (std::int32_t family = 0; family < draws_.Between(0, 2); ++family) {
      const DType dtype = draw_dtype();
      Longs shape = draw_shape(1);
      const auto concat =
          static_cast<std::size_t>(draws_.Below(static_cast<std::int64_t>(shape.size())));
      for (std::int64_t part = draws_.Between(2, 3); part > 0; --part) {
        shape[concat] = draws_.Between(1, 7);
        add(dtype, shape, family, concat);
      }
    }
    // Records number tensors by name, bytewise: layer.10 comes before layer.2.
    std::sort(tensors_.begin(), tensors_.end(),
              [](const NaiveTensor& a, const NaiveTensor& b) { return a.name < b.name; });
    JsonValue::Object model;
    for (const NaiveTensor& tensor : tensors_) {
      AddField(model, tensor.name,
               JsonValue::Object{{"shape", AsArray(tensor.shape)}, {"dtype", Name(tensor.dtype)}});
    }
    draws_.Shuffle(model);
    made_.model_json = JsonLine(JsonValue(std::move(model)));
  }

  void MakeSides(JsonValue::Object& job) {
    std::vector<std::int32_t> gpus(static_cast<std::size_t>(gpu_count_));
    std::iota(gpus.begin(), gpus.end(), 0);
    draws_.Shuffle(gpus);
    const std::int64_t kind = gpus.size() < 2 ? 2 : draws_.Below(3);
    std::vector<std::int32_t> source = gpus;
    std::vector<std::int32_t> destination = gpus;
    if (kind < 2) {
      const auto cut = static_cast<std::ptrdiff_t>(
          draws_.Between(1, static_cast<std::int64_t>(gpus.size()) - 1));
      source.assign(gpus.begin(), gpus.begin() + cut);
      destination.assign(gpus.begin() + (kind == 0 ? cut : cut / 2), gpus.end());
    }
    draws_.Shuffle(destination);
    AddField(job, "source", MakeSide(source, made_.source));
    AddField(job, "destination", MakeSide(destination, made_.destination));
  }

  JsonValue MakeSide(const std::vector<std::int32_t>& gpus, NaiveSide& held) {
    JsonValue::Array groups;
    std::vector<std::int32_t> rest = gpus;
    while (!rest.empty()) {
      auto size = static_cast<std::ptrdiff_t>(rest.size());
      if (groups.size() < 2 && draws_.Percent(30)) size = draws_.Between(1, size);
      const std::vector<std::int32_t> of_group(rest.begin(), rest.begin() + size);
      RandomGroup group = MakeRandomGroup(draws_, tensors_, of_group);
      groups.emplace_back(std::move(group.words));
      for (std::size_t rank = 0; rank < of_group.size(); ++rank) {
        held[of_group[rank]] = std::move(group.held[rank]);
      }
      rest.erase(rest.begin(), rest.begin() + size);
    }
    if (groups.size() == 1) return groups[0];
    return groups;
  }

  RandomDraws draws_;
  std::int32_t gpu_count_ = 0;
  std::vector<NaiveTensor> tensors_;
  NaiveJob made_;
};

}  // namespace

NaiveJob MakeRandomExplicitJob(std::uint64_t seed) { return ExplicitJobMaker(seed).Make(); }

}  // namespace reshard
