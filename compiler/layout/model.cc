#include "compiler/layout/model.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "foundation/checked_arithmetic.h"

namespace reshard {

std::optional<TensorIndex> Model::Find(std::string_view name) const {
  const auto found =
      std::lower_bound(tensors.begin(), tensors.end(), name,
                       [](const Tensor& tensor, std::string_view n) { return tensor.name < n; });
  if (found == tensors.end() || found->name != name) return std::nullopt;
  return static_cast<TensorIndex>(found - tensors.begin());
}

Tensor ViewedTensor(const Model& model, TensorIndex tensor) {
  Tensor viewed = model.tensors[static_cast<std::size_t>(tensor)];
  const auto view = model.views.find(tensor);
  if (view != model.views.end()) viewed.shape = ViewedShape(view->second, viewed.shape);
  return viewed;
}

Result<void> NormaliseTensors(const std::string& place, std::vector<Tensor>& tensors) {
  std::sort(tensors.begin(), tensors.end(),
            [](const Tensor& a, const Tensor& b) { return a.name < b.name; });
  std::optional<std::int64_t> total = 0;
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    const Tensor& tensor = tensors[t];
    if (tensor.name.empty()) return InputError(place, "a tensor has no name");
    const std::string named = "tensor " + tensor.name;
    if (t > 0 && tensor.name == tensors[t - 1].name) {
      return InputError(place, named + " is listed twice");
    }
    if (tensor.shape.size() > kTensorDimsMax) {
      return InputError(place, named + " has " + std::to_string(tensor.shape.size()) +
                                   " dims, more than " + std::to_string(kTensorDimsMax));
    }
    // Sizes of 0 count as 1, because the strides of an empty tensor must fit as well.
    std::optional<std::int64_t> bytes = ElementBytes(tensor.dtype);
    for (const std::int64_t size : tensor.shape) {
      if (size < 0) return InputError(place, named + " has a negative size");
      bytes = bytes ? CheckedMultiply(*bytes, std::max<std::int64_t>(size, 1)) : bytes;
    }
    if (!bytes) return InputError(place, named + " is too large: its bytes do not fit 64 bits");
    total = total ? CheckedAdd(*total, *bytes) : total;
  }
  if (!total) return InputError(place, "the bytes of all tensors together do not fit 64 bits");
  return {};
}

std::int64_t TensorBytes(const Tensor& tensor) {
  std::int64_t bytes = ElementBytes(tensor.dtype);
  for (const std::int64_t size : tensor.shape) bytes *= size;
  return bytes;
}

JsonValue ModelToJson(const Model& model) {
  JsonValue::Object object;
  if (!model.config.root.IsNull()) object.emplace_back("config", model.config.root);
  if (!model.own_family.root.IsNull()) {
    object.emplace_back("family", model.own_family.root);
  } else if (!model.family.empty() && !model.tensors_from_config) {
    object.emplace_back("family", model.family);
  }
  if (model.tensors_from_config) return object;
  JsonValue::Object tensors;
  tensors.reserve(model.tensors.size());
  for (const Tensor& tensor : model.tensors) {
    JsonValue::Array shape;
    for (const std::int64_t size : tensor.shape) shape.emplace_back(size);
    JsonValue::Object entry;
    entry.emplace_back("dtype", Name(tensor.dtype));
    entry.emplace_back("shape", std::move(shape));
    tensors.emplace_back(tensor.name, std::move(entry));
  }
  object.emplace_back("tensors", std::move(tensors));
  return object;
}

}  // namespace reshard
