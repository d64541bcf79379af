#include <algorithm>
#include <optional>

#include "schedules/plan_sections.h"

namespace reshard::codec {
namespace {

std::string EncodeFragmentPart(const FragmentTable& fragments, std::int64_t begin,
                               std::int64_t end) {
  format::Fragments message;
  DeltaWriter tensor(message.mutable_tensor_delta());
  ListWriter boxes(message.mutable_boxes());
  std::vector<std::int64_t> box;
  for (std::int64_t i = begin; i < end; ++i) {
    const Fragment fragment = fragments[i];
    tensor.Add(fragment.tensor);
    box.assign(1, fragment.bytes);
    box.insert(box.end(), fragment.begin.begin(), fragment.begin.end());
    box.insert(box.end(), fragment.extent.begin(), fragment.extent.end());
    message.add_box(boxes.Intern(box));
  }
  return Serialize(message);
}

// One part of a layout's programs in the making.
class ProgramPart {
 public:
  explicit ProgramPart(bool continues)
      : class_(message_.mutable_class_delta()),
        parameter_(message_.mutable_parameter_delta()),
        offset_(message_.mutable_offset_delta()),
        forms_(message_.mutable_forms()) {
    message_.set_continues(continues);
  }
  ProgramPart(const ProgramPart&) = delete;  // its writers point into its message
  ProgramPart& operator=(const ProgramPart&) = delete;

  void BeginProgram(ClassIndex demand_class) {
    class_.Add(demand_class);
    message_.add_entry_count(0);
  }

  void Add(const CopyEntry& entry) {
    const int last = message_.entry_count_size() - 1;
    message_.set_entry_count(last, message_.entry_count(last) + 1);
    parameter_.Add(entry.parameter);
    offset_.Add(entry.offset);
    form_.assign(1, entry.run);
    for (const CopyDim& dim : entry.dims) {
      form_.push_back(dim.count);
      form_.push_back(dim.stride);
    }
    message_.add_form(forms_.Intern(form_));
    // Where one entry ends the next one often begins.
    if (entry.dims.empty()) offset_.Expect(WrappingAdd(entry.offset, entry.run));
  }

  bool IsFull() const { return message_.form_size() >= kRowsPerPart; }
  std::string Finish() const { return Serialize(message_); }

