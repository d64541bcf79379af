#include "runtime/binding.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "foundation/checked_arithmetic.h"
#include "schedules/dtype.h"

namespace reshard {
namespace {

// One piece of memory and who it is for.
struct Extent {
  std::byte* data = nullptr;
  std::int64_t bytes = 0;
  std::string owner;  // "source parameter w"
};

using NamePositions = std::map<std::string_view, std::size_t>;

NamePositions PositionsOf(const std::vector<Parameter>& parameters) {
  NamePositions positions;
  for (std::size_t i = 0; i < parameters.size(); ++i) positions.emplace(parameters[i].name, i);
  return positions;
}

class Matching {
 public:
  explicit Matching(const RankPart& part)
      : part_(part), place_("rank " + std::to_string(part.rank)) {}

  // `computed` parameters have no memory: their address is null.
  Result<void> AddSide(const std::string& side, const std::vector<Parameter>& parameters,
                       const std::vector<bool>& computed, std::span<const NamedBuffer> buffers) {
    std::map<std::string_view, const NamedBuffer*> by_name;
    for (const NamedBuffer& buffer : buffers) {
      if (!by_name.emplace(buffer.name, &buffer).second) {
        return Refuse(side, buffer.name, "is bound twice", "bind every parameter once");
      }
    }
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const Parameter& parameter = parameters[i];
      if (computed[i]) {
        addresses_.push_back(nullptr);
        extents_.push_back({});
        continue;
      }
      const auto found = by_name.find(parameter.name);
      if (found == by_name.end()) {
        return Refuse(side, parameter.name, "is not bound", "bind every parameter of the plan");
      }
      Result<void> added = AddParameter(side, parameter, *found->second);
      if (!added) return added;
      by_name.erase(found);
    }
    if (!by_name.empty()) {
      return Refuse(side, std::string(by_name.begin()->first), "is no parameter of the plan",
                    "bind the parameters the plan names, with their names");
    }
    return {};
  }

  // Joins the two extents of every inPlace pair the rank has both of into one.
  Result<void> JoinPairs() {
    const NamePositions sources = PositionsOf(part_.source_parameters);
    const NamePositions destinations = PositionsOf(part_.destination_parameters);
    for (const InPlacePair& pair : part_.in_place) {
      const auto source = sources.find(pair.source_parameter);
      const auto destination = destinations.find(pair.destination_parameter);
      if (source == sources.end() || destination == destinations.end()) continue;
      Extent& first = extents_[source->second];
      Extent& second = extents_[part_.source_parameters.size() + destination->second];
      if (first.bytes == 0 || second.bytes == 0) continue;
      if (first.data != second.data) {
        return Refuse("destination", pair.destination_parameter,
                      "does not begin where source parameter " + pair.source_parameter + " does",
                      "bind both of an inPlace pair to the same memory");
      }
      if (second.bytes > first.bytes) std::swap(first, second);
      second.bytes = 0;
    }
    return {};
  }

  Result<void> CheckApart() const {
    std::vector<const Extent*> order;
    for (const Extent& extent : extents_) {
      if (extent.bytes > 0) order.push_back(&extent);
    }
    // std::less orders pointers of different objects; operator< need not.
    std::sort(order.begin(), order.end(), [](const Extent* a, const Extent* b) {
      return std::less<const std::byte*>()(a->data, b->data);
    });
    for (std::size_t i = 1; i < order.size(); ++i) {
      const Extent& before = *order[i - 1];
      if (std::less<const std::byte*>()(order[i]->data, before.data + before.bytes)) {
        return InputError(place_ + ": " + order[i]->owner, "shares memory with " + before.owner,
                          "give each its own memory, or pair the two in options.inPlace");
      }
    }
    return {};
  }

  std::vector<std::byte*> TakeAddresses() { return std::move(addresses_); }

 private:
  Result<void> AddParameter(const std::string& side, const Parameter& parameter,
                            const NamedBuffer& buffer) {
    const std::optional<std::int64_t> elements = CheckedProduct(parameter.shape);
    const std::optional<std::int64_t> bytes =
        elements ? CheckedMultiply(*elements, ElementBytes(parameter.dtype)) : std::nullopt;
    if (!bytes) return Refuse(side, parameter.name, "has a shape beyond 64 bits", "");
    if (buffer.bytes != *bytes) {
      return Refuse(side, parameter.name,
                    "is bound to " + std::to_string(buffer.bytes) + " bytes and has " +
                        std::to_string(*bytes),
                    "bind the whole parameter, in the dtype and shape the plan has");
    }
    if (buffer.data == nullptr && *bytes > 0) {
      return Refuse(side, parameter.name, "is bound to no memory", "");
    }
    addresses_.push_back(buffer.data);
    extents_.push_back({buffer.data, *bytes, side + " parameter " + parameter.name});
    return {};
  }

  tl::unexpected<Error> Refuse(const std::string& side, const std::string& name, std::string reason,
                               std::string remedy) const {
    return InputError(place_ + ": " + side + " parameter " + name, std::move(reason),
                      std::move(remedy));
  }

  const RankPart& part_;
  std::string place_;
  std::vector<std::byte*> addresses_;
  std::vector<Extent> extents_;  // one per address
};

}  // namespace

Result<std::vector<std::byte*>> MatchBuffers(const RankPart& part,
                                             std::span<const NamedBuffer> source,
                                             std::span<const NamedBuffer> destination) {
  Matching matching(part);
  Result<void> done = matching.AddSide(
      "source", part.source_parameters,
      ComputedParameters(part.source_conversions, part.source_parameters.size()), source);
  if (done) {
    done =
        matching.AddSide("destination", part.destination_parameters,
                         std::vector<bool>(part.destination_parameters.size(), false), destination);
  }
  if (done) done = matching.JoinPairs();
  if (done) done = matching.CheckApart();
  if (!done) return tl::unexpected(done.error());
  return matching.TakeAddresses();
}

}  // namespace reshard
