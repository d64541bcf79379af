#include "svg_texts.h"

#include <cstdlib>
#include <regex>

namespace reshard {

std::vector<SvgText> TextsOf(const std::string& svg) {
  static const std::regex kText(
      "<text x=\"([-.0-9]+)\" y=\"([-.0-9]+)\" font-size=\"([.0-9]+)\" text-anchor=\"(\\w+)\""
      "[^>]*>([^<]*)</text>");
  std::vector<SvgText> texts;
  for (std::sregex_iterator found(svg.begin(), svg.end(), kText), end; found != end; ++found) {
    const double x = std::stod((*found)[1]);
    const double y = std::stod((*found)[2]);
    const double size = std::stod((*found)[3]);
    const std::string anchor = (*found)[4];
    SvgText text{(*found)[5], x, x, y - 0.75 * size, y + 0.2 * size};
    const double width = 0.55 * size * static_cast<double>(text.text.size());
    text.left -= anchor == "end" ? width : anchor == "middle" ? width / 2 : 0;
    text.right = text.left + width;
    texts.push_back(text);
  }
  return texts;
}

std::string OverlapIn(const std::string& svg) {
  static const std::regex kSize("viewBox=\"0 0 ([.0-9]+) ([.0-9]+)\"");
  std::smatch size;
  if (!std::regex_search(svg, size, kSize)) return "no picture";
  const std::vector<SvgText> texts = TextsOf(svg);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const SvgText& a = texts[i];
    if (a.left < 0 || a.top < 0 || a.right > std::stod(size[1]) || a.bottom > std::stod(size[2])) {
      return "'" + a.text + "' leaves the picture";
    }
    for (std::size_t k = i + 1; k < texts.size(); ++k) {
      const SvgText& b = texts[k];
      if (a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom) {
        return "'" + a.text + "' covers '" + b.text + "'";
      }
    }
  }
  return "";
}

}  // namespace reshard
