#include <algorithm>

#include "schedules/plan_sections.h"

namespace reshard::codec {
namespace {

// Tensor and Parameter have the same fields.
template <typename Buffer>
format::Buffers MessageOf(const std::vector<Buffer>& buffers) {
  format::Buffers message;
  NameWriter names(message.mutable_name());
  ListWriter shapes(message.mutable_shapes());
  for (const Buffer& buffer : buffers) {
    names.Add(buffer.name);
    message.add_dtype(static_cast<std::uint32_t>(buffer.dtype));
    message.add_shape(shapes.Intern(buffer.shape));
  }
  return message;
}

template <typename Buffer>
Result<void> ReadBuffers(const format::Buffers& message, const SectionContext& context,
                         std::vector<Buffer>& buffers) {
  auto names = ReadNames(message.name(), context);
  if (!names) return tl::unexpected(names.error());
  const auto count = static_cast<std::int64_t>(names->size());
  if (!AllOfSize(count, message.dtype(), message.shape()) ||
      !ListReader::IsWhole(message.shapes())) {
    return context.Malformed("columns differ in length");
  }
  const ListReader shapes(message.shapes());
  if (!context.budget->Charge(count * static_cast<std::int64_t>(sizeof(Buffer)))) {
    return context.TooLarge();
  }
  buffers.reserve(buffers.size() + names->size());
  for (int i = 0; i < count; ++i) {
    if (message.dtype(i) >= static_cast<std::uint32_t>(kDTypeCount)) {
      return context.Malformed("an unknown dtype");
    }
    if (message.shape(i) >= shapes.size()) return context.Malformed("a shape that it lacks");
    const std::span<const std::int64_t> shape = shapes[message.shape(i)];
    if (!context.budget->Charge(static_cast<std::int64_t>(shape.size_bytes()))) {
      return context.TooLarge();
    }
    buffers.push_back({std::move((*names)[static_cast<std::size_t>(i)]),
                       static_cast<DType>(message.dtype(i)),
                       {shape.begin(), shape.end()}});
  }
  return {};
}

std::string EncodeRegionPart(const RegionTable& regions, std::int64_t begin, std::int64_t end) {
  format::Regions message;
  DeltaWriter tensor(message.mutable_tensor_delta());
  DeltaWriter parameter(message.mutable_parameter_delta());
  DeltaWriter offset(message.mutable_offset_delta());
  ListWriter boxes(message.mutable_boxes());
  std::vector<std::int64_t> box;
  for (std::int64_t i = begin; i < end; ++i) {
    const Region region = regions[i];
    tensor.Add(region.tensor);
    parameter.Add(region.parameter);
    offset.Add(region.offset);
    box.assign(region.begin.begin(), region.begin.end());
    box.insert(box.end(), region.extent.begin(), region.extent.end());
    box.insert(box.end(), region.stride.begin(), region.stride.end());
    message.add_box(boxes.Intern(box));
  }
  return Serialize(message);
}

}  // namespace

std::string EncodeTensors(const std::vector<Tensor>& tensors,
                          std::span<const ConvertedTensor> converted) {
  format::Buffers message = MessageOf(tensors);
  if (!converted.empty()) AddConvertedTensors(converted, *message.mutable_conversions());
  return Serialize(message);
}

Result<void> DecodeTensors(std::string_view bytes, const SectionContext& context,
                           std::vector<Tensor>& tensors, std::vector<ConvertedTensor>& converted) {
  const auto message = Parse<format::Buffers>(bytes, context);
  if (!message) return tl::unexpected(message.error());
  if (auto done = ReadBuffers(*message, context, tensors); !done) return done;
  return ReadConvertedTensors(message->conversions(), context, converted);
}

std::string EncodeParameters(const std::vector<Parameter>& parameters,
                             std::span<const Conversion> conversions) {
  format::Buffers message = MessageOf(parameters);
  if (!conversions.empty()) AddConversions(conversions, *message.mutable_conversions());
  return Serialize(message);
}

Result<void> DecodeParameters(std::string_view bytes, const SectionContext& context,
                              std::vector<Parameter>& parameters,
                              std::vector<Conversion>& conversions) {
  const auto message = Parse<format::Buffers>(bytes, context);
  if (!message) return tl::unexpected(message.error());
  if (auto done = ReadBuffers(*message, context, parameters); !done) return done;
  return ReadConversions(message->conversions(), context, conversions);
}

std::vector<std::string> EncodeRegions(const RegionTable& regions) {
  std::vector<std::string> parts;
  for (std::int64_t begin = 0; begin < regions.size(); begin += kRowsPerPart) {
    parts.push_back(
        EncodeRegionPart(regions, begin, std::min(begin + kRowsPerPart, regions.size())));
  }
  return parts;
}

Result<void> DecodeRegions(std::string_view bytes, const SectionContext& context,
                           RegionTable& regions) {
  const auto message = Parse<format::Regions>(bytes, context);
  if (!message) return tl::unexpected(message.error());
  const int count = message->box_size();
  if (!AllOfSize(count, message->tensor_delta(), message->parameter_delta(),
                 message->offset_delta()) ||
      !ListReader::IsWhole(message->boxes())) {
    return context.Malformed("columns differ in length");
  }
  const ListReader boxes(message->boxes());
  DeltaReader tensor(message->tensor_delta());
  DeltaReader parameter(message->parameter_delta());
  DeltaReader offset(message->offset_delta());
  for (int i = 0; i < count; ++i) {
    if (message->box(i) >= boxes.size()) return context.Malformed("a box that it lacks");
    const std::span<const std::int64_t> box = boxes[message->box(i)];
    if (box.size() % 3 != 0) return context.Malformed("a box of unequal parts");
    if (!context.budget->Charge(static_cast<std::int64_t>(32 + box.size_bytes()))) {
      return context.TooLarge();
    }
    const std::size_t dims = box.size() / 3;
    regions.Add({tensor.Next<TensorIndex>(), parameter.Next<ParameterIndex>(), offset.Next(),
                 box.first(dims), box.subspan(dims, dims), box.subspan(2 * dims, dims)});
  }
  if (!tensor.ok() || !parameter.ok()) return context.Malformed("a number out of range");
  return {};
}

void AddRanks(std::span<const Rank> ranks, format::Ranks& message) {
  DeltaWriter gpu(message.mutable_gpu_delta());
  DeltaWriter node(message.mutable_node_delta());
  DeltaWriter domain(message.mutable_domain_delta());
  for (const Rank& rank : ranks) {
    gpu.Add(rank.gpu);
    node.Add(rank.node);
    domain.Add(rank.domain);
    message.add_source_group(rank.source_group);
    message.add_destination_group(rank.destination_group);
    message.add_source_layout(rank.source_layout);
    message.add_destination_layout(rank.destination_layout);
  }
}

Result<void> ReadRanks(const format::Ranks& message, const SectionContext& context,
                       std::vector<Rank>& ranks) {
  const int count = message.gpu_delta_size();
  if (!AllOfSize(count, message.node_delta(), message.domain_delta(), message.source_group(),
                 message.destination_group(), message.source_layout(),
                 message.destination_layout())) {
    return context.Malformed("columns differ in length");
  }
  DeltaReader gpu(message.gpu_delta());
  DeltaReader node(message.node_delta());
  DeltaReader domain(message.domain_delta());
  bool fits = true;
  const auto narrow = [&fits](std::int64_t value) {
    fits = fits && std::in_range<std::int32_t>(value);
    return static_cast<std::int32_t>(value);
  };
  for (int i = 0; i < count; ++i) {
    ranks.push_back({gpu.Next<std::int32_t>(), node.Next<std::int32_t>(),
                     domain.Next<std::int32_t>(), narrow(message.source_group(i)),
                     narrow(message.destination_group(i)), narrow(message.source_layout(i)),
                     narrow(message.destination_layout(i))});
  }
  if (!fits || !gpu.ok() || !node.ok() || !domain.ok()) {
    return context.Malformed("a number out of range");
  }
  return {};
}

std::string EncodeRanks(const std::vector<Rank>& ranks) {
  format::Ranks message;
  AddRanks(ranks, message);
  return Serialize(message);
}

Result<void> DecodeRanks(std::string_view bytes, const SectionContext& context,
                         std::vector<Rank>& ranks) {
  const auto message = Parse<format::Ranks>(bytes, context);
  if (!message) return tl::unexpected(message.error());
  return ReadRanks(*message, context, ranks);
}

std::string EncodeInPlace(const std::vector<InPlacePair>& pairs) {
  format::InPlace message;
  NameWriter sources(message.mutable_source_parameter());
  NameWriter destinations(message.mutable_destination_parameter());
  for (const InPlacePair& pair : pairs) {
    sources.Add(pair.source_parameter);
    destinations.Add(pair.destination_parameter);
  }
  return Serialize(message);
}

Result<void> DecodeInPlace(std::string_view bytes, const SectionContext& context,
                           std::vector<InPlacePair>& pairs) {
  const auto message = Parse<format::InPlace>(bytes, context);
  if (!message) return tl::unexpected(message.error());
  auto sources = ReadNames(message->source_parameter(), context);
  if (!sources) return tl::unexpected(sources.error());
  auto destinations = ReadNames(message->destination_parameter(), context);
  if (!destinations) return tl::unexpected(destinations.error());
  if (sources->size() != destinations->size()) {
    return context.Malformed("columns differ in length");
  }
  for (std::size_t i = 0; i < sources->size(); ++i) {
    pairs.push_back({std::move((*sources)[i]), std::move((*destinations)[i])});
  }
  return {};
}

}  // namespace reshard::codec
