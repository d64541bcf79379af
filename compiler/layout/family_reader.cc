#include <algorithm>
#include <array>
#include <initializer_list>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "compiler/layout/family.h"
#include "foundation/nearest_name.h"

namespace reshard {
namespace {

Result<Role> RoleNamed(const JsonCursor& cursor, const std::string& name) {
  const std::optional<Role> role = RoleFromName(name);
  if (!role) return cursor.Fail("unknown role '" + name + "'", SuggestName(name, RoleNames()));
  return *role;
}

Result<Role> RoleAt(const JsonCursor& cursor) {
  const Result<std::string> name = cursor.AsString();
  if (!name) return tl::unexpected(name.error());
  return RoleNamed(cursor, *name);
}

Result<std::optional<Expression>> ExpressionAt(const JsonCursor& object, std::string_view field) {
  const std::optional<JsonCursor> cursor = object.Find(field);
  if (!cursor) return std::optional<Expression>();
  const Result<std::string> text = cursor->AsString();
  if (!text) return tl::unexpected(text.error());
  Result<Expression> expression = Expression::Parse(*text, cursor->Place());
  if (!expression) return tl::unexpected(expression.error());
  return std::optional<Expression>(*std::move(expression));
}

Result<Kind> KindAt(const JsonCursor& object) {
  const Result<std::string> name = object.StringOr("kind", "weight");
  if (!name) return tl::unexpected(name.error());
  if (*name == "weight") return Kind::kWeight;
  if (*name == "bias") return Kind::kBias;
  return object.Fail("unknown kind '" + *name + "'", "known are 'weight', 'bias'");
}

// "dtype", if it is there.
Result<std::optional<DType>> DTypeAt(const JsonCursor& object) {
  if (!object.Has("dtype")) return std::optional<DType>();
  const Result<std::string> name = object.String("dtype");
  if (!name) return tl::unexpected(name.error());
  const std::optional<DType> dtype = DTypeFromName(*name);
  if (!dtype) return object.Fail("unknown dtype '" + *name + "'");
  return dtype;
}

// An index stands for a whole piece between dots, and only {layer} and {expert} are indices.
bool WellFormed(std::string_view name) {
  while (true) {
    const std::size_t dot = name.find('.');
    const std::string_view piece = name.substr(0, dot);
    const bool index = piece == "{layer}" || piece == "{expert}";
    if (piece.empty() || (!index && piece.find_first_of("{}") != std::string_view::npos)) {
      return false;
    }
    if (dot == std::string_view::npos) return true;
    name.remove_prefix(dot + 1);
  }
}

Result<TensorPattern> PatternAt(const JsonCursor& cursor) {
  const Result<void> known =
      cursor.ExpectFields({"name", "role", "kind", "shape", "when", "dtype", "quantized", "mtp"});
  if (!known) return tl::unexpected(known.error());
  TensorPattern pattern;
  Result<std::string> name = cursor.String("name");
  if (!name) return tl::unexpected(name.error());
  pattern.name = *std::move(name);
  if (!WellFormed(pattern.name)) {
    return cursor.Fail("'" + pattern.name + "' is no name pattern",
                       "write {layer} and {expert} as whole pieces between dots");
  }
  const Result<JsonCursor> role = cursor.Field("role");
  if (!role) return tl::unexpected(role.error());
  const Result<Role> known_role = RoleAt(*role);
  if (!known_role) return tl::unexpected(known_role.error());
  pattern.role = *known_role;
  const Result<bool> mtp = cursor.BoolOr("mtp", false);
  if (!mtp) return tl::unexpected(mtp.error());
  pattern.mtp = *mtp;
  // A tensor of the first prediction layer may stand without its number.
  const bool layered = pattern.mtp || pattern.name.find("{layer}") != std::string::npos;
  const bool expert = pattern.name.find("{expert}") != std::string::npos;
  if (layered == IsModelRole(pattern.role) || expert != IsExpertRole(pattern.role)) {
    return cursor.Fail("the indices of '" + pattern.name + "' do not fit the role " +
                       std::string(Name(pattern.role)));
  }
  const Result<Kind> kind = KindAt(cursor);
  if (!kind) return tl::unexpected(kind.error());
  pattern.kind = *kind;
  const Result<std::vector<JsonCursor>> shape = cursor.Elements("shape");
  if (!shape) return tl::unexpected(shape.error());
  for (const JsonCursor& dim : *shape) {
    const Result<std::string> text = dim.AsString();
    if (!text) return tl::unexpected(text.error());
    Result<Expression> expression = Expression::Parse(*text, dim.Place());
    if (!expression) return tl::unexpected(expression.error());
    pattern.shape.push_back(*std::move(expression));
  }
  Result<std::optional<Expression>> when = ExpressionAt(cursor, "when");
  if (!when) return tl::unexpected(when.error());
  pattern.when = *std::move(when);
  const Result<std::optional<DType>> dtype = DTypeAt(cursor);
  if (!dtype) return tl::unexpected(dtype.error());
  pattern.dtype = *dtype;
  const Result<bool> quantized = cursor.BoolOr("quantized", false);
  if (!quantized) return tl::unexpected(quantized.error());
  pattern.quantized = *quantized;
  constexpr std::size_t kMatrixDims = 2;
  if (pattern.quantized && pattern.shape.size() != kMatrixDims) {
    return cursor.Fail("only a matrix is quantized in blocks");
  }
  return pattern;
}

// "attention.q", or "attention.q/bias".
Result<RequiredTensor> RequiredAt(const JsonCursor& cursor) {
  Result<std::string> name = cursor.AsString();
  if (!name) return tl::unexpected(name.error());
  RequiredTensor required;
  constexpr std::string_view kBias = "/bias";
  if (name->ends_with(kBias)) {
    required.kind = Kind::kBias;
    name->resize(name->size() - kBias.size());
  }
  const Result<Role> role = RoleNamed(cursor, *name);
  if (!role) return tl::unexpected(role.error());
  required.role = *role;
  return required;
}

Result<void> ReadRequired(const JsonCursor& cursor, Family& family) {
  const Result<std::vector<JsonCursor>> items = cursor.ElementsOrNone("requires");
  if (!items) return tl::unexpected(items.error());
  for (const JsonCursor& item : *items) {
    std::vector<JsonCursor> alternatives{item};
    if (item.value().AsArray() != nullptr) {
      Result<std::vector<JsonCursor>> elements = item.Elements();
      if (!elements) return tl::unexpected(elements.error());
      alternatives = *std::move(elements);
    }
    std::vector<RequiredTensor> any;
    for (const JsonCursor& alternative : alternatives) {
      const Result<RequiredTensor> required = RequiredAt(alternative);
      if (!required) return tl::unexpected(required.error());
      any.push_back(*required);
    }
    family.required.push_back(std::move(any));
  }
  return {};
}

// [["from", "to"], ..]
Result<NameReplacements> ReplacementsAt(const JsonCursor& list) {
  const Result<std::vector<JsonCursor>> items = list.Elements();
  if (!items) return tl::unexpected(items.error());
  NameReplacements replacements;
  for (const JsonCursor& item : *items) {
    Result<std::vector<std::string>> pair = item.AsStrings();
    if (!pair) return tl::unexpected(pair.error());
    constexpr std::size_t kPair = 2;
    if (pair->size() != kPair) return item.Fail("expected what to replace, and by what");
    replacements.emplace_back(std::move((*pair)[0]), std::move((*pair)[1]));
  }
  return replacements;
}

Result<FrameworkNames> ReadNames(const JsonCursor& cursor) {
  FrameworkNames names;
  const std::optional<JsonCursor> field = cursor.Find("names");
  if (!field) return names;
  const auto frameworks = field->Members();
  if (!frameworks) return tl::unexpected(frameworks.error());
  for (const auto& [framework, list] : *frameworks) {
    Result<NameReplacements> replacements = ReplacementsAt(list);
    if (!replacements) return tl::unexpected(replacements.error());
    names.emplace(std::string(framework), *std::move(replacements));
  }
  return names;
}

Result<void> ReadMultimodal(const JsonCursor& cursor, Family& family) {
  const std::optional<JsonCursor> field = cursor.Find("multimodal");
  if (!field) return {};
  const Result<void> known = field->ExpectFields({"modelTypes", "prefix", "names"});
  if (!known) return known;
  const Result<JsonCursor> types = field->Field("modelTypes");
  if (!types) return tl::unexpected(types.error());
  Result<std::vector<std::string>> model_types = types->AsStrings();
  if (!model_types) return tl::unexpected(model_types.error());
  family.multimodal.model_types = *std::move(model_types);
  const Result<JsonCursor> prefix = field->Field("prefix");
  if (!prefix) return tl::unexpected(prefix.error());
  Result<NameReplacements> replacements = ReplacementsAt(*prefix);
  if (!replacements) return tl::unexpected(replacements.error());
  family.multimodal.prefix = *std::move(replacements);
  Result<FrameworkNames> names = ReadNames(*field);
  if (!names) return tl::unexpected(names.error());
  family.multimodal.names = *std::move(names);
  return {};
}

Result<void> ReadFields(const JsonCursor& cursor, Family& family) {
  const Result<JsonCursor> fields = cursor.Field("fields");
  if (!fields) return tl::unexpected(fields.error());
  const auto members = fields->Members();
  if (!members) return tl::unexpected(members.error());
  for (const auto& [name, member] : *members) {
    const Result<void> known = member.ExpectFields({"infer", "default"});
    if (!known) return known;
    FieldRule rule{.name = std::string(name)};
    Result<std::optional<Expression>> infer = ExpressionAt(member, "infer");
    if (!infer) return tl::unexpected(infer.error());
    rule.infer = *std::move(infer);
    Result<std::optional<Expression>> otherwise = ExpressionAt(member, "default");
    if (!otherwise) return tl::unexpected(otherwise.error());
    rule.otherwise = *std::move(otherwise);
    family.fields.push_back(std::move(rule));
  }
  return {};
}

Result<void> ReadRecomputed(const JsonCursor& cursor, Family& family) {
  const std::optional<JsonCursor> recomputed = cursor.Find("recomputed");
  if (!recomputed) return {};
  const auto frameworks = recomputed->Members();
  if (!frameworks) return tl::unexpected(frameworks.error());
  for (const auto& [framework, list] : *frameworks) {
    const Result<std::vector<JsonCursor>> buffers = list.Elements();
    if (!buffers) return tl::unexpected(buffers.error());
    for (const JsonCursor& buffer : *buffers) {
      const Result<void> known = buffer.ExpectFields({"name", "from"});
      if (!known) return known;
      Result<std::string> name = buffer.String("name");
      if (!name) return tl::unexpected(name.error());
      const Result<JsonCursor> from = buffer.Field("from");
      if (!from) return tl::unexpected(from.error());
      const Result<Role> role = RoleAt(*from);
      if (!role) return tl::unexpected(role.error());
      family.recomputed.push_back({std::string(framework), *std::move(name), *role});
    }
  }
  return {};
}

// Calls `read` for each entry of {"vllm": [entry, ..], ..} of `field`, with the framework's name.
template <typename Read>
Result<void> ForEachFrameworkEntry(const JsonCursor& cursor, std::string_view field,
                                   const Read& read) {
  const std::optional<JsonCursor> section = cursor.Find(field);
  if (!section) return {};
  const auto frameworks = section->Members();
  if (!frameworks) return tl::unexpected(frameworks.error());
  for (const auto& [framework, list] : *frameworks) {
    const Result<std::vector<JsonCursor>> entries = list.Elements();
    if (!entries) return tl::unexpected(entries.error());
    for (const JsonCursor& entry : *entries) {
      if (const Result<void> done = read(std::string(framework), entry); !done) return done;
    }
  }
  return {};
}

Result<void> ReadRepacked(const JsonCursor& cursor, Family& family) {
  const auto read = [&](std::string framework, const JsonCursor& entry) -> Result<void> {
    const Result<void> known = entry.ExpectFields({"backend", "roles", "into"});
    if (!known) return known;
    RepackedTensors repacked{.framework = std::move(framework)};
    for (const auto& [field, target] :
         {std::pair{"backend", &repacked.backend}, std::pair{"into", &repacked.into}}) {
      Result<std::string> text = entry.String(field);
      if (!text) return tl::unexpected(text.error());
      *target = *std::move(text);
    }
    const Result<std::vector<JsonCursor>> roles = entry.Elements("roles");
    if (!roles) return tl::unexpected(roles.error());
    for (const JsonCursor& role : *roles) {
      const Result<Role> named = RoleAt(role);
      if (!named) return tl::unexpected(named.error());
      repacked.roles.push_back(*named);
    }
    family.repacked.push_back(std::move(repacked));
    return {};
  };
  return ForEachFrameworkEntry(cursor, "repacked", read);
}

Result<void> ReadStored(const JsonCursor& cursor, Family& family) {
  const auto read = [&](std::string framework, const JsonCursor& entry) -> Result<void> {
    const Result<void> known = entry.ExpectFields({"role", "as", "dtype"});
    if (!known) return known;
    StoredTensors stored{.framework = std::move(framework)};
    const Result<JsonCursor> role = entry.Field("role");
    if (!role) return tl::unexpected(role.error());
    const Result<Role> named = RoleAt(*role);
    if (!named) return tl::unexpected(named.error());
    stored.role = *named;
    const Result<std::string> function = entry.StringOr("as", "");
    if (!function) return tl::unexpected(function.error());
    if (*function == "-exp") {
      stored.function = StoredFunction::kNegativeExponential;
    } else if (*function == "minusOne") {
      stored.function = StoredFunction::kMinusOne;
    } else if (!function->empty()) {
      return entry.Field("as")->Fail("unknown function '" + *function + "'",
                                     "known are '-exp', 'minusOne'");
    }
    const Result<std::optional<DType>> dtype = DTypeAt(entry);
    if (!dtype) return tl::unexpected(dtype.error());
    stored.dtype = *dtype;
    family.stored.push_back(std::move(stored));
    return {};
  };
  return ForEachFrameworkEntry(cursor, "stored", read);
}

// Every name in `expression` is a field of the family or one of `indices`, every call is one that a
// model can answer: a misspelt one must not wait for the config that needs it.
Result<void> CheckExpression(const Expression& expression, const Family& family,
                             const JsonCursor& cursor,
                             std::initializer_list<std::string_view> indices) {
  std::vector<std::string_view> names(indices);
  for (const FieldRule& rule : family.fields) names.push_back(rule.name);
  const auto check = [&](const std::string& name) -> Result<void> {
    if (std::find(names.begin(), names.end(), name) != names.end()) return {};
    return cursor.Fail("'" + expression.text() + "' mentions '" + name + "', which fields lacks",
                       SuggestName(name, names));
  };
  for (const std::string& name : expression.Names()) {
    const Result<void> known = check(name);
    if (!known) return known;
  }
  static constexpr std::array<std::string_view, 6> kFunctions{"columns", "experts", "has",
                                                              "holds",   "layers",  "rows"};
  for (const auto& [function, argument] : expression.Calls()) {
    if (std::find(kFunctions.begin(), kFunctions.end(), function) == kFunctions.end()) {
      return cursor.Fail("'" + expression.text() + "' calls '" + function + "', which is unknown",
                         SuggestName(function, kFunctions));
    }
    if (function == "has") {
      const Result<void> known = check(argument);
      if (!known) return known;
    } else if (function == "layers" || function == "experts") {
      if (!argument.empty()) return cursor.Fail("'" + function + "' takes no name");
    } else if (!RoleFromName(argument)) {
      return cursor.Fail("'" + expression.text() + "' names the unknown role '" + argument + "'",
                         SuggestName(argument, RoleNames()));
    }
  }
  return {};
}

Result<void> CheckFamily(const Family& family, const JsonCursor& cursor) {
  const auto check = [&](const std::optional<Expression>& expression,
                         std::initializer_list<std::string_view> indices) -> Result<void> {
    if (!expression) return {};
    return CheckExpression(*expression, family, cursor, indices);
  };
  for (const auto* count : {&family.layers, &family.mtp_layers, &family.experts}) {
    if (const Result<void> checked = check(*count, {}); !checked) return checked;
  }
  for (const FieldRule& rule : family.fields) {
    if (const Result<void> checked = check(rule.infer, {}); !checked) return checked;
    if (const Result<void> checked = check(rule.otherwise, {}); !checked) return checked;
  }
  std::set<std::string_view> names;
  for (const TensorPattern& pattern : family.tensors) {
    if (const Result<void> checked = check(pattern.when, {"layer"}); !checked) {
      return checked;
    }
    for (const Expression& dim : pattern.shape) {
      if (const Result<void> checked = check(dim, {"layer"}); !checked) return checked;
    }
    if (!names.insert(pattern.name).second) {
      return cursor.Fail("two patterns are named '" + pattern.name + "'");
    }
    if ((IsExpertRole(pattern.role) || IsExpertStackRole(pattern.role)) && !family.experts) {
      return cursor.Fail("'experts' is missing, and '" + pattern.name + "' has them");
    }
    if (pattern.mtp && !family.mtp_layers) {
      return cursor.Fail("'mtpLayers' is missing, and '" + pattern.name + "' is of them");
    }
    if (!IsModelRole(pattern.role) && !family.layers) {
      return cursor.Fail("'layers' is missing, and '" + pattern.name + "' has them");
    }
  }
  return {};
}

}  // namespace

const FieldRule* Family::FindField(std::string_view name) const {
  const auto found = std::find_if(fields.begin(), fields.end(),
                                  [&](const FieldRule& rule) { return rule.name == name; });
  return found == fields.end() ? nullptr : &*found;
}

bool Family::HasRole(Role role) const {
  return std::any_of(tensors.begin(), tensors.end(),
                     [&](const TensorPattern& pattern) { return pattern.role == role; });
}

bool Family::NumbersMtpApart() const {
  return std::any_of(tensors.begin(), tensors.end(),
                     [](const TensorPattern& pattern) { return pattern.mtp; });
}

std::string Replaced(std::string name, const NameReplacements& replacements) {
  for (const auto& [from, to] : replacements) {
    const std::size_t at = name.find(from);
    if (at != std::string::npos) name.replace(at, from.size(), to);
  }
  return name;
}

Result<Family> ReadFamily(const JsonCursor& cursor) {
  const Result<void> known = cursor.ExpectFields(
      {"name", "modelTypes", "multimodal", "requires", "layers", "mtpLayers", "experts", "fields",
       "names", "tensors", "recomputed", "repacked", "stored"});
  if (!known) return tl::unexpected(known.error());
  Family family;
  Result<std::string> name = cursor.String("name");
  if (!name) return tl::unexpected(name.error());
  family.name = *std::move(name);
  Result<std::vector<std::string>> types = cursor.StringsOrNone("modelTypes");
  if (!types) return tl::unexpected(types.error());
  family.model_types = *std::move(types);
  for (const auto& [field, target] :
       {std::pair{"layers", &family.layers}, std::pair{"mtpLayers", &family.mtp_layers},
        std::pair{"experts", &family.experts}}) {
    Result<std::optional<Expression>> expression = ExpressionAt(cursor, field);
    if (!expression) return tl::unexpected(expression.error());
    *target = *std::move(expression);
  }
  if (const Result<void> read = ReadMultimodal(cursor, family); !read) {
    return tl::unexpected(read.error());
  }
  Result<FrameworkNames> names = ReadNames(cursor);
  if (!names) return tl::unexpected(names.error());
  family.names = *std::move(names);
  if (const Result<void> read = ReadRequired(cursor, family); !read) {
    return tl::unexpected(read.error());
  }
  if (const Result<void> read = ReadFields(cursor, family); !read) {
    return tl::unexpected(read.error());
  }
  const Result<std::vector<JsonCursor>> tensors = cursor.Elements("tensors");
  if (!tensors) return tl::unexpected(tensors.error());
  for (const JsonCursor& tensor : *tensors) {
    Result<TensorPattern> pattern = PatternAt(tensor);
    if (!pattern) return tl::unexpected(pattern.error());
    family.tensors.push_back(*std::move(pattern));
  }
  if (const Result<void> read = ReadRecomputed(cursor, family); !read) {
    return tl::unexpected(read.error());
  }
  for (const auto read_more : {ReadRepacked, ReadStored}) {
    if (const Result<void> read = read_more(cursor, family); !read) {
      return tl::unexpected(read.error());
    }
  }
  if (const Result<void> checked = CheckFamily(family, cursor); !checked) {
    return tl::unexpected(checked.error());
  }
  return family;
}

}  // namespace reshard
