// An element of an XML document and its typed attributes; every error names file, line and element.
#pragma once

#include <cstdint>
#include <optional>
#include <pugixml.hpp>
#include <string>
#include <string_view>

#include "foundation/error.h"
#include "foundation/json_cursor.h"

namespace reshard {

// A parsed document. Document type declarations are refused, and with them every entity but XML's
// own five.
class XmlDocument {
 public:
  static Result<XmlDocument> Parse(std::string_view text, std::string name);

  pugi::xml_node root() const { return document_.document_element(); }
  // "topo.xml: line 12", of an offset in bytes.
  std::string Place(std::ptrdiff_t offset) const;

 private:
  pugi::xml_document document_;
  std::string text_;
  std::string name_;
};

class XmlElement {
 public:
  XmlElement(const XmlDocument& document, pugi::xml_node node)
      : document_(&document), node_(node) {}

  std::string_view name() const { return node_.name(); }
  pugi::xml_node node() const { return node_; }
  std::string Place() const { return document_->Place(node_.offset_debug()); }
  // An input error at this element.
  tl::unexpected<Error> Fail(std::string reason, std::string remedy = "") const;

  // Empty where absent.
  std::string_view Text(const char* attribute) const;
  // None where absent; an error where it is no integer of the range.
  Result<std::optional<std::int64_t>> Integer(const char* attribute,
                                              const IntegerRange& range) const;

 private:
  const XmlDocument* document_;
  pugi::xml_node node_;
};

}  // namespace reshard
