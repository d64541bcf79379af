// Texts of users inside XML, HTML and Graphviz's HTML-like labels.
#pragma once

#include <string>
#include <string_view>

namespace reshard {

// `text` as one line that shows as it is: what markup gives a meaning is escaped, also inside
// attributes, and control characters, which XML knows not, are spaces.
std::string EscapeMarkup(std::string_view text);

}  // namespace reshard