 private:
  format::Programs message_;
  DeltaWriter class_;
  DeltaWriter parameter_;
  DeltaWriter offset_;
  ListWriter forms_;
  std::vector<std::int64_t> form_;
};

}  // namespace

std::string EncodeDemand(const Demand& demand) {
  format::Demand message;
  for (const std::vector<RankIndex>& set : demand.rank_sets) {
    message.add_set_size(static_cast<std::uint32_t>(set.size()));
    DeltaWriter members(message.mutable_set_member_delta());
    for (const RankIndex rank : set) members.Add(rank);
  }
  DeltaWriter first_fragment(message.mutable_first_fragment_delta());
  for (const DemandClass& demand_class : demand.classes) {
    message.add_holders(demand_class.holders);
    message.add_needers(demand_class.needers);
    message.add_bytes(demand_class.bytes);
    first_fragment.Add(demand_class.first_fragment);
    message.add_fragment_count(demand_class.fragment_count);
  }
  return Serialize(message);
}

Result<void> DecodeDemand(std::string_view bytes, const SectionContext& context, Demand& demand) {
  const auto message = Parse<format::Demand>(bytes, context);
  if (!message) return tl::unexpected(message.error());
  std::int64_t members = 0;
  for (const std::uint32_t size : message->set_size()) members += size;
  if (members != message->set_member_delta_size() ||
      !AllOfSize(message->holders_size(), message->needers(), message->bytes(),
                 message->first_fragment_delta(), message->fragment_count())) {
    return context.Malformed("columns differ in length");
  }
  DeltaReader member(message->set_member_delta());
  for (const std::uint32_t size : message->set_size()) {
    member.Expect(0);
    std::vector<RankIndex> set(size);
    for (RankIndex& rank : set) rank = member.Next<RankIndex>();
    demand.rank_sets.push_back(std::move(set));
  }
  DeltaReader first_fragment(message->first_fragment_delta());
  const auto sets = static_cast<std::int64_t>(demand.rank_sets.size());
  for (int i = 0; i < message->holders_size(); ++i) {
    if (message->holders(i) < 0 || message->holders(i) >= sets || message->needers(i) < 0 ||
        message->needers(i) >= sets) {
      return context.Malformed("a rank set that it lacks");
    }
    demand.classes.push_back({static_cast<RankSetIndex>(message->holders(i)),
                              static_cast<RankSetIndex>(message->needers(i)), message->bytes(i),
                              first_fragment.Next(), message->fragment_count(i)});
  }
  if (!member.ok()) return context.Malformed("a number out of range");
  return {};
}

std::vector<std::string> EncodeFragments(const FragmentTable& fragments) {
  std::vector<std::string> parts;
  for (std::int64_t begin = 0; begin < fragments.size(); begin += kRowsPerPart) {
    parts.push_back(
        EncodeFragmentPart(fragments, begin, std::min(begin + kRowsPerPart, fragments.size())));
  }
  return parts;
}

Result<void> DecodeFragments(std::string_view bytes, const SectionContext& context,
                             FragmentTable& fragments) {
  const auto message = Parse<format::Fragments>(bytes, context);
  if (!message) return tl::unexpected(message.error());
  const int count = message->box_size();
  if (!AllOfSize(count, message->tensor_delta()) || !ListReader::IsWhole(message->boxes())) {
    return context.Malformed("columns differ in length");
  }
  const ListReader boxes(message->boxes());
  DeltaReader tensor(message->tensor_delta());
  for (int i = 0; i < count; ++i) {
    if (message->box(i) >= boxes.size()) return context.Malformed("a box that it lacks");
    const std::span<const std::int64_t> box = boxes[message->box(i)];
    if (box.size() % 2 != 1) return context.Malformed("a box of unequal parts");
    if (!context.budget->Charge(static_cast<std::int64_t>(32 + box.size_bytes()))) {
      return context.TooLarge();
    }
    const std::size_t dims = box.size() / 2;
    fragments.Add(tensor.Next<TensorIndex>(), box[0], box.subspan(1, dims),
                  box.subspan(1 + dims, dims));
  }
  if (!tensor.ok()) return context.Malformed("a number out of range");
  return {};
}

std::vector<std::string> EncodePrograms(std::span<const CopyProgram> programs) {
  std::vector<std::string> parts;
  if (programs.empty()) return parts;
  std::optional<ProgramPart> part(std::in_place, /*continues=*/false);
  for (const CopyProgram& program : programs) {
    part->BeginProgram(program.demand_class);
    for (std::int64_t i = 0; i < program.size(); ++i) {
      if (part->IsFull()) {
        parts.push_back(part->Finish());
        part.emplace(/*continues=*/true);
        part->BeginProgram(program.demand_class);
      }
      part->Add(program[i]);
    }
  }
  parts.push_back(part->Finish());
  return parts;
}

Result<void> DecodePrograms(std::string_view bytes, const SectionContext& context,
                            LayoutIndex layout, std::vector<CopyProgram>& programs) {
  const auto message = Parse<format::Programs>(bytes, context);
  if (!message) return tl::unexpected(message.error());
  std::int64_t entries = 0;
  for (const std::uint32_t count : message->entry_count()) entries += count;
  if (!AllOfSize(message->class_delta_size(), message->entry_count()) ||
      !AllOfSize(entries, message->parameter_delta(), message->offset_delta(), message->form()) ||
      !ListReader::IsWhole(message->forms())) {
    return context.Malformed("columns differ in length");
  }
  const ListReader forms(message->forms());
  DeltaReader demand_class(message->class_delta());
  DeltaReader parameter(message->parameter_delta());
  DeltaReader offset(message->offset_delta());
  std::vector<CopyDim> dims;
  int entry = 0;
  for (int i = 0; i < message->class_delta_size(); ++i) {
    const auto index = demand_class.Next<ClassIndex>();
    if (i == 0 && message->continues()) {
      if (programs.empty() || programs.back().layout != layout ||
          programs.back().demand_class != index) {
        return context.Malformed("it goes on with a program that did not begin");
      }
    } else {
      if (!context.budget->Charge(static_cast<std::int64_t>(sizeof(CopyProgram)))) {
        return context.TooLarge();
      }
      programs.emplace_back();
      programs.back().layout = layout;
      programs.back().demand_class = index;
    }
    for (std::uint32_t k = 0; k < message->entry_count(i); ++k, ++entry) {
      if (message->form(entry) >= forms.size()) return context.Malformed("a form that it lacks");
      const std::span<const std::int64_t> form = forms[message->form(entry)];
      if (form.size() % 2 != 1) return context.Malformed("a form of unequal parts");
      if (!context.budget->Charge(static_cast<std::int64_t>(40 + form.size_bytes()))) {
        return context.TooLarge();
      }
      dims.clear();
      for (std::size_t d = 1; d < form.size(); d += 2) dims.push_back({form[d], form[d + 1]});
      const std::int64_t begin = offset.Next();
      programs.back().Add(parameter.Next<ParameterIndex>(), begin, form[0], dims);
      if (dims.empty()) offset.Expect(WrappingAdd(begin, form[0]));
    }
  }
  if (!demand_class.ok() || !parameter.ok()) return context.Malformed("a number out of range");
  return {};
}

}  // namespace reshard::codec
