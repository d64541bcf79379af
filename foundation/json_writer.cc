#include "foundation/json_writer.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

namespace reshard {
namespace {

class Writer {
 public:
  Writer(bool sorted, std::string_view space) : sorted_(sorted), space_(space) {}

  void Write(const JsonValue& value) {
    if (const bool* boolean = value.AsBool()) {
      text_ += *boolean ? "true" : "false";
    } else if (const std::int64_t* integer = value.AsInteger()) {
      WriteInteger(*integer);
    } else if (const double* fraction = value.AsFraction()) {
      WriteFraction(*fraction);
    } else if (const std::string* string = value.AsString()) {
      WriteString(*string);
    } else if (const JsonValue::Array* array = value.AsArray()) {
      WriteArray(*array);
    } else if (const JsonValue::Object* object = value.AsObject()) {
      WriteObject(*object);
    } else {
      text_ += "null";
    }
  }

  std::string TakeText() { return std::move(text_); }

 private:
  // to_chars writes the shortest text that reads back equal.
  void WriteInteger(std::int64_t integer) {
    char digits[32];
    text_.append(digits, std::to_chars(digits, digits + sizeof(digits), integer).ptr);
  }

  void WriteFraction(double fraction) {
    // Beyond 64 bits always with an exponent: digits alone would read back as an integer at -2^63.
    constexpr double kBeyondIntegers = 9223372036854775808.0;
    char digits[32];
    char* const end = digits + sizeof(digits);
    const std::to_chars_result written =
        std::abs(fraction) < kBeyondIntegers
            ? std::to_chars(digits, end, fraction)
            : std::to_chars(digits, end, fraction, std::chars_format::scientific);
    text_.append(digits, written.ptr);
  }

  void WriteString(const std::string& string) {
    const bool plain = std::all_of(string.begin(), string.end(), [](char c) {
      return c >= ' ' && c <= '~' && c != '"' && c != '\\';
    });
    if (plain) {
      text_ += '"';
      text_ += string;
      text_ += '"';
      return;
    }
    // A file name need not be UTF-8; JSON must.
    text_ += nlohmann::json(string).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }

  void Separate(bool& first) {
    if (!first) {
      text_ += ',';
      text_ += space_;
    }
    first = false;
  }

  void WriteArray(const JsonValue::Array& array) {
    text_ += '[';
    bool first = true;
    for (const JsonValue& element : array) {
      Separate(first);
      Write(element);
    }
    text_ += ']';
  }

  void WriteObject(const JsonValue::Object& object) {
    std::vector<const JsonValue::Member*> members;
    members.reserve(object.size());
    for (const JsonValue::Member& member : object) members.push_back(&member);
    if (sorted_) {
      std::sort(members.begin(), members.end(),
                [](const JsonValue::Member* a, const JsonValue::Member* b) {
                  return a->first < b->first;
                });
    }
    text_ += '{';
    bool first = true;
    for (const JsonValue::Member* member : members) {
      Separate(first);
      WriteString(member->first);
      text_ += ':';
      text_ += space_;
      Write(member->second);
    }
    text_ += '}';
  }

  bool sorted_;
  std::string_view space_;
  std::string text_;
};

}  // namespace

std::string CanonicalJson(const JsonValue& value) {
  Writer writer(/*sorted=*/true, "");
  writer.Write(value);
  return writer.TakeText();
}

std::string JsonLine(const JsonValue& value) {
  Writer writer(/*sorted=*/false, " ");
  writer.Write(value);
  return writer.TakeText();
}

}  // namespace reshard
