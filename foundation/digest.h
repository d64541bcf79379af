// Digests that name contents: of the normalised job, of a plan's parts, of the constants.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace reshard {

// XXH3, 128 bits, as 32 lowercase hexadecimal digits; equal on every machine. It tells files apart
// and finds damage; it does not withstand forgery.
std::string DigestHex(std::span<const std::byte> bytes);
std::string DigestHex(std::string_view text);

}  // namespace reshard
