// Layouts -> demand: regions of both sides intersected on the common refinement of their cut
// points.
#pragma once

#include "foundation/error.h"
#include "schedules/copy_program.h"
#include "schedules/demand.h"

namespace reshard {

// Time is proportional to regions plus fragments (and their logarithm), never to cells on axes that
// nobody cuts. Fails where a byte that is needed has no holder, naming tensor and box.
Result<Demand> BuildDemand(const JobRecords& job);

// One program per (layout, class) the layout holds or needs bytes of, more where it needs them at
// several places (in order of its regions), and one for the zeros of each destination layout that
// declares any; sorted.
std::vector<CopyProgram> BuildPrograms(const JobRecords& job, const Demand& demand);

}  // namespace reshard
