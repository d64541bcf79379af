// A model: its logical tensors, and what is known of its family.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/layout/tensor_view.h"
#include "foundation/error.h"
#include "foundation/json_cursor.h"
#include "foundation/json_value.h"
#include "schedules/job_records.h"

namespace reshard {

struct Model {
  std::vector<Tensor> tensors;  // bytewise by name; names differ; bytes of each fit 64 bits
  std::string family;           // "" if not given: recognised by name patterns
  // A family of the user's own (family.h has the format); the root is null where there is none.
  JsonDocument own_family;
  // The fields of config.json, and the name errors give them; the root is null where there is none.
  JsonDocument config;
  // The tensors follow from the config (and need not be written beside it).
  bool tensors_from_config = false;
  // The tensors stand in it as a framework holds them, functions of the checkpoint's elements
  // (Family::stored) included; so a layout of it holds them like any others.
  bool functions_applied = false;

  // How regions and fragments see tensors, where not as listed: layouts are given in the shapes of
  // `tensors`, what is built of them is boxes of these views.
  TensorViews views;

  // The index of the tensor of that name.
  std::optional<TensorIndex> Find(std::string_view name) const;
  // The config as a place to read fields from.
  JsonCursor Config() const { return JsonCursor(config); }
};

// Dims a tensor may have at most.
inline constexpr std::size_t kTensorDimsMax = 32;

// The tensor as regions and fragments see it.
Tensor ViewedTensor(const Model& model, TensorIndex tensor);

// Sorts tensors by name and checks them: names differ and are not empty, sizes are not negative,
// the bytes of each tensor and of all together fit 64 bits. Errors name `place` and the tensor.
Result<void> NormaliseTensors(const std::string& place, std::vector<Tensor>& tensors);

// Bytes of a tensor that NormaliseTensors has passed.
std::int64_t TensorBytes(const Tensor& tensor);

// The shortest object that ReadModel (model_reader.h) makes an equal model from.
JsonValue ModelToJson(const Model& model);

}  // namespace reshard
