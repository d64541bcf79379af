// A cluster from JSON text in a test.
#pragma once

#include <string>
#include <string_view>

#include "foundation/strict_json.h"
#include "topology/cluster_builder.h"
#include "topology/cluster_reader.h"

namespace reshard {

inline Result<ClusterDescription> DescriptionFromText(std::string_view text) {
  const Result<JsonDocument> document = ParseJson(text, "cluster.json");
  if (!document) return tl::unexpected(document.error());
  return ReadClusterDescription(JsonCursor(*document));
}

inline Result<Cluster> ClusterFromText(std::string_view text) {
  return DescriptionFromText(text).and_then(BuildCluster);
}

// The error `text` is refused with, on one line; "accepted" if it is not.
inline std::string Refusal(std::string_view text) {
  const Result<Cluster> cluster = ClusterFromText(text);
  return cluster ? "accepted" : ToString(cluster.error());
}

}  // namespace reshard
