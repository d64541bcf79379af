// The page that reshard-simulate --report fills: tools/report_template.html, built in.
#pragma once

#include <string_view>

namespace reshard {

std::string_view ReportTemplate();

}  // namespace reshard
