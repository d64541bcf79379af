// A cluster as JSON, for embedding in a plan.
#pragma once

#include "foundation/json_value.h"
#include "topology/cluster_description.h"

namespace reshard {

// The cluster.json that reads back as an equal cluster, of a description that BuildCluster accepts.
// Every type that is used is written out, built-in ones too, so that the text keeps its rates
// whatever types a later version knows; equal domains in a row are one entry.
JsonValue ClusterToJson(const ClusterDescription& description);

}  // namespace reshard
