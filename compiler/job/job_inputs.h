// What a job's file and the files it names say, before both sides are held against each other.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compiler/job/job_options.h"
#include "compiler/job/job_side.h"
#include "compiler/layout/folder.h"
#include "compiler/layout/model.h"
#include "foundation/error.h"
#include "foundation/json_value.h"
#include "topology/cluster_builder.h"
#include "topology/cluster_reader.h"

namespace reshard {

struct JobInputs {
  ClusterDescription description;
  Cluster cluster;
  JobOptions options;
  Model model;
  Side source;
  Side destination;
};

// In which shapes the regions of layouts count tensors (Model::views).
enum class RegionShapes {
  kAsListed,  // those of the model
  kViewed,    // as its family sees them, where nothing is cast
};

// Reads a job whose files lie in `folder`.
Result<JobInputs> ReadJobInputs(const JsonDocument& job, const Folder& folder, RegionShapes shapes);

// Reads `path`, shapes as listed. `settings` are --set path=value edits.
Result<JobInputs> ReadJobInputs(
    const std::string& path, const std::vector<std::pair<std::string, std::string>>& settings = {});

}  // namespace reshard
