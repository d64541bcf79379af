// Where the paths that an input file names lead.
#pragma once

#include <string>

#include "foundation/error.h"
#include "foundation/json_cursor.h"
#include "foundation/json_value.h"

namespace reshard {

// The folder of an input file; or nowhere, for text that holds everything inline (a plan's job).
class Folder {
 public:
  static Folder Of(const std::string& file);
  static Folder Nowhere() { return {}; }

  // The file that the string at `field` names; absolute paths stay. An Error nowhere.
  Result<std::string> Path(const JsonCursor& field) const;
  // The JSON document there.
  Result<JsonDocument> Read(const JsonCursor& field) const;

 private:
  bool exists_ = false;
  std::string path_;
};

}  // namespace reshard
