// The texts of an SVG and where they stand, so that a test can say that none covers another.
#pragma once

#include <string>
#include <vector>

namespace reshard {

struct SvgText {
  std::string text;  // as it is in the file, escaped
  double left = 0;
  double right = 0;
  double top = 0;
  double bottom = 0;
};

// All <text> elements as SvgPicture writes them; widths are those of a common sans serif font.
std::vector<SvgText> TextsOf(const std::string& svg);

// "'a' covers 'b'" for the first pair of texts that overlap or the first that leaves the picture;
// empty if there is none.
std::string OverlapIn(const std::string& svg);

}  // namespace reshard
