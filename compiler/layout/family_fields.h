// The config fields of one model: what config.json says, else what the tensors' shapes tell, else
// the family's default.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/layout/family.h"
#include "compiler/layout/family_expression.h"
#include "compiler/layout/family_roles.h"
#include "foundation/error.h"
#include "foundation/json_value.h"

namespace reshard {

// What a tensor list tells of a model: the shape of the first weight of each role in order of layer
// and expert, and how far the indices go.
struct RoleShapes {
  std::array<std::optional<std::vector<std::int64_t>>, kRoleCount> weight;
  std::int64_t layers = 0;  // main ones
  std::int64_t experts = 0;
};

// The scope of a family's expressions. Refers to family, config and shapes, which must outlive it.
class FieldScope : public ExpressionScope {
 public:
  // `config` is config.json's root, or null; `shapes` is null where the tensors are yet to follow
  // from the config. `place` is what errors name.
  FieldScope(const Family& family, const JsonValue* config, const RoleShapes* shapes,
             std::string place)
      : family_(&family), config_(config), shapes_(shapes), place_(std::move(place)) {}

  // The index that `layer` stands for from now on.
  void SetLayer(std::int64_t layer) { layer_ = layer; }

  // A field that is nowhere is an error that names it as the one to give.
  Result<JsonValue> ValueOf(std::string_view name) const override;
  // has(field): the config has it and it is not null. rows(role), columns(role), holds(role),
  // layers(), experts(): as the tensors are.
  Result<JsonValue> Call(std::string_view function, std::string_view argument) const override;

  Result<std::int64_t> Integer(std::string_view name) const;
  // An expression of the family at these fields. What is wrong with them is found in a file of the
  // family, which may be one of the program's own: errors name the model first.
  Result<std::int64_t> Evaluate(const Expression& expression) const;
  // A count (of layers, experts) by an expression of the family; 0 where the family has none.
  Result<std::int64_t> Count(const std::optional<Expression>& expression,
                             std::string_view what) const;

 private:
  const JsonValue* InConfig(std::string_view name) const;
  tl::unexpected<Error> Missing(std::string_view name) const;

  const Family* family_;
  const JsonValue* config_;
  const RoleShapes* shapes_;
  std::string place_;
  std::int64_t layer_ = 0;
  // Found once: the experts of a layer ask alike. `pending_` breaks rules that ask each other.
  mutable std::map<std::string, JsonValue, std::less<>> resolved_;
  mutable std::vector<std::string_view> pending_;
};

}  // namespace reshard
