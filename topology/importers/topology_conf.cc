// The reader of topology.conf.
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "foundation/nearest_name.h"
#include "topology/importers/quotation.h"
#include "topology/importers/slurm_builder.h"
#include "topology/importers/slurm_topology.h"

namespace reshard {
namespace {

// Keys are case-insensitive.
constexpr std::array<std::string_view, 6> kKeys = {"switchname", "nodes",     "switches",
                                                   "linkspeed",  "blockname", "blocksizes"};

// A line joined with those that it continues on, without comment.
struct LogicalLine {
  std::string text;
  int number = 0;  // of its first line, from 1
};

std::vector<LogicalLine> Lines(std::string_view text) {
  std::vector<LogicalLine> lines;
  bool continues = false;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    line = line.substr(0, line.find('#'));
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back())) != 0) {
      line.remove_suffix(1);
    }
    const bool goes_on = line.ends_with('\\');
    if (goes_on) line.remove_suffix(1);
    if (continues) {
      lines.back().text += line;
    } else {
      lines.push_back({std::string(line), number});
    }
    continues = goes_on;
  }
  return lines;
}

std::vector<std::string_view> Words(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::size_t i = 0; i < line.size();) {
    const auto is_space = [&](std::size_t at) {
      return std::isspace(static_cast<unsigned char>(line[at])) != 0;
    };
    if (is_space(i)) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < line.size() && !is_space(end)) ++end;
    words.push_back(line.substr(i, end - i));
    i = end;
  }
  return words;
}

// The values of one line by key; an empty one is absent.
struct Fields {
  std::array<std::string_view, kKeys.size()> values;
  std::string_view operator[](std::string_view key) const {
    for (std::size_t i = 0; i < kKeys.size(); ++i) {
      if (kKeys[i] == key) return values[i];
    }
    return {};
  }
};

Result<Fields> ReadFields(std::string_view line, const std::string& place) {
  Fields fields;
  for (const std::string_view word : Words(line)) {
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) {
      return InputError(place, "expected KEY=VALUE, got " + Quoted(word));
    }
    const std::string key = LowerCase(word.substr(0, equals));
    std::size_t index = 0;
    while (index < kKeys.size() && kKeys[index] != key) ++index;
    if (index == kKeys.size()) {
      return InputError(place, "unknown key " + Quoted(word.substr(0, equals)),
                        SuggestName(key.substr(0, 40), kKeys));
    }
    if (equals + 1 == word.size()) return InputError(place, Quoted(word) + " has no value");
    if (!fields.values[index].empty()) {
      return InputError(place, "key " + Quoted(word.substr(0, equals)) + " stands twice");
    }
    fields.values[index] = word.substr(equals + 1);
  }
  return fields;
}

}  // namespace

bool HoldsTopologyConf(std::string_view text) {
  // Only the beginning: a line that says anything comes early in a real file.
  for (const LogicalLine& line : Lines(text.substr(0, std::size_t{1} << 16))) {
    const std::vector<std::string_view> words = Words(line.text);
    if (words.empty()) continue;
    const std::string key = LowerCase(words.front().substr(0, words.front().find('=')));
    return words.front().find('=') != std::string_view::npos &&
           (key == "switchname" || key == "blockname" || key == "blocksizes");
  }
  return false;
}

Result<SlurmTopology> ReadTopologyConf(std::string_view text, const std::string& name) {
  SlurmBuilder builder(name);
  bool has_speed = false;
  for (const LogicalLine& line : Lines(text)) {
    const std::string place = name + ": line " + std::to_string(line.number);
    const Result<Fields> fields = ReadFields(line.text, place);
    if (!fields) return tl::unexpected(fields.error());
    has_speed = has_speed || !(*fields)["linkspeed"].empty();
    Result<void> added;
    if (!(*fields)["switchname"].empty()) {
      added = builder.AddSwitch((*fields)["switchname"], (*fields)["nodes"], (*fields)["switches"],
                                place);
    } else if (!(*fields)["blockname"].empty()) {
      if ((*fields)["nodes"].empty()) return InputError(place, "the block has no Nodes");
      added = builder.AddBlock((*fields)["blockname"], (*fields)["nodes"], place);
    } else if (!(*fields)["nodes"].empty() || !(*fields)["switches"].empty()) {
      return InputError(place, "the line names no switch and no block",
                        "begin it with SwitchName= or BlockName=");
    }
    if (!added) return tl::unexpected(added.error());
  }
  if (has_speed) builder.Assume("LinkSpeed is ignored: SLURM gives it no unit");
  return builder.Finish();
}

}  // namespace reshard
