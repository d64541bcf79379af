// cluster.json, as a file or as an object inside another one.
//
//   { "types":     { NAME: { "gpus", "gpusPerNode", "nvlinkGBps", "hbmGBps",
//                            "nics": [ { "gpus": [..], "GBps", "rail" } ],
//                            "nvlinkLatencyUs", "networkLatencyUs" } },
//     "domains":   [ { "type", "gpus", "count" } ],
//     "fabric":    { "railCrossing": "FULL" | "SPINE" | "NONE", "spineOversubscription",
//                    "switches": [ { "domains": [..], "oversubscription" } ] },
//     "overrides": [ { "gpu", "nicGBps", "nvlinkGBps", "dead" } | { "nic", "GBps" } |
//                    { "domain", "nvlinkGBps" } ] }
//
// Only "domains" is required; each entry needs its "type", which is one of "types" or a built-in
// one (one of "types" wins). "gpus" of an entry is 1 to the type's, its default; "count" is 1. Of a
// type, "gpus", "hbmGBps", "nics" (empty is legal) and, of more than one GPU, "nvlinkGBps" are
// required; "gpusPerNode" defaults to "gpus", "rail" to the NIC's position in "nics", latencies to
// those of the built-in types. Rates are at least 0 and "hbmGBps" above; oversubscriptions at least
// 1, their default, and that of the spine above 1 only with "SPINE".
#pragma once

#include <string>

#include "foundation/error.h"
#include "foundation/json_cursor.h"
#include "topology/cluster.h"
#include "topology/cluster_description.h"

namespace reshard {

// What the object at `cursor` says; indices in fabric and overrides are checked by BuildCluster.
Result<ClusterDescription> ReadClusterDescription(const JsonCursor& cursor);

// Both steps: read, then BuildCluster.
Result<Cluster> ReadCluster(const JsonCursor& cursor);
Result<Cluster> ReadClusterFile(const std::string& path);

}  // namespace reshard
