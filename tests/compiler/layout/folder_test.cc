#include "compiler/layout/folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/compiler/layout/layout_contents.h"

namespace reshard {
namespace {

std::string PathIn(const Folder& folder, const std::string& json) {
  const JsonDocument document = Json(json, "job.json");
  const Result<std::string> path = folder.Path(JsonCursor(document));
  return path ? *path : "refused: " + ToString(path.error());
}

TEST(FolderTest, PathsAreRelativeToTheFile) {
  EXPECT_EQ(PathIn(Folder::Of("jobs/a/job.json"), "\"../cluster.json\""), "jobs/cluster.json");
  EXPECT_EQ(PathIn(Folder::Of("jobs/job.json"), "\"b/model.json\""), "jobs/b/model.json");
  EXPECT_EQ(PathIn(Folder::Of("job.json"), "\"model.json\""), "model.json");
  EXPECT_EQ(PathIn(Folder::Of("jobs/job.json"), "\"/models/m.json\""), "/models/m.json");
}

TEST(FolderTest, NowhereRefusesFiles) {
  EXPECT_EQ(PathIn(Folder::Nowhere(), "\"m.json\""),
            "refused: job.json: names the file 'm.json', but a job inside a plan holds everything "
            "inline");
}

TEST(FolderTest, OnlyStringsArePaths) {
  EXPECT_EQ(PathIn(Folder::Of("job.json"), "3"),
            "refused: job.json: expected a string, got an integer");
  EXPECT_EQ(PathIn(Folder::Of("job.json"), "\"\""), "refused: job.json: an empty path");
}

}  // namespace
}  // namespace reshard
