// conversions.txt, which tests/oracles/conversions.py wrote once with PyTorch: buffers to convert
// and the bytes they must give.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "kernels/conversion.h"

namespace reshard {

struct GoldenConversion {
  std::string name;
  std::vector<std::byte> source;
  std::vector<ConversionDim> dims;
  ConvertedBuffer buffer;           // of base 0; its dims are not set: Buffer() sets them
  std::vector<std::byte> expected;  // all bytes of the converted buffer

  ConvertedBuffer Buffer() const {
    ConvertedBuffer with_dims = buffer;
    with_dims.dims = dims;
    return with_dims;
  }
};

// One of every line, two of those that have scales and values.
std::vector<GoldenConversion> ReadGoldenConversions();

}  // namespace reshard
