#include "compiler/job/casts.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "foundation/checked_arithmetic.h"

namespace reshard {
namespace {

constexpr std::int64_t kMicroscalingBlock = 32;
constexpr std::size_t kBlockDims = 2;
constexpr std::string_view kF32ScaleSuffix = "_scale_inv";
constexpr std::string_view kE8M0ScaleSuffix = "_scale";
constexpr std::array kScaleSuffixes{kF32ScaleSuffix, kE8M0ScaleSuffix};

bool IsNumber(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kBF16 || dtype == DType::kF16;
}

Result<DType> ReadDType(const JsonCursor& cast, std::string_view field, bool allows_f8) {
  const Result<std::string> name = cast.String(field);
  if (!name) return tl::unexpected(name.error());
  const std::optional<DType> dtype = DTypeFromName(*name);
  if (dtype && (IsNumber(*dtype) || (allows_f8 && *dtype == DType::kF8E4M3))) return *dtype;
  return cast.Field(field)->Fail(
      "no cast " + std::string(field == "to" ? "to" : "from") + " '" + *name + "'",
      allows_f8 ? "use F8_E4M3, F32, BF16 or F16" : "use F32, BF16 or F16");
}

Result<void> ReadBlock(const JsonCursor& cursor, Cast& cast) {
  const std::optional<JsonCursor> block = cursor.Find("block");
  const std::optional<JsonCursor> scale = cursor.Find("scale");
  if (cast.to != DType::kF8E4M3) {
    if (block) return block->Fail("only F8_E4M3 has blocks", "leave it out");
    if (scale) return scale->Fail("only F8_E4M3 has scales", "leave it out");
    return {};
  }
  if (!block) {
    return cursor.Fail("a cast to F8_E4M3 needs a block, the elements that share a scale",
                       "give \"block\": [128, 128], or [1, 32] with a \"scale\"");
  }
  Result<std::vector<std::int64_t>> sizes = block->AsIntegers(kPositiveInteger);
  if (!sizes) return tl::unexpected(sizes.error());
  if (sizes->size() != kBlockDims) return block->Fail("expected [rows, columns]");
  cast.block = *std::move(sizes);
  cast.scale = ScaleKind::kAmax;
  if (!scale) return {};
  const Result<std::string> word = scale->AsString();
  if (!word) return tl::unexpected(word.error());
  if (*word != "floor" && *word != "rceil") {
    return scale->Fail("unknown scale '" + *word + "'", "use floor or rceil");
  }
  if (cast.block != std::vector<std::int64_t>{1, kMicroscalingBlock}) {
    return block->Fail("E8M0 scales are of MXFP8's blocks", "use [1, 32], or leave scale out");
  }
  cast.scale = *word == "floor" ? ScaleKind::kFloor : ScaleKind::kRceil;
  return {};
}

Result<Cast> ReadCast(const JsonCursor& cursor, bool is_source) {
  const Result<void> known = cursor.ExpectFields({"match", "to", "block", "scale", "at", "from"});
  if (!known) return tl::unexpected(known.error());
  Cast cast;
  const Result<std::string> match = cursor.String("match");
  if (!match) return tl::unexpected(match.error());
  Result<NamePattern> pattern = NamePattern::Parse(*match);
  if (!pattern) return cursor.Field("match")->Fail(pattern.error().reason);
  cast.match = *std::move(pattern);
  const Result<DType> to = ReadDType(cursor, "to", true);
  if (!to) return tl::unexpected(to.error());
  cast.to = *to;
  if (const std::optional<JsonCursor> from = cursor.Find("from")) {
    if (!is_source) {
      return from->Fail("only a source group holds tensors in a dtype to cast from",
                        "leave it out, or give it to the source");
    }
    const Result<DType> dtype = ReadDType(cursor, "from", false);
    if (!dtype) return tl::unexpected(dtype.error());
    cast.from = *dtype;
  }
  if (const Result<void> read = ReadBlock(cursor, cast); !read) return tl::unexpected(read.error());
  const Result<std::string> at = cursor.StringOr("at", "source");
  if (!at) return tl::unexpected(at.error());
  if (*at == "destination") {
    return cursor.Field("at")->Fail(
        "casts at the destination are not planned: a needer gets a block in pieces of several "
        "rounds, and would have to keep all of it in staging",
        "cast at the source, which also moves fewer bytes");
  }
  if (*at != "source") return cursor.Field("at")->Fail("unknown place '" + *at + "'", "use source");
  return cast;
}

const StoredForm* FirstMatch(std::span<const StoredForm> stored, const std::string& name) {
  const auto found = std::ranges::find_if(
      stored, [&](const StoredForm& form) { return form.match.Matches(name); });
  return found == stored.end() ? nullptr : &*found;
}

// Whether `tensor` is the scales of another that the model lists in F8_E4M3.
bool IsListedScale(const Model& model, const Tensor& tensor) {
  const std::string_view name = tensor.name;
  return std::ranges::any_of(kScaleSuffixes, [&](std::string_view suffix) {
    if (!name.ends_with(suffix)) return false;
    const auto scaled = model.Find(name.substr(0, name.size() - suffix.size()));
    return scaled && model.tensors[static_cast<std::size_t>(*scaled)].dtype == DType::kF8E4M3;
  });
}

// The first cast for `tensor`; null if none is.
const Cast* FirstMatch(std::span<const Cast> casts, const Model& model, const Tensor& tensor) {
  const auto found = std::ranges::find_if(casts, [&](const Cast& cast) {
    const bool passes_over =
        !cast.block.empty() && (tensor.shape.size() < kBlockDims || IsListedScale(model, tensor));
    return !passes_over && cast.match.Matches(tensor.name);
  });
  return found == casts.end() ? nullptr : &*found;
}

// The form of a tensor that a family has its own way with, before any cast.
TensorForm PlainForm(const Tensor& tensor, const StoredForm* stored) {
  TensorForm form;
  form.dtype = tensor.dtype;
  if (stored == nullptr) return form;
  form.function = stored->function;
  if (stored->dtype) form.dtype = *stored->dtype;
  return form;
}

void Apply(const Cast& cast, const Tensor& tensor, TensorForm& form) {
  form.dtype = cast.to;
  form.scale = cast.scale;
  if (cast.block.empty()) return;
  form.block.assign(tensor.shape.size() - kBlockDims, 1);
  form.block.insert(form.block.end(), cast.block.begin(), cast.block.end());
}

// A tensor that the model lists in F8_E4M3 has its scales there, too: a cast can only agree.
Result<void> CheckListedScales(const Model& model, const Tensor& tensor, const Cast& cast) {
  TensorForm form;
  Apply(cast, tensor, form);
  const Tensor wanted = ScaleTensor(tensor, form);
  const std::optional<TensorIndex> found = model.Find(wanted.name);
  if (found && model.tensors[static_cast<std::size_t>(*found)] == wanted) return {};
  return InputError("tensor " + tensor.name,
                    "the model lists it in F8_E4M3 " +
                        std::string(found ? "with other scales " : "without the scales ") +
                        wanted.name + " than a cast to blocks of " + std::to_string(cast.block[0]) +
                        "x" + std::to_string(cast.block[1]) + " makes",
                    "let the model list what the source holds, and casts match that alone");
}

// `own`: what the family stores; `cast`: the group's for the tensor. Null where there is none.
Result<TensorForm> DestinationForm(const Model& model, const Tensor& tensor, const StoredForm* own,
                                   const Cast* cast) {
  TensorForm form = PlainForm(tensor, own);
  // A dtype that the family fixes is not the job's to choose.
  const bool is_fixed = own != nullptr && own->dtype.has_value();
  if (cast == nullptr || is_fixed) return form;
  if (cast->to == form.dtype) {
    if (cast->block.empty()) return form;
    return CheckListedScales(model, tensor, *cast).map([&form] { return form; });
  }
  if (!IsNumber(form.dtype)) {
    return InputError("tensor " + tensor.name,
                      "it is " + std::string(Name(form.dtype)) + ", which cannot be cast to " +
                          std::string(Name(cast->to)),
                      "let the model list what the source holds, and casts match that alone");
  }
  Apply(*cast, tensor, form);
  return form;
}

// Makes a model of tensors in their forms. Both lists are in one order.
Result<FormedModel> Assemble(const Model& model, std::vector<Tensor> tensors,
                             const std::vector<FormedTensor>& forms) {
  FormedModel formed;
  formed.model = model;
  formed.model.tensors_from_config = false;
  std::vector<std::size_t> order(tensors.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, {},
                    [&](std::size_t i) -> const std::string& { return tensors[i].name; });
  for (const std::size_t i : order) formed.tensors.push_back(forms[i]);
  const Result<void> normal = NormaliseTensors("casts", tensors);
  if (!normal) return tl::unexpected(normal.error());
  formed.model.tensors = std::move(tensors);
  return formed;
}

}  // namespace

Tensor ScaleTensor(const Tensor& tensor, const TensorForm& form) {
  Tensor scale;
  const bool is_f32 = form.scale == ScaleKind::kAmax;
  scale.name = tensor.name + std::string(is_f32 ? kF32ScaleSuffix : kE8M0ScaleSuffix);
  scale.dtype = is_f32 ? DType::kF32 : DType::kU8;
  for (std::size_t d = 0; d < tensor.shape.size(); ++d) {
    scale.shape.push_back(CeilDivide(tensor.shape[d], form.block[d]));
  }
  return scale;
}

Result<std::vector<Cast>> ReadCasts(const JsonCursor& list, bool is_source) {
  const Result<std::vector<JsonCursor>> elements = list.Elements();
  if (!elements) return tl::unexpected(elements.error());
  std::vector<Cast> casts;
  for (const JsonCursor& element : *elements) {
    Result<Cast> cast = ReadCast(element, is_source);
    if (!cast) return tl::unexpected(cast.error());
    casts.push_back(*std::move(cast));
  }
  return casts;
}

JsonValue CastsToJson(std::span<const Cast> casts) {
  JsonValue::Array list;
  for (const Cast& cast : casts) {
    JsonValue::Object object;
    object.emplace_back("match", cast.match.text());
    object.emplace_back("to", Name(cast.to));
    if (cast.from) object.emplace_back("from", Name(*cast.from));
    if (!cast.block.empty()) {
      object.emplace_back("block", JsonValue::Array{cast.block[0], cast.block[1]});
    }
    if (cast.scale == ScaleKind::kFloor) object.emplace_back("scale", "floor");
    if (cast.scale == ScaleKind::kRceil) object.emplace_back("scale", "rceil");
    list.emplace_back(std::move(object));
  }
  return list;
}

bool LeaveAlike(std::span<const Cast> a, std::span<const Cast> b) {
  return std::ranges::equal(a, b, [](const Cast& x, const Cast& y) {
    return x.match.text() == y.match.text() && x.to == y.to && x.block == y.block &&
           x.scale == y.scale;
  });
}

Result<FormedModel> SourceModel(const Model& model, std::span<const Cast> casts,
                                std::span<const StoredForm> stored) {
  std::vector<Tensor> tensors = model.tensors;
  std::vector<FormedTensor> forms;
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    TensorForm form = PlainForm(tensors[t], FirstMatch(stored, tensors[t].name));
    const Cast* cast = FirstMatch(casts, model, tensors[t]);
    if (cast != nullptr && cast->from && IsNumber(form.dtype)) form.dtype = *cast->from;
    tensors[t].dtype = form.dtype;
    forms.push_back({static_cast<TensorIndex>(t), form, false});
  }
  return Assemble(model, std::move(tensors), forms);
}

