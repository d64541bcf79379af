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

// Whether place `a` of some bytes comes before place `b` in a layout: parameters that share memory
// with one of the destination first, so that what is moved next to its source stays where it is;
// then by parameter and offset.
bool IsPlaceBefore(const JobRecords& job, const RankLayout& layout, const Region& a,
                   const Region& b);

// One program per (layout, class) the layout holds or needs bytes of, more where it needs them at
// several places (in the order of IsPlaceBefore()), and one for the zeros of each destination
// layout that declares any; sorted.
std::vector<CopyProgram> BuildPrograms(const JobRecords& job, const Demand& demand);

}  // namespace reshard
