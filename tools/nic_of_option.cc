#include "tools/nic_of_option.h"

#include <charconv>
#include <string>

#include "tools/command_line.h"

namespace reshard {

Result<std::vector<NicOfGpu>> ParseNicOf(std::string_view text) {
  std::vector<NicOfGpu> pairs;
  if (text.empty()) return pairs;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    const std::size_t equals = part.find('=');
    NicOfGpu pair;
    const std::string_view gpu = part.substr(0, equals);
    const auto [end, error] = std::from_chars(gpu.data(), gpu.data() + gpu.size(), pair.gpu);
    if (equals == std::string_view::npos || equals + 1 == part.size() || error != std::errc() ||
        end != gpu.data() + gpu.size()) {
      return UsageError("--nic-of: '" + std::string(part) + "' is not GPU=NIC",
                        "for example --nic-of 0=mlx5_0,1=mlx5_1");
    }
    pair.nic = part.substr(equals + 1);
    pairs.push_back(std::move(pair));
    if (comma == std::string_view::npos) return pairs;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace reshard
