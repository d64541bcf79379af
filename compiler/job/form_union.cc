#include "compiler/job/form_union.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "compiler/job/computed_parameters.h"

namespace reshard {
namespace {

FormedTensor FormOf(const Model& model, const SideGroup& group, TensorIndex tensor) {
  const auto index = static_cast<std::size_t>(tensor);
  if (group.formed) return group.formed->tensors[index];
  TensorForm form;
  form.dtype = model.tensors[index].dtype;
  return {tensor, form, false};
}

std::string FormText(const TensorForm& form) {
  std::string text(Name(form.dtype));
  for (std::size_t d = 0; d < form.block.size(); ++d) {
    text += (d == 0 ? " " : "x") + std::to_string(form.block[d]);
  }
  if (form.scale == ScaleKind::kFloor) text += " floor";
  if (form.scale == ScaleKind::kRceil) text += " rceil";
  if (form.function == ElementFunction::kNegativeExponential) text += " -exp(x)";
  if (form.function == ElementFunction::kMinusOne) text += " x - 1";
  return text;
}

// What makes `to` of `from`.
std::optional<ConversionKind> KindOf(const TensorForm& from, const TensorForm& to, bool is_scale) {
  if (from.scale != ScaleKind::kNone) return std::nullopt;
  if (to.scale != ScaleKind::kNone) {
    if (from.function != to.function) return std::nullopt;
    switch (to.scale) {
      case ScaleKind::kFloor:
        return is_scale ? ConversionKind::kFloorScales : ConversionKind::kFloorValues;
      case ScaleKind::kRceil:
        return is_scale ? ConversionKind::kRceilScales : ConversionKind::kRceilValues;
      default:
        return is_scale ? ConversionKind::kBlockScales : ConversionKind::kBlockValues;
    }
  }
  if (from.function == to.function) return ConversionKind::kCast;
  if (from.function == ElementFunction::kIdentity) {
    return to.function == ElementFunction::kMinusOne ? ConversionKind::kMinusOne
                                                     : ConversionKind::kNegativeExponential;
  }
  if (from.function == ElementFunction::kMinusOne && to.function == ElementFunction::kIdentity) {
    return ConversionKind::kPlusOne;
  }
  return std::nullopt;
}

// One form of a tensor of the job's model, values or scales.
using FormKey = std::tuple<TensorIndex, TensorForm, bool>;

class Union {
 public:
  Union(const Model& model, Side& source, Side& destination)
      : model_(model),
        source_(source),
        destination_(destination),
        held_(model.tensors.size()),
        wanted_(model.tensors.size()) {}

  Result<FormUnion> Make() {
    Result<void> done = ReadSource();
    if (!done) return tl::unexpected(done.error());
    ReadDestination();
    done = NameTensors();
    if (done) done = NoteConversions();
    if (!done) return tl::unexpected(done.error());
    for (SideGroup& group : destination_.groups) {
      for (RankLayout& layout : group.layout.layouts) Renumber(group, layout);
    }
    for (SideGroup& group : source_.groups) {
      done = ConvertGroup(group);
      if (!done) return tl::unexpected(done.error());
    }
    return std::move(union_);
  }

 private:
  const std::string& NameOf(TensorIndex tensor) const {
    return model_.tensors[static_cast<std::size_t>(tensor)].name;
  }

  Result<void> ReadSource() {
    for (const SideGroup& group : source_.groups) {
      for (const TensorIndex tensor : HeldTensors(group)) {
        const FormedTensor formed = FormOf(model_, group, tensor);
        std::optional<TensorForm>& held = held_[static_cast<std::size_t>(formed.origin)];
        if (held && *held != formed.form) {
          return InputError(group.place,
                            "it holds tensor " + NameOf(formed.origin) + " as " +
                                FormText(formed.form) + ", another source group as " +
                                FormText(*held) + ": they would convert it to other bytes",
                            "hold it alike, or let one group alone hold it");
        }
        held = formed.form;
      }
    }
    for (std::size_t t = 0; t < held_.size(); ++t) {
      if (held_[t]) continue;
      held_[t].emplace();
      held_[t]->dtype = model_.tensors[t].dtype;
    }
    return {};
  }

  void ReadDestination() {
    for (const SideGroup& group : destination_.groups) {
      for (const TensorIndex tensor : HeldTensors(group)) {
        const FormedTensor formed = FormOf(model_, group, tensor);
        wanted_[static_cast<std::size_t>(formed.origin)].emplace(formed.form, formed.is_scale);
      }
    }
    for (std::size_t t = 0; t < wanted_.size(); ++t) {
      if (wanted_[t].empty()) wanted_[t].emplace(*held_[t], false);
    }
  }

