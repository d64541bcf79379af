#include <utility>

#include "compiler/job/form_union.h"
#include "compiler/job/job.h"
#include "compiler/job/job_assembly.h"
#include "compiler/job/job_inputs.h"
#include "compiler/job/job_options.h"
#include "compiler/job/job_side.h"
#include "compiler/layout/family_views.h"
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

// The document at `path`, edited.
Result<JsonDocument> ReadEdited(const std::string& path,
                                const std::vector<std::pair<std::string, std::string>>& settings) {
  Result<JsonDocument> document = ReadJsonFile(path);
  if (!document) return tl::unexpected(document.error());
  for (const auto& [where, value] : settings) {
    const Result<void> set = SetJson(*document, where, value);
    if (!set) return tl::unexpected(set.error());
  }
  return document;
}

// Both sides, of the model and cluster that `inputs` has.
Result<void> ReadSides(const JsonCursor& job, const Folder& folder, JobInputs& inputs) {
  const auto read_side = [&](const std::string& name,
                             const std::vector<Cast>* inherited) -> Result<Side> {
    const Result<JsonCursor> field = job.Field(name);
    if (!field) return tl::unexpected(field.error());
    return ReadSide(*field, name, inputs.model, inputs.cluster, folder, inherited);
  };
  Result<Side> source = read_side("source", nullptr);
  if (!source) return tl::unexpected(source.error());
  inputs.source = *std::move(source);
  const Result<std::vector<Cast>> outgoing = OutgoingCasts(inputs.source);
  if (!outgoing) return tl::unexpected(outgoing.error());
  Result<Side> destination = read_side("destination", &*outgoing);
  if (!destination) return tl::unexpected(destination.error());
  inputs.destination = *std::move(destination);
  return {};
}

Result<Job> JobOf(const JsonDocument& document, const Folder& folder) {
  Result<JobInputs> inputs = ReadJobInputs(document, folder, RegionShapes::kViewed);
  if (!inputs) return tl::unexpected(inputs.error());
  JsonValue::Object canonical;
  canonical.emplace_back("cluster", ClusterToJson(inputs->description));
  canonical.emplace_back("model", ModelToJson(inputs->model));
  canonical.emplace_back("source", SideToJson(inputs->source));
  canonical.emplace_back("destination", SideToJson(inputs->destination));
  canonical.emplace_back("options", JobOptionsToJson(inputs->options));

  Result<JobAssembly> assembly =
      AssembleJob(document.name, inputs->cluster, inputs->model, std::move(inputs->source),
                  std::move(inputs->destination), inputs->options);
  if (!assembly) return tl::unexpected(assembly.error());
  Job job;
  job.cluster = std::move(inputs->cluster);
  job.records = std::move(assembly->records);
  job.notices = std::move(assembly->notices);
  job.canonical_json = CanonicalJson(canonical);
  job.digest = DigestHex(job.canonical_json);
  return job;
}

}  // namespace

Result<JobInputs> ReadJobInputs(const JsonDocument& job, const Folder& folder,
                                RegionShapes shapes) {
  const JsonCursor cursor(job);
  const Result<void> known =
      cursor.ExpectFields({"cluster", "model", "source", "destination", "options"});
  if (!known) return tl::unexpected(known.error());
  JobInputs inputs;
  Result<ClusterDescription> description = ReadJobCluster(cursor, folder);
  if (!description) return tl::unexpected(description.error());
  inputs.description = *std::move(description);
  Result<Cluster> cluster = BuildCluster(inputs.description);
  if (!cluster) return tl::unexpected(cluster.error());
  inputs.cluster = *std::move(cluster);
  Result<JobOptions> options = ReadJobOptions(cursor.Find("options"));
  if (!options) return tl::unexpected(options.error());
  inputs.options = *std::move(options);
  const Result<JsonCursor> model_field = cursor.Field("model");
  if (!model_field) return tl::unexpected(model_field.error());
  Result<Model> model = ReadModel(*model_field, folder);
  if (!model) return tl::unexpected(model.error());
  inputs.model = *std::move(model);

  if (shapes == RegionShapes::kViewed) inputs.model.views = ViewsOfFamily(inputs.model);
  if (const Result<void> read = ReadSides(cursor, folder, inputs); !read) {
    return tl::unexpected(read.error());
  }
  // Blocks of a cast are of tensors as listed.
  if (!inputs.model.views.empty() && (HasForms(inputs.source) || HasForms(inputs.destination))) {
    inputs.model.views.clear();
    if (const Result<void> read = ReadSides(cursor, folder, inputs); !read) {
      return tl::unexpected(read.error());
    }
  }
  return inputs;
}

Result<JobInputs> ReadJobInputs(const std::string& path,
                                const std::vector<std::pair<std::string, std::string>>& settings) {
  const Result<JsonDocument> document = ReadEdited(path, settings);
  if (!document) return tl::unexpected(document.error());
  return ReadJobInputs(*document, Folder::Of(path), RegionShapes::kAsListed);
}

Result<Job> ReadJob(const std::string& path,
                    const std::vector<std::pair<std::string, std::string>>& settings) {
  const Result<JsonDocument> document = ReadEdited(path, settings);
  if (!document) return tl::unexpected(document.error());
  return JobOf(*document, Folder::Of(path));
}

Result<Job> ParseJob(const std::string& canonical_json, const std::string& place) {
  const Result<JsonDocument> document = ParseJson(canonical_json, place);
  if (!document) return tl::unexpected(document.error());
  return JobOf(*document, Folder::Nowhere());
}

}  // namespace reshard
