// One side of a job: its groups, each with its GPUs and what they hold.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/job/casts.h"
#include "compiler/layout/folder.h"
#include "compiler/layout/layout_builder.h"
#include "compiler/layout/model.h"
#include "foundation/error.h"
#include "foundation/json_cursor.h"
#include "foundation/json_value.h"
#include "topology/cluster.h"

namespace reshard {

struct SideGroup {
  std::string place;               // of the group in its file
  std::vector<std::int32_t> gpus;  // in rank order of the group
  std::vector<bool> absent;        // per GPU: the layout counts it, but it takes no part
  std::string kind;                // of its layout: "explicit", "megatron", ..
  JsonValue layout_fields;         // as written behind the kind
  std::vector<Cast> casts;         // as written
  // The model `layout` is built of where that is not the job's: the group holds or is given tensors
  // in forms of its own.
  std::optional<FormedModel> formed;
  GroupLayout layout;
};

struct Side {
  std::string name;  // "source" or "destination"
  std::vector<SideGroup> groups;
};

// Reads {"gpus": .., "without": .., "layout": {kind: ..}} or a list of such. An explicit layout may
// be the path of a file in `folder`. The layout is that of all of `gpus`; those of `without`
// (optional) hold nothing and need nothing. Errors: a GPU that the cluster lacks, that is dead and
// not absent or that stands in the side twice; a side without a GPU left; what the layout's own
// builder refuses.
//
// Of the destination, `inherited` are the casts with which tensors leave the source
// (OutgoingCasts), and null of the source itself.
Result<Side> ReadSide(const JsonCursor& cursor, const std::string& name, const Model& model,
                      const Cluster& cluster, const Folder& folder,
                      const std::vector<Cast>* inherited);

// The casts of a source, which all its groups must have.
Result<std::vector<Cast>> OutgoingCasts(const Side& source);

// The tensors that ranks of the group hold elements of, absent ones included, by their number in
// the model that its layout is of; ascending.
std::vector<TensorIndex> HeldTensors(const SideGroup& group);

// The side with its layouts inlined; ReadSide makes an equal side from it.
JsonValue SideToJson(const Side& side);

}  // namespace reshard
