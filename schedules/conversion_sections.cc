#include "schedules/plan_sections.h"

namespace reshard::codec {
namespace {

// `count` equal parts of a list.
class Parts {
 public:
  Parts(std::span<const std::int64_t> list, std::size_t count)
      : list_(list), size_(list.size() / count), is_even_(list.size() % count == 0) {}
  bool is_even() const { return is_even_; }
  std::vector<std::int64_t> operator[](std::size_t part) const {
    const std::span<const std::int64_t> values = list_.subspan(part * size_, size_);
    return {values.begin(), values.end()};
  }

 private:
  std::span<const std::int64_t> list_;
  std::size_t size_;
  bool is_even_;
};

void Append(std::vector<std::int64_t>& list, const std::vector<std::int64_t>& more) {
  list.insert(list.end(), more.begin(), more.end());
}

// Calls read(row, kind, box) for each row. Fails on kinds and boxes that are none.
template <typename Read>
Result<void> ForRows(const format::Conversions& message, const SectionContext& context,
                     const Read& read) {
  const int count = message.buffer_delta_size();
  if (!AllOfSize(count, message.kind(), message.box()) || !ListReader::IsWhole(message.boxes())) {
    return context.Malformed("columns differ in length");
  }
  const ListReader boxes(message.boxes());
  for (int i = 0; i < count; ++i) {
    if (message.kind(i) >= static_cast<std::uint32_t>(kConversionKindCount)) {
      return context.Malformed("an unknown conversion");
    }
    if (message.box(i) >= boxes.size()) return context.Malformed("a box that it lacks");
    const std::span<const std::int64_t> box = boxes[message.box(i)];
    constexpr std::int64_t kRowBytes = 128;
    if (!context.budget->Charge(kRowBytes + static_cast<std::int64_t>(box.size_bytes()))) {
      return context.TooLarge();
    }
    Result<void> done = read(i, static_cast<ConversionKind>(message.kind(i)), box);
    if (!done) return done;
  }
  return {};
}

}  // namespace

void AddConvertedTensors(std::span<const ConvertedTensor> converted, format::Conversions& message) {
  DeltaWriter tensor(message.mutable_buffer_delta());
  NameWriter origin(message.mutable_origin());
  ListWriter boxes(message.mutable_boxes());
  for (const ConvertedTensor& one : converted) {
    tensor.Add(one.tensor);
    message.add_kind(static_cast<std::uint32_t>(one.kind));
    origin.Add(one.origin);
    message.add_origin_dtype(static_cast<std::uint32_t>(one.origin_dtype));
    std::vector<std::int64_t> box = one.origin_shape;
    Append(box, one.block);
    message.add_box(boxes.Intern(box));
  }
}

Result<void> ReadConvertedTensors(const format::Conversions& message, const SectionContext& context,
                                  std::vector<ConvertedTensor>& converted) {
  auto origins = ReadNames(message.origin(), context);
  if (!origins) return tl::unexpected(origins.error());
  const int count = message.buffer_delta_size();
  if (!AllOfSize(count, *origins, message.origin_dtype())) {
    return context.Malformed("columns differ in length");
  }
  DeltaReader tensor(message.buffer_delta());
  Result<void> done =
      ForRows(message, context,
              [&](int row, ConversionKind kind, std::span<const std::int64_t> box) -> Result<void> {
                const Parts parts(box, IsOfBlocks(kind) ? 2 : 1);
                if (!parts.is_even()) return context.Malformed("a box of unequal parts");
                if (message.origin_dtype(row) >= static_cast<std::uint32_t>(kDTypeCount)) {
                  return context.Malformed("an unknown dtype");
                }
                converted.push_back({tensor.Next<TensorIndex>(), kind,
                                     std::move((*origins)[static_cast<std::size_t>(row)]),
                                     static_cast<DType>(message.origin_dtype(row)), parts[0],
                                     IsOfBlocks(kind) ? parts[1] : std::vector<std::int64_t>{}});
                return {};
              });
  if (done && !tensor.ok()) return context.Malformed("a number out of range");
  return done;
}

void AddConversions(std::span<const Conversion> conversions, format::Conversions& message) {
  DeltaWriter parameter(message.mutable_buffer_delta());
  DeltaWriter source(message.mutable_source_delta());
  DeltaWriter offset(message.mutable_offset_delta());
  ListWriter boxes(message.mutable_boxes());
  for (const Conversion& conversion : conversions) {
    parameter.Add(conversion.parameter);
    message.add_kind(static_cast<std::uint32_t>(conversion.kind));
    source.Add(conversion.source);
    offset.Add(conversion.offset);
    std::vector<std::int64_t> box = conversion.extent;
    Append(box, conversion.stride);
    Append(box, conversion.block);
    message.add_box(boxes.Intern(box));
  }
}

Result<void> ReadConversions(const format::Conversions& message, const SectionContext& context,
                             std::vector<Conversion>& conversions) {
  if (!AllOfSize(message.buffer_delta_size(), message.source_delta(), message.offset_delta())) {
    return context.Malformed("columns differ in length");
  }
  DeltaReader parameter(message.buffer_delta());
  DeltaReader source(message.source_delta());
  DeltaReader offset(message.offset_delta());
  Result<void> done = ForRows(
      message, context,
      [&](int, ConversionKind kind, std::span<const std::int64_t> box) -> Result<void> {
        const Parts parts(box, IsOfBlocks(kind) ? 3 : 2);
        if (!parts.is_even()) return context.Malformed("a box of unequal parts");
        conversions.push_back({parameter.Next<ParameterIndex>(), source.Next<ParameterIndex>(),
                               kind, offset.Next(), parts[0], parts[1],
                               IsOfBlocks(kind) ? parts[2] : std::vector<std::int64_t>{}});
        return {};
      });
  if (done && (!parameter.ok() || !source.ok())) {
    return context.Malformed("a number out of range");
  }
  return done;
}

}  // namespace reshard::codec
