// Tensors of a checkpoint, read one by one from its safetensors files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/error.h"
#include "schedules/job_records.h"

namespace reshard {

class WeightsReader {
 public:
  // `path` is a .safetensors file, or a model.safetensors.index.json with its shards beside it.
  // Reads headers only. Errors, with the file: damaged headers, tensors whose bytes are not those
  // of their shape or not in the file, a tensor that an index names and its shard lacks.
  static Result<WeightsReader> Open(const std::string& path);

  // Fails unless the tensor is there with this shape and dtype, or one that F32 holds exactly where
  // that is wanted (BF16, F16).
  Result<void> Expect(const Tensor& tensor) const;
  // Of a tensor that Expect has passed.
  DType StoredDType(std::string_view name) const { return tensors_.find(name)->second.dtype; }

  // All elements of a tensor that Expect has passed, row-major.
  Result<std::vector<std::byte>> Read(std::string_view name) const;

 private:
  struct Stored {
    DType dtype = DType::kBF16;
    std::vector<std::int64_t> shape;
    std::size_t file = 0;     // into files_
    std::int64_t offset = 0;  // in the file
    std::int64_t bytes = 0;
  };

  Result<std::map<std::string, Stored, std::less<>>> ReadHeader(const std::string& path);
  Result<void> AddShards(const std::string& path);

  std::string path_;
  std::vector<std::string> files_;
  std::map<std::string, Stored, std::less<>> tensors_;
};

}  // namespace reshard
