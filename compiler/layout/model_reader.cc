#include "compiler/layout/model_reader.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/layout/family.h"
#include "compiler/layout/family_catalog.h"
#include "compiler/layout/huggingface_config.h"
#include "compiler/layout/safetensors_header.h"
#include "compiler/layout/shard_index.h"
#include "foundation/strict_json.h"

namespace reshard {
namespace {

Result<Tensor> ReadTensor(std::string_view name, const JsonCursor& entry) {
  Result<std::vector<std::int64_t>> shape = entry.Integers("shape", kNotNegativeInteger);
  if (!shape) return tl::unexpected(shape.error());
  const Result<std::string> dtype_name = entry.String("dtype");
  if (!dtype_name) return tl::unexpected(dtype_name.error());
  const std::optional<DType> dtype = DTypeFromName(*dtype_name);
  if (!dtype) {
    return entry.Field("dtype")->Fail("unknown dtype '" + *dtype_name + "'",
                                      "use a name of safetensors, such as BF16 or F8_E4M3");
  }
  return Tensor{std::string(name), *dtype, std::move(*shape)};
}

Result<Model> ReadTensorList(const JsonCursor& list) {
  const auto members = list.Members();
  if (!members) return tl::unexpected(members.error());
  Model model;
  model.tensors.reserve(members->size());
  for (const auto& [name, entry] : *members) {
    if (name == "__metadata__") continue;
    Result<Tensor> tensor = ReadTensor(name, entry);
    if (!tensor) return tl::unexpected(tensor.error());
    model.tensors.push_back(std::move(*tensor));
  }
  const Result<void> normal = NormaliseTensors(list.Place(), model.tensors);
  if (!normal) return tl::unexpected(normal.error());
  return model;
}

Result<Model> ReadSafetensors(const std::string& path) {
  const Result<SafetensorsHeader> header = ReadSafetensorsHeader(path);
  if (!header) return tl::unexpected(header.error());
  return ReadTensorList(JsonCursor(header->document));
}

// The tensors that model.safetensors.index.json names, as their shards describe them.
Result<Model> ReadIndex(const JsonCursor& index, const Folder& folder) {
  const Result<std::vector<ShardedTensor>> tensors = ReadShardIndex(index);
  if (!tensors) return tl::unexpected(tensors.error());
  std::map<std::string, Model> shards;
  Model model;
  for (const ShardedTensor& sharded : *tensors) {
    auto shard = shards.find(sharded.shard);
    if (shard == shards.end()) {
      const Result<std::string> path = folder.Path(sharded.entry);
      if (!path) return tl::unexpected(path.error());
      Result<Model> read = ReadSafetensors(*path);
      if (!read) return read;
      shard = shards.emplace(sharded.shard, std::move(*read)).first;
    }
    const std::optional<TensorIndex> tensor = shard->second.Find(sharded.name);
    if (!tensor) return sharded.Missing();
    model.tensors.push_back(shard->second.tensors[static_cast<std::size_t>(*tensor)]);
  }
  const Result<void> normal = NormaliseTensors(index.Place(), model.tensors);
  if (!normal) return tl::unexpected(normal.error());
  return model;
}

// Whether `object` is {"tensors": .., "family": .., "config": ..} and no list that holds tensors of
// such names: an entry of a list has a shape.
bool IsComposite(const JsonCursor& object) {
  if (object.Has("model_type")) return false;
  for (const std::string_view name : {"tensors", "config"}) {
    const std::optional<JsonCursor> field = object.Find(name);
    if (!field) continue;
    const std::optional<JsonCursor> shape = field->Find("shape");
    if (!shape || shape->value().AsArray() == nullptr) return true;
  }
  return false;
}

// The document of a field that holds an object or the path of one.
Result<JsonDocument> DocumentOf(const JsonCursor& field, const Folder& folder) {
  if (field.value().AsString() != nullptr) return folder.Read(field);
  return JsonDocument{field.Place(), field.value()};
}

Result<Model> ReadPlain(const JsonCursor& value, const Folder& folder, bool composite);

// "family" of a model object: a name, or a family of the user's own.
struct GivenFamily {
  std::string name;
  JsonDocument own;
};

Result<GivenFamily> ReadGivenFamily(const JsonCursor& object, const Folder& folder) {
  GivenFamily family;
  const std::optional<JsonCursor> field = object.Find("family");
  if (!field) return family;
  const std::string* name = field->value().AsString();
  if (name != nullptr && !name->ends_with(".json")) {
    family.name = *name;
    return family;
  }
  Result<JsonDocument> own = DocumentOf(*field, folder);
  if (!own) return tl::unexpected(own.error());
  family.own = *std::move(own);
  if (family.own.root.AsObject() == nullptr) {
    return field->Fail("expected the name of a family, or an object or the path of one");
  }
  return family;
}

Result<Model> ReadComposite(const JsonCursor& object, const Folder& folder) {
  const Result<void> known = object.ExpectFields({"tensors", "family", "config"});
  if (!known) return tl::unexpected(known.error());
  JsonDocument config;
  if (const std::optional<JsonCursor> field = object.Find("config")) {
    Result<JsonDocument> read = DocumentOf(*field, folder);
    if (!read) return tl::unexpected(read.error());
    config = std::move(*read);
    if (config.root.AsObject() == nullptr) {
      return field->Fail("expected an object or the path of one");
    }
  }
  const std::optional<JsonCursor> tensors = object.Find("tensors");
  const Result<GivenFamily> family = ReadGivenFamily(object, folder);
  if (!family) return tl::unexpected(family.error());
  if (!tensors) {
    if (family->own.root.IsNull()) {
      if (family->name.empty()) return ModelFromConfig(JsonCursor(config));
      const Result<const Family*> named = FamilyByName(family->name);
      if (!named) return object.Field("family")->Fail(named.error().reason, named.error().remedy);
      return ModelFromConfig(JsonCursor(config), **named);
    }
    const Result<Family> own = ReadFamily(JsonCursor(family->own));
    if (!own) return tl::unexpected(own.error());
    Result<Model> model = ModelFromConfig(JsonCursor(config), *own);
    if (model) model->own_family = family->own;
    return model;
  }
  Result<Model> model = ReadPlain(*tensors, folder, /*composite=*/false);
  if (!model) return model;
  model->own_family = family->own;
  if (!family->name.empty()) model->family = family->name;
  if (object.Has("config")) {
    model->config = std::move(config);
    model->tensors_from_config = false;
  }
  return model;
}

// `composite`: whether the object may be one. Those do not nest, or a file could name itself.
Result<Model> ReadModelObject(const JsonCursor& object, const Folder& folder, bool composite) {
  if (object.value().AsObject() == nullptr) {
    return object.Fail("expected a path or an object, got " +
                       std::string(object.value().KindName()));
  }
  const std::optional<JsonCursor> type = object.Find("model_type");
  if (type && type->value().AsString() != nullptr) return ModelFromConfig(object);
  const std::optional<JsonCursor> map = object.Find("weight_map");
  if (map && !map->Has("shape")) return ReadIndex(object, folder);
  if (IsComposite(object)) {
    if (!composite) return object.Fail("expected a list of tensors");
    return ReadComposite(object, folder);
  }
  if (object.Has("architectures")) {
    return object.Fail("looks like a config.json, but has no model_type",
                       "give model_type, or a tensor list");
  }
  return ReadTensorList(object);
}

Result<Model> ReadPlain(const JsonCursor& value, const Folder& folder, bool composite) {
  if (value.value().AsString() == nullptr) return ReadModelObject(value, folder, composite);
  const Result<std::string> file = folder.Path(value);
  if (!file) return tl::unexpected(file.error());
  if (file->ends_with(".safetensors")) return ReadSafetensors(*file);
  const Result<JsonDocument> document = ReadJsonFile(*file);
  if (!document) return tl::unexpected(document.error());
  return ReadModelObject(JsonCursor(*document), Folder::Of(*file), composite);
}

}  // namespace

Result<Model> ReadModel(const JsonCursor& value, const Folder& folder) {
  return ReadPlain(value, folder, /*composite=*/true);
}

}  // namespace reshard
