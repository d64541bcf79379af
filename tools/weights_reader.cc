#include "tools/weights_reader.h"

#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

#include "compiler/layout/safetensors_header.h"
#include "compiler/layout/shard_index.h"
#include "foundation/checked_arithmetic.h"
#include "foundation/json_cursor.h"
#include "foundation/strict_json.h"
#include "schedules/dtype.h"
#include "schedules/number_text.h"

namespace reshard {
namespace {

// Whether `shape` is `stored`, some dims of it seen as several: the elements and their order are
// the same (tensors that alternate by columns are planned so).
bool IsViewOf(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& stored) {
  std::size_t next = 0;
  for (const std::int64_t size : stored) {
    if (next == shape.size()) return false;
    std::int64_t seen = shape[next++];
    while (seen != size && next < shape.size() && seen != 0) {
      const std::optional<std::int64_t> longer = CheckedMultiply(seen, shape[next++]);
      if (!longer || *longer > size) return false;
      seen = *longer;
    }
    if (seen != size) return false;
  }
  return next == shape.size();
}

}  // namespace

Result<std::map<std::string, WeightsReader::Stored, std::less<>>> WeightsReader::ReadHeader(
    const std::string& path) {
  const Result<SafetensorsHeader> header = ReadSafetensorsHeader(path);
  if (!header) return tl::unexpected(header.error());
  const JsonCursor root(header->document);
  const auto members = root.Members();
  if (!members) return tl::unexpected(members.error());
  std::map<std::string, Stored, std::less<>> tensors;
  for (const auto& [name, entry] : *members) {
    if (name == "__metadata__") continue;
    Result<std::vector<std::int64_t>> shape = entry.Integers("shape", kNotNegativeInteger);
    if (!shape) return tl::unexpected(shape.error());
    const Result<std::string> dtype_name = entry.String("dtype");
    if (!dtype_name) return tl::unexpected(dtype_name.error());
    const std::optional<DType> dtype = DTypeFromName(*dtype_name);
    if (!dtype) return entry.Field("dtype")->Fail("unknown dtype '" + *dtype_name + "'");
    const auto offsets = entry.Integers("data_offsets", kNotNegativeInteger);
    if (!offsets) return tl::unexpected(offsets.error());
    const std::optional<std::int64_t> elements = CheckedProduct(*shape);
    const std::optional<std::int64_t> bytes =
        elements ? CheckedMultiply(*elements, ElementBytes(*dtype)) : std::nullopt;
    const bool in_file = offsets->size() == 2 && offsets->front() <= offsets->back() &&
                         offsets->back() <= header->data_bytes;
    if (!in_file || !bytes || offsets->back() - offsets->front() != *bytes) {
      return entry.Field("data_offsets")
          ->Fail("are not those of " + ShapeText(*shape) + " elements of " + *dtype_name +
                     " in a file with " + std::to_string(header->data_bytes) + " bytes of data",
                 "write or copy the file again");
    }
    tensors.emplace(std::string(name), Stored{*dtype, *std::move(shape), files_.size(),
                                              header->data_begin + offsets->front(), *bytes});
  }
  files_.push_back(path);
  return tensors;
}

Result<void> WeightsReader::AddShards(const std::string& path) {
  const Result<JsonDocument> index = ReadJsonFile(path);
  if (!index) return tl::unexpected(index.error());
  const Result<std::vector<ShardedTensor>> sharded_tensors = ReadShardIndex(JsonCursor(*index));
  if (!sharded_tensors) return tl::unexpected(sharded_tensors.error());
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::map<std::string, std::map<std::string, Stored, std::less<>>> shards;
  for (const ShardedTensor& sharded : *sharded_tensors) {
    auto shard = shards.find(sharded.shard);
    if (shard == shards.end()) {
      auto read = ReadHeader((folder / sharded.shard).string());
      if (!read) return tl::unexpected(read.error());
      shard = shards.emplace(sharded.shard, *std::move(read)).first;
    }
    const auto tensor = shard->second.find(sharded.name);
    if (tensor == shard->second.end()) return sharded.Missing();
    tensors_.emplace(std::string(sharded.name), tensor->second);
  }
  return {};
}

Result<WeightsReader> WeightsReader::Open(const std::string& path) {
  WeightsReader reader;
  reader.path_ = path;
  if (path.ends_with(".json")) {
    if (Result<void> added = reader.AddShards(path); !added) return tl::unexpected(added.error());
    return reader;
  }
  auto tensors = reader.ReadHeader(path);
  if (!tensors) return tl::unexpected(tensors.error());
  reader.tensors_ = *std::move(tensors);
  return reader;
}

Result<void> WeightsReader::Expect(const Tensor& tensor) const {
  const auto stored = tensors_.find(tensor.name);
  const std::string place = path_ + ": " + tensor.name;
  if (stored == tensors_.end()) {
    return InputError(place, "the plan moves this tensor and the weights lack it",
                      "give the checkpoint that the job's model describes");
  }
  const DType dtype = stored->second.dtype;
  const bool widens =
      tensor.dtype == DType::kF32 && (dtype == DType::kBF16 || dtype == DType::kF16);
  if ((dtype != tensor.dtype && !widens) || !IsViewOf(tensor.shape, stored->second.shape)) {
    return InputError(place,
                      "is " + std::string(Name(dtype)) + " " + ShapeText(stored->second.shape) +
                          " in the weights and " + std::string(Name(tensor.dtype)) + " " +
                          ShapeText(tensor.shape) + " in the plan",
                      "give the checkpoint that the job's model describes");
  }
  return {};
}

Result<std::vector<std::byte>> WeightsReader::Read(std::string_view name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) return InternalError(path_, "no tensor " + std::string(name));
  const Stored& stored = found->second;
  const std::string& file_name = files_[stored.file];
  std::vector<std::byte> bytes(static_cast<std::size_t>(stored.bytes));
  std::ifstream file(file_name, std::ios::binary);
  if (!file.seekg(stored.offset) || !file.read(reinterpret_cast<char*>(bytes.data()),
                                               static_cast<std::streamsize>(stored.bytes))) {
    return InputError(file_name + ": " + std::string(name), "cannot be read",
                      "look whether the file has changed");
  }
  return bytes;
}

}  // namespace reshard
