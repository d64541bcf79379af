// What-if: another job, made by edits of the one that a plan embeds.
#pragma once

#include <span>
#include <string>

#include "compiler/job/edit_text.h"
#include "foundation/error.h"

namespace reshard {

// Keys, beside the parts that compiler/job/edit_text.h names:
//   domains                            the same GPUs dealt in order over that many equal domains
//   nicGBps, nvlinkGBps, hbmGBps       of every type in use; `=` or `*`
//   nvlinkLatencyUs, networkLatencyUs  of every type in use; `=` or `*`
//   spine                              railCrossing SPINE with that oversubscription
//   railCrossing                       FULL, SPINE or NONE
//   planner, stagingMiB, chunkMiB      of the options
//   maxOpsPerGroup, maxPeers, nicShare of the options
//   source.FIELD, destination.FIELD    of the layout of every group of the side
//
// A dead part: a NIC, or every NIC of a rail, has rate 0; of a GPU, or of every GPU of a domain,
// the source's groups go on without it, and of the destination the inference engine it belongs to
// is dropped as a whole.
//
// The canonical text of a job (Plan::job_json) as edited, in order, not yet read as a job: ParseJob
// says whether it is one. Errors name the edit; those of fault kUsage stand for unknown names and
// numbers, those of kInput for what this job does not allow.
Result<std::string> EditJob(const std::string& job_json, std::span<const JobEdit> edits);

// Fails, as EditJob does, where an edit's key is unknown whatever the job, or takes no factor.
Result<void> CheckEditKeys(std::span<const JobEdit> edits);

}  // namespace reshard
