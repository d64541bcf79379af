// Times over values of one quantity, as a picture (SVG).
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace reshard {

struct PlotLine {
  std::string name;
  std::string colour;                          // as CSS writes it
  std::vector<std::optional<double>> seconds;  // per value; none where nothing runs
};

struct LinePlot {
  std::string title;
  std::string quantity;             // of the horizontal axis
  std::vector<std::string> values;  // at least one, in order
  std::vector<PlotLine> lines;
};

// Values that are all numbers, ascending, lie where they belong, on a scale of powers where they
// span more than a factor of ten; other values stand side by side. The vertical axis begins at 0. A
// value for which a line has no time has a cross on the axis. Later lines lie on earlier ones.
// Equal plots give equal text.
std::string DrawLinePlot(const LinePlot& plot);

}  // namespace reshard
