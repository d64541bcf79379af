#include <utility>

#include "compiler/job.h"
#include "compiler/job_assembly.h"
#include "compiler/job_options.h"
#include "compiler/job_side.h"
#include "compiler/layout/model_reader.h"
#include "foundation/digest.h"
#include "foundation/json_edit.h"
#include "foundation/json_writer.h"
#include "foundation/strict_json.h"
#include "topology/cluster_builder.h"
#include "topology/cluster_reader.h"
#include "topology/cluster_writer.h"

namespace reshard {
namespace {

Result<ClusterDescription> ReadJobCluster(const JsonCursor& job, const Folder& folder) {
  const Result<JsonCursor> field = job.Field("cluster");
  if (!field) return tl::unexpected(field.error());
  if (field->value().AsString() == nullptr) return ReadClusterDescription(*field);
  const Result<JsonDocument> file = folder.Read(*field);
  if (!file) return tl::unexpected(file.error());
  return ReadClusterDescription(JsonCursor(*file));
}

Result<Job> JobOf(const JsonDocument& document, const Folder& folder) {
  const JsonCursor cursor(document);
  const Result<void> known =
      cursor.ExpectFields({"cluster", "model", "source", "destination", "options"});
  if (!known) return tl::unexpected(known.error());
  const Result<ClusterDescription> description = ReadJobCluster(cursor, folder);
  if (!description) return tl::unexpected(description.error());
  Result<Cluster> cluster = BuildCluster(*description);
  if (!cluster) return tl::unexpected(cluster.error());
  const Result<JobOptions> options = ReadJobOptions(cursor.Find("options"));
  if (!options) return tl::unexpected(options.error());
  const Result<JsonCursor> model_field = cursor.Field("model");
  if (!model_field) return tl::unexpected(model_field.error());
  const Result<Model> model = ReadModel(*model_field, folder);
  if (!model) return tl::unexpected(model.error());

  const auto read_side = [&](const std::string& name) -> Result<Side> {
    const Result<JsonCursor> field = cursor.Field(name);
    if (!field) return tl::unexpected(field.error());
    return ReadSide(*field, name, *model, *cluster, folder);
  };
  Result<Side> source = read_side("source");
  if (!source) return tl::unexpected(source.error());
  Result<Side> destination = read_side("destination");
  if (!destination) return tl::unexpected(destination.error());

  JsonValue::Object canonical;
  canonical.emplace_back("cluster", ClusterToJson(*description));
  canonical.emplace_back("model", ModelToJson(*model));
  canonical.emplace_back("source", SideToJson(*source));
  canonical.emplace_back("destination", SideToJson(*destination));
  canonical.emplace_back("options", JobOptionsToJson(*options));

  Result<JobAssembly> assembly = AssembleJob(document.name, *cluster, *model, std::move(*source),
                                             std::move(*destination), *options);
  if (!assembly) return tl::unexpected(assembly.error());
  Job job;
  job.cluster = std::move(*cluster);
  job.records = std::move(assembly->records);
  job.notices = std::move(assembly->notices);
  job.canonical_json = CanonicalJson(canonical);
  job.digest = DigestHex(job.canonical_json);
  return job;
}

}  // namespace

Result<Job> ReadJob(const std::string& path,
                    const std::vector<std::pair<std::string, std::string>>& settings) {
  Result<JsonDocument> document = ReadJsonFile(path);
  if (!document) return tl::unexpected(document.error());
  for (const auto& [where, value] : settings) {
    const Result<void> set = SetJson(*document, where, value);
    if (!set) return tl::unexpected(set.error());
  }
  return JobOf(*document, Folder::Of(path));
}

Result<Job> ParseJob(const std::string& canonical_json, const std::string& place) {
  const Result<JsonDocument> document = ParseJson(canonical_json, place);
  if (!document) return tl::unexpected(document.error());
  return JobOf(*document, Folder::Nowhere());
}

}  // namespace reshard
