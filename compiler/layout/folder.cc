#include "compiler/layout/folder.h"

#include <filesystem>

#include "foundation/strict_json.h"

namespace reshard {

Folder Folder::Of(const std::string& file) {
  Folder folder;
  folder.exists_ = true;
  folder.path_ = std::filesystem::path(file).parent_path().string();
  return folder;
}

Result<std::string> Folder::Path(const JsonCursor& field) const {
  const Result<std::string> path = field.AsString();
  if (!path) return tl::unexpected(path.error());
  if (path->empty()) return field.Fail("an empty path");
  if (!exists_) {
    return field.Fail("names the file '" + *path +
                      "', but a job inside a plan holds everything inline");
  }
  if (path_.empty()) return *path;
  return (std::filesystem::path(path_) / *path).lexically_normal().string();
}

Result<JsonDocument> Folder::Read(const JsonCursor& field) const {
  const Result<std::string> path = Path(field);
  if (!path) return tl::unexpected(path.error());
  return ReadJsonFile(*path);
}

}  // namespace reshard
