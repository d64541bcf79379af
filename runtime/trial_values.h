// The made-up value of every element of every logical tensor of a job, in every refit.
//
// The value is a hash of (refit, tensor, logical index). Where tensors are converted it is the
// origin that has hashed values, numbers of moderate size, and an element of the tensor is what the
// conversion makes of them, element by element and block by block.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "schedules/job_records.h"

namespace reshard {

// Of the element with row-major index `index` in logical tensor `tensor`; an element of n bytes has
// the n low bytes, little endian. Of tensors that no conversion touches.
std::uint64_t TrialValue(std::uint64_t refit, TensorIndex tensor, std::int64_t index);

// Which tensors of a job have a common origin.
class TrialOrigins {
 public:
  explicit TrialOrigins(const JobRecords& job);

  // The conversion of a tensor, or null.
  const ConvertedTensor* Conversion(TensorIndex tensor) const {
    return converted_[static_cast<std::size_t>(tensor)];
  }
  // The first tensor of the same origin, itself perhaps; nothing where no conversion touches it.
  std::optional<TensorIndex> Key(TensorIndex tensor) const {
    const TensorIndex key = keys_[static_cast<std::size_t>(tensor)];
    return key < 0 ? std::nullopt : std::optional(key);
  }

 private:
  std::vector<const ConvertedTensor*> converted_;
  std::vector<TensorIndex> keys_;
};

// One tensor in one refit. `job` and `origins` outlive it.
class TrialTensor {
 public:
  TrialTensor(const JobRecords& job, const TrialOrigins& origins, std::uint64_t refit,
              TensorIndex tensor);

  // The bits of an element: of a converted tensor after the conversion.
  std::uint64_t Value(std::int64_t index);
  // Those of an element of its origin; of a tensor that is not converted as Value().
  std::uint64_t OriginValue(std::int64_t index) const;

 private:
  std::uint32_t Amax(std::int64_t block);

  std::uint64_t refit_ = 0;
  TensorIndex tensor_ = 0;
  std::optional<TensorIndex> key_;
  const ConvertedTensor* conversion_ = nullptr;
  DType origin_dtype_ = DType::kBF16;
  DType dtype_ = DType::kBF16;
  std::vector<std::uint32_t> amax_;  // of each block, once one is asked for
};

}  // namespace reshard
