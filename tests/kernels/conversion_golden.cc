#include "tests/kernels/conversion_golden.h"

#include <fstream>
#include <map>
#include <sstream>

#include "kernels/mixing.h"
#include "tests/source_directory.h"

namespace reshard {
namespace {

std::vector<std::uint32_t> Numbers(const std::string& digits, std::size_t width) {
  std::vector<std::uint32_t> numbers;
  for (std::size_t i = 0; i + width <= digits.size(); i += width) {
    numbers.push_back(static_cast<std::uint32_t>(std::stoul(digits.substr(i, width), nullptr, 16)));
  }
  return numbers;
}

std::vector<std::byte> Bytes(const std::vector<std::uint32_t>& numbers, std::int64_t width) {
  std::vector<std::byte> bytes;
  for (const std::uint32_t number : numbers) {
    for (std::int64_t b = 0; b < width; ++b) {
      bytes.push_back(static_cast<std::byte>(number >> static_cast<std::uint32_t>(8 * b)));
    }
  }
  return bytes;
}

ConversionElement ElementOf(const std::string& name) {
  if (name == "F32") return ConversionElement::kF32;
  if (name == "F16") return ConversionElement::kF16;
  return name == "BF16" ? ConversionElement::kBF16 : ConversionElement::kF8E4M3;
}

std::size_t DigitsOf(ConversionElement element) {
  return static_cast<std::size_t>(2 * BytesOf(element));
}

// A line "words of the kind, source digits, expected digits".
GoldenConversion ReadNumbers(const std::string& name, ConversionFunction function,
                             ConversionElement from, ConversionElement to, std::istream& line) {
  std::string source;
  std::string expected;
  line >> source >> expected;
  GoldenConversion golden{name,
                          Bytes(Numbers(source, DigitsOf(from)), BytesOf(from)),
                          {},
                          {function, BlockScaleRule::kAmax, from, to, 0, 0, {}},
                          Bytes(Numbers(expected, DigitsOf(to)), BytesOf(to))};
  golden.dims = {
      {static_cast<std::int64_t>(golden.source.size()) / BytesOf(from), BytesOf(from), 1}};
  return golden;
}

// The formula of `hashed` in the script.
std::vector<std::uint32_t> Hashed(std::uint64_t seed, std::int64_t count) {
  std::vector<std::uint32_t> numbers;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint64_t hash = Mix64(seed * kGoldenGamma + static_cast<std::uint64_t>(i));
    numbers.push_back(
        static_cast<std::uint32_t>((hash & 0x807FU) | ((hash >> 16U) % 40 + 100) << 7U));
  }
  return numbers;
}

void ReadBlocks(std::istream& line, std::vector<GoldenConversion>& all) {
  std::string rule;
  std::string dtype;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t block_rows = 0;
  std::int64_t block_columns = 0;
  std::string source;
  line >> rule >> dtype >> rows >> columns >> block_rows >> block_columns >> source;
  const ConversionElement from = ElementOf(dtype);
  std::vector<std::uint32_t> numbers;
  if (source == "seed") {
    std::uint64_t seed = 0;
    line >> seed;
    numbers = Hashed(seed, rows * columns);
  } else {
    numbers = Numbers(source, DigitsOf(from));
  }
  std::string scales;
  std::string values;
  line >> scales >> values;
  const std::map<std::string, BlockScaleRule> rules = {{"amax", BlockScaleRule::kAmax},
                                                       {"floor", BlockScaleRule::kFloor},
                                                       {"rceil", BlockScaleRule::kRceil}};
  GoldenConversion golden;
  golden.name = rule + " " + dtype + " " + std::to_string(block_rows) + "x" +
                std::to_string(block_columns) + " values";
  golden.source = Bytes(numbers, BytesOf(from));
  golden.dims = {{rows, columns * BytesOf(from), block_rows},
                 {columns, BytesOf(from), block_columns}};
  golden.buffer = {
      ConversionFunction::kBlockValues, rules.at(rule), from, ConversionElement::kF8E4M3, 0, 0, {}};
  golden.expected = Bytes(Numbers(values, 2), 1);
  all.push_back(golden);
  golden.name += "' scales";
  golden.buffer.function = ConversionFunction::kBlockScales;
  golden.buffer.to = rule == "amax" ? ConversionElement::kF32 : ConversionElement::kE8M0;
  golden.expected = Bytes(Numbers(scales, DigitsOf(golden.buffer.to)), BytesOf(golden.buffer.to));
  all.push_back(golden);
}

}  // namespace

std::vector<GoldenConversion> ReadGoldenConversions() {
  const std::map<std::string, ConversionFunction> functions = {
      {"plusOne", ConversionFunction::kPlusOne},
      {"minusOne", ConversionFunction::kMinusOne},
      {"negativeExponential", ConversionFunction::kNegativeExponential}};
  std::ifstream file(SourceDirectory() + "/tests/kernels/conversions.txt");
  std::vector<GoldenConversion> all;
  for (std::string text; std::getline(file, text);) {
    std::istringstream line(text);
    std::string kind;
    line >> kind;
    if (kind == "#") continue;
    if (kind == "block") {
      ReadBlocks(line, all);
      continue;
    }
    std::string dtype;
    line >> dtype;
    const ConversionElement element = ElementOf(dtype);
    const std::string name = kind + " " + dtype;
    if (kind == "to") {
      all.push_back(
          ReadNumbers(name, ConversionFunction::kCast, ConversionElement::kF32, element, line));
    } else if (kind == "from") {
      all.push_back(
          ReadNumbers(name, ConversionFunction::kCast, element, ConversionElement::kF32, line));
    } else {
      all.push_back(ReadNumbers(name, functions.at(kind), element, element, line));
    }
  }
  return all;
}

}  // namespace reshard
