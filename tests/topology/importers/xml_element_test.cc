#include "topology/importers/xml_element.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reshard {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string Refusal(std::string_view text) {
  const Result<XmlDocument> document = XmlDocument::Parse(text, "topo.xml");
  return document ? "accepted" : ToString(document.error());
}

TEST(XmlDocumentTest, NamesFileAndLineOfDamage) {
  EXPECT_THAT(Refusal("<system>\n<cpu>\n</system>"), StartsWith("topo.xml: line 3: "));
  EXPECT_THAT(Refusal("<system>\n<cpu numaid=0/>"), StartsWith("topo.xml: line 2: "));
  EXPECT_THAT(Refusal(""), StartsWith("topo.xml"));
}

TEST(XmlDocumentTest, RefusesDeclaredEntities) {
  EXPECT_THAT(Refusal("<!DOCTYPE system [<!ENTITY a \"b\">]>\n<system>&a;</system>"),
              HasSubstr("document type declaration"));
}

TEST(XmlElementTest, IntegersAreWholeAndInRange) {
  const Result<XmlDocument> document = XmlDocument::Parse(
      "<a\n/><!-- --><b one=\"1\" big=\"99999999999999999999\" "
      "text=\"4x\" low=\"-2\"/>",
      "topo.xml");
  // The document element is the first one.
  ASSERT_TRUE(document) << ToString(document.error());
  const XmlElement element(*document, document->root().next_sibling("b"));
  EXPECT_EQ(**element.Integer("one", {0, 9}), 1);
  EXPECT_FALSE(element.Integer("absent", {0, 9})->has_value());
  EXPECT_EQ(ToString(element.Integer("big", {0, 9}).error()),
            "topo.xml: line 2: b: big: expected an integer from 0 to 9, got "
            "'99999999999999999999'");
  EXPECT_THAT(ToString(element.Integer("text", {0, 9}).error()), HasSubstr("got '4x'"));
  EXPECT_THAT(ToString(element.Integer("low", {-1, 9}).error()), HasSubstr("from -1 to 9"));
}

}  // namespace
}  // namespace reshard
