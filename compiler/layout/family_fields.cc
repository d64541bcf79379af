#include "compiler/layout/family_fields.h"

#include <algorithm>
#include <utility>

namespace reshard {

namespace {

// Dots lead into objects: "rope_parameters.rope_type". A null counts as absent: that is how
// Hugging Face writes it.
const JsonValue* FieldOf(const JsonValue* object, std::string_view name) {
  const JsonValue* value = object;
  while (value != nullptr) {
    const std::size_t dot = name.find('.');
    value = value->Find(name.substr(0, dot));
    if (dot == std::string_view::npos) break;
    name.remove_prefix(dot + 1);
  }
  return value == nullptr || value->IsNull() ? nullptr : value;
}

}  // namespace

// The config of a multimodal model has the text model's in text_config.
const JsonValue* FieldScope::InConfig(std::string_view name) const {
  const JsonValue* value = FieldOf(FieldOf(config_, "text_config"), name);
  return value != nullptr ? value : FieldOf(config_, name);
}

tl::unexpected<Error> FieldScope::Missing(std::string_view name) const {
  const std::string field = "config." + std::string(name);
  return InputError(place_,
                    field + " is missing" +
                        (shapes_ != nullptr ? ", and the tensors' shapes do not tell it" : ""),
                    "give " + field);
}

Result<JsonValue> FieldScope::ValueOf(std::string_view name) const {
  if (name == "layer") return JsonValue(layer_);
  if (const auto found = resolved_.find(name); found != resolved_.end()) return found->second;
  if (const JsonValue* value = InConfig(name)) {
    return resolved_.emplace(std::string(name), *value).first->second;
  }
  const FieldRule* rule = family_->FindField(name);
  if (rule == nullptr || std::find(pending_.begin(), pending_.end(), name) != pending_.end()) {
    return Missing(name);
  }
  pending_.push_back(name);
  Result<JsonValue> value = Missing(name);
  if (shapes_ != nullptr && rule->infer) value = rule->infer->Evaluate(*this);
  if (!value && rule->otherwise) value = rule->otherwise->Evaluate(*this);
  pending_.pop_back();
  // What is missing may lie deeper, but the field asked for is the one to give. A value found while
  // other rules are pending is as good as any: it depends on fewer fields, not on more.
  if (!value) return Missing(name);
  resolved_.emplace(std::string(name), *value);
  return value;
}

Result<JsonValue> FieldScope::Call(std::string_view function, std::string_view argument) const {
  if (function == "has") return JsonValue(InConfig(argument) != nullptr ? 1 : 0);
  if (shapes_ == nullptr) return InputError(place_, "there are no tensors yet");
  if (function == "layers") return JsonValue(shapes_->layers);
  if (function == "experts") return JsonValue(shapes_->experts);
  const std::optional<Role> role = RoleFromName(argument);
  if (!role) return InputError(place_, "unknown role '" + std::string(argument) + "'");
  const auto& shape = shapes_->weight[static_cast<std::size_t>(*role)];
  if (function == "holds") return JsonValue(shape ? 1 : 0);
  const std::size_t dim = function == "rows" ? 0 : 1;
  if (!shape || shape->size() <= dim) {
    return InputError(place_, "there is no " + std::string(argument) + " tensor to read from");
  }
  return JsonValue((*shape)[dim]);
}

Result<std::int64_t> FieldScope::Integer(std::string_view name) const {
  const Result<JsonValue> value = ValueOf(name);
  if (!value) return tl::unexpected(value.error());
  if (const std::int64_t* integer = value->AsInteger()) return *integer;
  if (const bool* truth = value->AsBool()) return *truth ? 1 : 0;
  return InputError(place_, "config." + std::string(name) + ": expected an integer, got " +
                                std::string(value->KindName()));
}

Result<std::int64_t> FieldScope::Evaluate(const Expression& expression) const {
  Result<std::int64_t> value = expression.EvaluateInteger(*this);
  if (value || value.error().place == place_) return value;
  Error error = std::move(value).error();
  error.place = place_ + ": " + error.place;
  return tl::unexpected(std::move(error));
}

Result<std::int64_t> FieldScope::Count(const std::optional<Expression>& expression,
                                       std::string_view what) const {
  // Far above any model, and small enough that a file's number never decides over memory.
  constexpr std::int64_t kMaxCount = 100'000;
  if (!expression) return 0;
  const Result<std::int64_t> count = Evaluate(*expression);
  if (!count) return count;
  if (*count < 0 || *count > kMaxCount) {
    return InputError(place_, std::to_string(*count) + " " + std::string(what) +
                                  "; expected 0 to " + std::to_string(kMaxCount));
  }
  return count;
}

}  // namespace reshard
