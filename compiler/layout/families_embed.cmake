# Writes OUTPUT, a C++ file that holds the text of FILES (sorted), by name.
set(ROWS "")
foreach(FILE ${FILES})
  get_filename_component(NAME ${FILE} NAME)
  file(READ ${FILE} TEXT)
  # A literal for each line, so that the generated file reads like the JSON.
  string(REPLACE "\\" "\\\\" TEXT "${TEXT}")
  string(REPLACE "\"" "\\\"" TEXT "${TEXT}")
  string(REPLACE "\n" "\\n\"\n    \"" TEXT "${TEXT}")
  string(APPEND ROWS "  {\"${NAME}\",\n    \"${TEXT}\"},\n")
endforeach()
list(LENGTH FILES COUNT)
file(WRITE ${OUTPUT}
"// Generated from families/*.json.
#include <array>

#include \"compiler/layout/family_catalog.h\"

namespace reshard {

std::span<const std::pair<std::string_view, std::string_view>> BuiltinFamilyFiles() {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, ${COUNT}> kFiles{{
${ROWS}  }};
  return kFiles;
}

}  // namespace reshard
")