  Result<void> NameTensors() {
    struct NamedForm {
      Tensor tensor;
      std::string listed_name;
      FormKey key;
    };
    std::vector<NamedForm> named;
    for (std::size_t t = 0; t < wanted_.size(); ++t) {
      std::set<TensorForm> forms;
      for (const auto& [form, is_scale] : wanted_[t]) forms.insert(form);
      for (const auto& [form, is_scale] : wanted_[t]) {
        Tensor tensor = model_.tensors[t];
        tensor.dtype = form.dtype;
        if (is_scale) tensor = ScaleTensor(tensor, form);
        std::string listed_name = tensor.name;
        if (forms.size() > 1 && form != *held_[t]) tensor.name += ":" + FormText(form);
        named.push_back({std::move(tensor), std::move(listed_name),
                         FormKey(static_cast<TensorIndex>(t), form, is_scale)});
      }
    }
    std::ranges::sort(named, {},
                      [](const NamedForm& one) -> const std::string& { return one.tensor.name; });
    union_.model.family = model_.family;
    for (NamedForm& one : named) {
      numbers_.emplace(one.key, static_cast<TensorIndex>(union_.model.tensors.size()));
      union_.model.tensors.push_back(std::move(one.tensor));
      union_.listed_names.push_back(std::move(one.listed_name));
    }
    return NormaliseTensors("casts", union_.model.tensors);
  }

  Result<void> NoteConversions() {
    for (const auto& [key, number] : numbers_) {
      const auto& [tensor, form, is_scale] = key;
      const TensorForm& from = *held_[static_cast<std::size_t>(tensor)];
      if (form == from) continue;
      const std::optional<ConversionKind> kind = KindOf(from, form, is_scale);
      const DType to = union_.model.tensors[static_cast<std::size_t>(number)].dtype;
      if (!kind || !Converts(*kind, from.dtype, to)) {
        return InputError("tensor " + NameOf(tensor),
                          "the source holds it as " + FormText(from) + ", and " + FormText(form) +
                              " cannot be computed from that",
                          "hold it in a form the other side can take");
      }
      union_.converted.push_back({number, *kind, NameOf(tensor), from.dtype,
                                  model_.tensors[static_cast<std::size_t>(tensor)].shape,
                                  form.block});
    }
    std::ranges::sort(union_.converted, {}, &ConvertedTensor::tensor);
    return {};
  }

  void Renumber(const SideGroup& group, RankLayout& layout) const {
    RegionTable renumbered;
    renumbered.Reserve(layout.regions);
    for (std::int64_t r = 0; r < layout.regions.size(); ++r) {
      Region region = layout.regions[r];
      const FormedTensor formed = FormOf(model_, group, region.tensor);
      region.tensor = numbers_.at({formed.origin, formed.form, formed.is_scale});
      renumbered.Add(region);
    }
    layout.regions = std::move(renumbered);
    layout = SortedLayout(std::move(layout));
  }

  // What a source region is to be: as it is, and computed.
  std::vector<std::pair<TensorIndex, const ConvertedTensor*>> TensorsOf(TensorIndex origin) const {
    std::vector<std::pair<TensorIndex, const ConvertedTensor*>> tensors;
    for (const auto& [form, is_scale] : wanted_[static_cast<std::size_t>(origin)]) {
      const TensorIndex number = numbers_.at({origin, form, is_scale});
      const auto found =
          std::ranges::lower_bound(union_.converted, number, {}, &ConvertedTensor::tensor);
      const bool is_converted = found != union_.converted.end() && found->tensor == number;
      tensors.emplace_back(number, is_converted ? &*found : nullptr);
    }
    return tensors;
  }

  Result<void> ConvertGroup(SideGroup& group) const {
    for (std::size_t l = 0; l < group.layout.layouts.size(); ++l) {
      RankLayout& layout = group.layout.layouts[l];
      ComputedParameterBuilder builder(union_.model, layout);
      for (std::int64_t r = 0; r < layout.regions.size(); ++r) {
        const Region region = layout.regions[r];
        const TensorIndex origin = FormOf(model_, group, region.tensor).origin;
        for (const auto& [number, converted] : TensorsOf(origin)) {
          Region own = region;
          own.tensor = number;
          if (converted == nullptr) {
            builder.Keep(own);
            continue;
          }
          const Result<void> added = builder.Convert(own, *converted);
          if (added) continue;
          Error error = added.error();
          error.place = group.place + ": " + WhoHas(group, l);
          return tl::unexpected(error);
        }
      }
      layout = std::move(builder).Build();
    }
    return {};
  }

  static std::string WhoHas(const SideGroup& group, std::size_t layout) {
    const std::vector<std::int32_t>& of_rank = group.layout.layout_of_rank;
    const auto found = std::ranges::find(of_rank, static_cast<std::int32_t>(layout));
    if (found == of_rank.end()) return "a rank";
    return "GPU " + std::to_string(group.gpus[static_cast<std::size_t>(found - of_rank.begin())]);
  }

  const Model& model_;
  Side& source_;
  Side& destination_;
  std::vector<std::optional<TensorForm>> held_;                // by the source
  std::vector<std::set<std::pair<TensorForm, bool>>> wanted_;  // form, whether its scales
  std::map<FormKey, TensorIndex> numbers_;                     // in the union
  FormUnion union_;
};

}  // namespace

bool HasForms(const Side& side) {
  return std::ranges::any_of(side.groups,
                             [](const SideGroup& group) { return group.formed.has_value(); });
}

Result<FormUnion> UniteForms(const Model& model, Side& source, Side& destination) {
  return Union(model, source, destination).Make();
}

}  // namespace reshard
