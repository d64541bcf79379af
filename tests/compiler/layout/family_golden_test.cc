// The tensors a config implies are those that transformers builds and publishes
// (tests/oracles/family_tensors.py wrote family_tensors.json).
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/layout/family_catalog.h"
#include "compiler/layout/family_tensors.h"
#include "family_test_model.h"
#include "foundation/json_cursor.h"
#include "foundation/json_writer.h"
#include "foundation/strict_json.h"
#include "gtest/gtest.h"
#include "schedules/dtype.h"
#include "tests/source_directory.h"

namespace reshard {
namespace {

struct Golden {
  std::string name;
  std::string config;  // JSON
  std::map<std::string, std::pair<std::string, std::vector<std::int64_t>>> tensors{};
};

std::vector<Golden> ReadGolden() {
  const Result<JsonDocument> document =
      ReadJsonFile(SourceDirectory() + "/tests/compiler/layout/family_tensors.json");
  EXPECT_TRUE(document) << ToString(document.error());
  std::vector<Golden> cases;
  if (!document) return cases;
  const std::vector<JsonCursor> entries = *JsonCursor(*document).Elements();
  for (const JsonCursor& entry : entries) {
    Golden golden{.name = *entry.String("name"),
                  .config = CanonicalJson(entry.Field("config")->value())};
    const std::vector<JsonCursor> rows = *entry.Elements("tensors");
    for (const JsonCursor& row : rows) {
      const std::vector<JsonCursor> parts = *row.Elements();
      golden.tensors[*parts[0].AsString()] = {*parts[1].AsString(),
                                              *parts[2].AsIntegers(kPositiveInteger)};
    }
    cases.push_back(std::move(golden));
  }
  return cases;
}

// transformers keeps these routers in F32 in memory, whatever the checkpoint has; published
// checkpoints have them in the model's own dtype.
bool IsRouterInMemory(const std::string& name) { return name.ends_with(".gate.weight"); }

TEST(FamilyGolden, ConfigsImplyWhatTransformersPublishes) {
  for (const Golden& golden : ReadGolden()) {
    const Result<Model> model = ModelOf(golden.config);
    ASSERT_TRUE(model) << golden.name << ": " << ToString(model.error());
    std::set<std::string> listed;
    for (const Tensor& tensor : model->tensors) {
      listed.insert(tensor.name);
      const auto wanted = golden.tensors.find(tensor.name);
      if (wanted == golden.tensors.end()) {
        ADD_FAILURE() << golden.name << ": transformers has no " << tensor.name;
        continue;
      }
      EXPECT_EQ(tensor.shape, wanted->second.second) << golden.name << ": " << tensor.name;
      if (IsRouterInMemory(tensor.name) && wanted->second.first == "F32") continue;
      EXPECT_EQ(Name(tensor.dtype), wanted->second.first) << golden.name << ": " << tensor.name;
    }
    for (const auto& [name, unused] : golden.tensors) {
      EXPECT_TRUE(listed.contains(name)) << golden.name << " lacks " << name;
    }
  }
}

// A list of the same names and shapes alone is recognised as the same family, and fits it.
TEST(FamilyGolden, ListsAreRecognised) {
  for (const Golden& golden : ReadGolden()) {
    const Result<Model> model = ModelOf(golden.config);
    ASSERT_TRUE(model) << golden.name;
    Model bare = BareList(*model);
    const Result<std::shared_ptr<const Family>> family = FamilyOf(bare);
    ASSERT_TRUE(family) << golden.name << ": " << ToString(family.error());
    EXPECT_EQ((*family)->name, model->family) << golden.name;
    bare.config = model->config;
    const Result<FamilyTensors> tensors = FamilyTensors::Classify(bare);
    EXPECT_TRUE(tensors) << golden.name << ": " << ToString(tensors.error());
  }
}

TEST(FamilyGolden, EveryBuiltinFamilyHasACase) {
  std::set<std::string> with_case;
  for (const Golden& golden : ReadGolden()) {
    const Result<Model> model = ModelOf(golden.config);
    if (model) with_case.insert(model->family);
  }
  const Result<std::span<const Family>> families = BuiltinFamilies();
  ASSERT_TRUE(families) << ToString(families.error());
  for (const Family& family : *families) {
    EXPECT_TRUE(with_case.contains(family.name)) << family.name;
  }
}

}  // namespace
}  // namespace reshard
