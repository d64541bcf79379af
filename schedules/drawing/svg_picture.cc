#include "schedules/drawing/svg_picture.h"

#include <fmt/format.h>

#include <iterator>

#include "schedules/drawing/markup_text.h"

namespace reshard {
namespace {

// Hundredths of a pixel are enough, and keep files small.
std::string Length(double value) {
  std::string text = fmt::format("{:.2f}", value);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

const char* AnchorName(TextAnchor anchor) {
  switch (anchor) {
    case TextAnchor::kStart:
      return "start";
    case TextAnchor::kMiddle:
      return "middle";
    case TextAnchor::kEnd:
      return "end";
  }
  return "start";
}

}  // namespace

void SvgPicture::AddRectangle(double x, double y, double width, double height,
                              std::string_view fill, std::string_view hint) {
  const auto out = std::back_inserter(body_);
  fmt::format_to(out, R"(<rect x="{}" y="{}" width="{}" height="{}" fill="{}")", Length(x),
                 Length(y), Length(width), Length(height), fill);
  if (hint.empty()) {
    body_ += "/>\n";
  } else {
    fmt::format_to(out, "><title>{}</title></rect>\n", EscapeMarkup(hint));
  }
}

void SvgPicture::AddFrame(double x, double y, double width, double height,
                          std::string_view stroke) {
  fmt::format_to(
      std::back_inserter(body_),
      "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"{}\"/>\n",
      Length(x), Length(y), Length(width), Length(height), stroke);
}

void SvgPicture::AddLine(double x1, double y1, double x2, double y2, std::string_view stroke,
                         bool dashed) {
  fmt::format_to(std::back_inserter(body_),
                 "<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"{}\"{}/>\n", Length(x1),
                 Length(y1), Length(x2), Length(y2), stroke,
                 dashed ? " stroke-dasharray=\"5 3\"" : "");
}

void SvgPicture::AddArea(const std::vector<std::pair<double, double>>& points, double base,
                         std::string_view fill) {
  if (points.empty()) return;
  const auto out = std::back_inserter(body_);
  fmt::format_to(out, "<path d=\"M{} {}", Length(points.front().first), Length(base));
  for (const auto& [x, y] : points) fmt::format_to(out, "L{} {}", Length(x), Length(y));
  fmt::format_to(out, "L{} {}Z\" fill=\"{}\"/>\n", Length(points.back().first), Length(base), fill);
}

void SvgPicture::AddText(double x, double y, std::string_view text, const TextStyle& style) {
  fmt::format_to(std::back_inserter(body_),
                 "<text x=\"{}\" y=\"{}\" font-size=\"{}\" text-anchor=\"{}\" fill=\"{}\"{}>{}"
                 "</text>\n",
                 Length(x), Length(y), Length(style.size), AnchorName(style.anchor), style.color,
                 style.bold ? " font-weight=\"bold\"" : "", EscapeMarkup(text));
}

double SvgPicture::TextWidth(std::string_view text, const TextStyle& style) {
  // DejaVu Sans, the widest of the usual ones: digits 0.64 of the size, most letters less.
  const double letter = style.bold ? 0.72 : 0.64;
  return static_cast<double>(text.size()) * letter * style.size;
}

std::string SvgPicture::Take(double height) const {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} "
      "{1}\" font-family=\"Helvetica, Arial, sans-serif\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n{2}</svg>\n",
      Length(width_), Length(height), body_);
}

}  // namespace reshard
