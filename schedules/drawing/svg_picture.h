// A picture drawn stroke by stroke, where Graphviz has nothing to lay out: charts over rounds and
// over time.
//
// Coordinates are pixels from the upper left corner, y downwards. Texts are escaped here.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reshard {

enum class TextAnchor { kStart, kMiddle, kEnd };

struct TextStyle {
  double size = 12;
  TextAnchor anchor = TextAnchor::kStart;
  const char* color = "#263238";
  bool bold = false;
};

class SvgPicture {
 public:
  explicit SvgPicture(double width) : width_(width) {}

  // `hint` is shown where the pointer rests on it; none if it is empty.
  void AddRectangle(double x, double y, double width, double height, std::string_view fill,
                    std::string_view hint = "");
  void AddFrame(double x, double y, double width, double height, std::string_view stroke);
  void AddLine(double x1, double y1, double x2, double y2, std::string_view stroke,
               bool dashed = false);
  // The area between the line through `points`, which ascend by x, and y = `base`.
  void AddArea(const std::vector<std::pair<double, double>>& points, double base,
               std::string_view fill);
  // `y` is the text's base line.
  void AddText(double x, double y, std::string_view text, const TextStyle& style = {});

  double width() const { return width_; }
  // Wide enough for `text` in the sans serif fonts of common systems.
  static double TextWidth(std::string_view text, const TextStyle& style);

  // The whole SVG, on white.
  std::string Take(double height) const;

 private:
  double width_;
  std::string body_;
};

}  // namespace reshard
