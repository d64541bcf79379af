#include "topology/importers/xml_element.h"

#include <algorithm>
#include <utility>

#include "topology/importers/quotation.h"

namespace reshard {

Result<XmlDocument> XmlDocument::Parse(std::string_view text, std::string name) {
  XmlDocument parsed;
  parsed.text_ = text;
  parsed.name_ = std::move(name);
  // parse_doctype only keeps the declaration as a node: pugixml never expands what it declares.
  const pugi::xml_parse_result result = parsed.document_.load_buffer(
      text.data(), text.size(), pugi::parse_default | pugi::parse_doctype, pugi::encoding_utf8);
  if (!result) {
    return InputError(parsed.Place(result.offset),
                      std::string("is no XML or cut short: ") + result.description());
  }
  for (const pugi::xml_node node : parsed.document_.children()) {
    if (node.type() != pugi::node_doctype) continue;
    return InputError(parsed.Place(node.offset_debug()),
                      "a document type declaration, which NCCL never writes", "remove it");
  }
  return parsed;
}

std::string XmlDocument::Place(std::ptrdiff_t offset) const {
  if (offset < 0) return name_;
  const std::string_view before = std::string_view(text_).substr(0, offset);
  return name_ + ": line " + std::to_string(std::count(before.begin(), before.end(), '\n') + 1);
}

tl::unexpected<Error> XmlElement::Fail(std::string reason, std::string remedy) const {
  return InputError(Place(), std::string(name().substr(0, 40)) + ": " + std::move(reason),
                    std::move(remedy));
}

std::string_view XmlElement::Text(const char* attribute) const {
  return node_.attribute(attribute).value();
}

Result<std::optional<std::int64_t>> XmlElement::Integer(const char* attribute,
                                                        const IntegerRange& range) const {
  if (!node_.attribute(attribute)) return std::nullopt;
  const std::string_view text = Text(attribute);
  const std::optional<std::int64_t> value = WholeInteger(text);
  if (value && *value >= range.min && *value <= range.max) return value;
  return Fail(std::string(attribute) + ": expected an integer from " + std::to_string(range.min) +
              " to " + std::to_string(range.max) + ", got " + Quoted(text));
}

}  // namespace reshard
