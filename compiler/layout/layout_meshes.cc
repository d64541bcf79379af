#include "compiler/layout/layout_meshes.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "compiler/layout/explicit_words.h"
#include "compiler/layout/fsdp_degrees.h"
#include "compiler/layout/megatron_degrees.h"
#include "compiler/layout/sglang_degrees.h"
#include "compiler/layout/vllm_degrees.h"

namespace reshard {
namespace {

using Meshes = Result<std::vector<NamedMesh>>;

// Axes over the ranks in their order.
NamedMesh InOrder(std::string name, std::vector<MeshAxis> axes, std::int64_t rank_count) {
  NamedMesh named{std::move(name), {std::move(axes), {}}};
  named.mesh.ranks.resize(static_cast<std::size_t>(rank_count));
  std::iota(named.mesh.ranks.begin(), named.mesh.ranks.end(), 0);
  return named;
}

Meshes ExplicitMeshes(const JsonCursor& fields, std::int64_t rank_count) {
  Result<ExplicitWords> words = ReadExplicitWords(fields, rank_count);
  if (!words) return tl::unexpected(words.error());
  std::vector<NamedMesh> meshes;
  const std::optional<JsonCursor> field = fields.Find("meshes");
  if (!field) return meshes;
  const auto members = field->Members();
  if (!members) return tl::unexpected(members.error());
  for (std::size_t m = 0; m < words->meshes.size(); ++m) {
    meshes.push_back({std::string((*members)[m].first), std::move(words->meshes[m])});
  }
  return meshes;
}

Meshes MegatronMeshes(const JsonCursor& fields, std::int64_t rank_count) {
  const Result<MegatronDegrees> degrees = ReadMegatronDegrees(fields, rank_count);
  if (!degrees) return tl::unexpected(degrees.error());
  const std::map<std::string, std::int64_t> dense{{"tp", degrees->tensor},
                                                  {"cp", degrees->context},
                                                  {"dp", degrees->data},
                                                  {"pp", degrees->pipeline}};
  const std::map<std::string, std::pair<std::string, std::int64_t>> expert{
      {"tp", {"etp", degrees->expert_tensor}},
      {"ep", {"ep", degrees->expert}},
      {"dp", {"edp", degrees->expert_data}},
      {"pp", {"pp", degrees->pipeline}}};
  std::vector<MeshAxis> dense_axes;
  std::vector<MeshAxis> expert_axes;
  for (auto name = degrees->order.rbegin(); name != degrees->order.rend(); ++name) {
    if (const auto axis = dense.find(*name); axis != dense.end()) {
      dense_axes.push_back({axis->first, axis->second});
    }
    if (const auto axis = expert.find(*name); axis != expert.end()) {
      expert_axes.push_back({axis->second.first, axis->second.second});
    }
  }
  return std::vector{InOrder("dense", std::move(dense_axes), rank_count),
                     InOrder("expert", std::move(expert_axes), rank_count)};
}

Meshes VllmMeshes(const JsonCursor& fields, std::int64_t rank_count) {
  const Result<VllmDegrees> degrees = ReadVllmDegrees(fields, rank_count);
  if (!degrees) return tl::unexpected(degrees.error());
  NamedMesh expert{
      "expert",
      {{{"engine", degrees->engines}, {"pp", degrees->pipeline}, {"ep", degrees->expert_ranks()}},
       {}}};
  for (std::int64_t engine = 0; engine < degrees->engines; ++engine) {
    for (std::int64_t pipeline = 0; pipeline < degrees->pipeline; ++pipeline) {
      for (std::int64_t q = 0; q < degrees->expert_ranks(); ++q) {
        const std::int64_t data = q / degrees->tensor;
        expert.mesh.ranks.push_back(static_cast<std::int32_t>(
            q % degrees->tensor +
            degrees->tensor * (pipeline + degrees->pipeline * (data + degrees->data * engine))));
      }
    }
  }
  return std::vector{InOrder("dense",
                             {{"engine", degrees->engines},
                              {"dp", degrees->data},
                              {"pp", degrees->pipeline},
                              {"tp", degrees->tensor}},
                             rank_count),
                     std::move(expert)};
}

Meshes SglangMeshes(const JsonCursor& fields, std::int64_t rank_count) {
  const Result<SglangDegrees> degrees = ReadSglangDegrees(fields, rank_count);
  if (!degrees) return tl::unexpected(degrees.error());
  const MeshAxis engine{"engine", degrees->replicas};
  const MeshAxis pipeline{"pp", degrees->pipeline};
  return std::vector{InOrder("attention",
                             {engine,
                              pipeline,
                              {"dp", degrees->attention_data},
                              {"cp", degrees->attention_context},
                              {"tp", degrees->attention_tensor}},
                             rank_count),
                     InOrder("stage", {engine, pipeline, {"tp", degrees->tensor}}, rank_count),
                     InOrder("expert",
                             {engine,
                              pipeline,
                              {"edp", degrees->expert_data},
                              {"ep", degrees->expert},
                              {"etp", degrees->expert_tensor}},
                             rank_count)};
}

Meshes FsdpMeshes(const JsonCursor& fields, std::int64_t rank_count) {
  const Result<FsdpDegrees> degrees = ReadFsdpDegrees(fields, rank_count);
  if (!degrees) return tl::unexpected(degrees.error());
  const MeshAxis pipeline{"pp", degrees->pipeline};
  const MeshAxis replicate{"replicate", degrees->replicate};
  return std::vector{
      InOrder("dense",
              {pipeline,
               replicate,
               {"shard", degrees->shard},
               {"cp", degrees->context},
               {"tp", degrees->tensor}},
              rank_count),
      InOrder("expert",
              {pipeline, replicate, {"eshard", degrees->expert_shards()}, {"ep", degrees->expert}},
              rank_count)};
}

}  // namespace

Result<std::vector<NamedMesh>> MeshesOf(std::string_view kind, const JsonCursor& fields,
                                        std::int64_t rank_count) {
  if (kind == "explicit") return ExplicitMeshes(fields, rank_count);
  if (kind == "megatron") return MegatronMeshes(fields, rank_count);
  if (kind == "vllm") return VllmMeshes(fields, rank_count);
  if (kind == "sglang") return SglangMeshes(fields, rank_count);
  if (kind == "fsdp" || kind == "torchtitan") return FsdpMeshes(fields, rank_count);
  if (kind == "hf") return std::vector{InOrder("one", {{"rank", 1}}, 1)};
  return InternalError(std::string(kind), "a layout kind without meshes");
}

}  // namespace reshard