Result<FormedModel> DestinationModel(const Model& model, std::span<const Cast> casts,
                                     std::span<const StoredForm> stored) {
  std::vector<Tensor> tensors;
  std::vector<FormedTensor> forms;
  const Cast* scaled = nullptr;
  for (std::size_t t = 0; t < model.tensors.size(); ++t) {
    Tensor tensor = model.tensors[t];
    const Cast* cast = FirstMatch(casts, model, tensor);
    const Result<TensorForm> found =
        DestinationForm(model, tensor, FirstMatch(stored, tensor.name), cast);
    if (!found) return tl::unexpected(found.error());
    const TensorForm& form = *found;
    tensor.dtype = form.dtype;
    if (!form.block.empty()) {
      scaled = cast;
      const Tensor scale = ScaleTensor(tensor, form);
      if (model.Find(scale.name)) {
        return InputError("tensor " + tensor.name,
                          "its scales would be " + scale.name + ", which the model lists already",
                          "leave one of the two out");
      }
      tensors.push_back(scale);
      forms.push_back({static_cast<TensorIndex>(t), form, true});
    }
    tensors.push_back(std::move(tensor));
    forms.push_back({static_cast<TensorIndex>(t), form, false});
  }
  Result<FormedModel> formed = Assemble(model, std::move(tensors), forms);
  if (formed && scaled != nullptr && scaled->scale == ScaleKind::kAmax) {
    // Where layouts of a family look for the blocks of scales.
    JsonValue::Object quantization;
    quantization.emplace_back("quant_method", "fp8");
    quantization.emplace_back("weight_block_size",
                              JsonValue::Array{scaled->block[0], scaled->block[1]});
    if (const JsonValue::Object* config = formed->model.config.root.AsObject()) {
      JsonValue::Object with = *config;
      std::erase_if(with, [](const auto& field) { return field.first == "quantization_config"; });
      with.emplace_back("quantization_config", std::move(quantization));
      formed->model.config.root = std::move(with);
    }
  }
  return formed;
}

}  // namespace reshard
