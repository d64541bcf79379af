// Utilisation over time as areas: how busy a domain's NICs and NVLink were.
#pragma once

#include <string>

#include "foundation/error.h"
#include "schedules/drawing/chart.h"

namespace reshard {

// The mean of `frame`'s domains.
DomainLoad MeanLoad(const DomainFrame& frame, const ReplayRecord& record);

// One strip of 0 to 100 %, over time, with its mean at the right; `name` stands at the left.
void AddLoadStrip(const PlotArea& area, const std::string& name, const std::vector<double>& load,
                  const ReplayRecord& record, const char* color, SvgPicture& picture);

// A strip for the NICs of each frame, each way, and for its NVLink. `plan` is whole; `record` is of
// its replay on `cluster`.
Result<std::string> DrawLoadChart(const Plan& plan, const Cluster& cluster,
                                  const ReplayRecord& record);

// Strips of one frame below each other, those that carry something; returns the first free y.
double AddLoadStrips(const DomainFrame& frame, const Plan& plan, const ReplayRecord& record,
                     const PlotArea& row, SvgPicture& picture);

}  // namespace reshard
