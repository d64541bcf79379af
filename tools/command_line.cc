#include "tools/command_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <utility>

namespace reshard {
namespace {

// Bytes of the UTF-8 character that `text` begins with; 0 if it begins with none.
std::size_t CharacterBytes(std::string_view text) {
  const auto byte = [text](std::size_t index) { return static_cast<unsigned char>(text[index]); };
  const std::size_t bytes = byte(0) < 0x80                      ? 1
                            : byte(0) >= 0xC2 && byte(0) < 0xE0 ? 2
                            : byte(0) >= 0xE0 && byte(0) < 0xF0 ? 3
                            : byte(0) >= 0xF0 && byte(0) < 0xF5 ? 4
                                                                : 0;
  if (bytes == 0 || bytes > text.size()) return 0;
  for (std::size_t index = 1; index < bytes; ++index) {
    if ((byte(index) & 0xC0) != 0x80) return 0;
  }
  return bytes;
}

// Names of files and what a broken file is quoted with need not be text; terminals and programs
// that read the line expect it.
std::string WithoutBrokenCharacters(std::string_view line) {
  std::string text;
  while (!line.empty()) {
    const std::size_t bytes = CharacterBytes(line);
    text += bytes > 0 ? line.substr(0, bytes) : "\uFFFD";
    line.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return text;
}

void PrintError(std::string_view program, const Error& error) {
  const char* no_color = std::getenv("NO_COLOR");  // https://no-color.org
  const bool colour = isatty(STDERR_FILENO) != 0 && (no_color == nullptr || *no_color == '\0');
  const std::string line =
      fmt::format("{}: {}error:{} {}\n", program, colour ? "\x1b[1;31m" : "",
                  colour ? "\x1b[0m" : "", WithoutBrokenCharacters(ToString(error)));
  std::fputs(line.c_str(), stderr);
}

// Standard output is buffered: a full disk shows when the last bytes are flushed.
Result<void> FlushOutput() {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return {};
  const int code = errno;
  return InputError(
      "standard output",
      code == 0 ? "cannot be written" : std::string("cannot be written: ") + std::strerror(code));
}

// An option of an unset shell variable would else count as not given, and the file it names as not
// wanted.
std::string RefuseEmpty(const std::string& text) { return text.empty() ? "is empty" : ""; }

Result<void> RunGuarded(const std::function<Result<void>()>& body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return tl::unexpected<Error>(Error{Fault::kInternal, "", "out of memory",
                                       "give the command more memory or a smaller job"});
  } catch (const std::exception& exception) {
    return InternalError("", std::string("unexpected exception: ") + exception.what());
  } catch (...) {
    return InternalError("", "unexpected exception");
  }
}

}  // namespace

struct CommandLine::Parser {
  CLI::App app;
  std::string program;
};

CommandLine::CommandLine(std::string_view program, std::string_view purpose,
                         std::string_view example)
    : parser_(std::make_unique<Parser>()) {
  parser_->program = program;
  parser_->app.name(std::string(program));
  parser_->app.description(std::string(purpose));
  parser_->app.footer("Example:\n" + std::string(example));
  parser_->app.get_formatter()->column_width(34);
  parser_->app.get_formatter()->label("REQUIRED", "(required)");
}

CommandLine::~CommandLine() = default;

void CommandLine::AddPositional(std::string_view name, std::string& value,
                                std::string_view meaning) {
  parser_->app.add_option(std::string(name), value, std::string(meaning))
      ->required()
      ->check(RefuseEmpty)
      ->type_name("");
}

void CommandLine::AddPositionals(std::string_view name, std::vector<std::string>& values,
                                 std::string_view meaning) {
  parser_->app.add_option(std::string(name), values, std::string(meaning))
      ->required()
      ->check(RefuseEmpty)
      ->type_name("");
}

void CommandLine::AddOption(std::string_view names, std::string_view placeholder,
                            std::string& value, std::string_view meaning) {
  parser_->app.add_option(std::string(names), value, std::string(meaning))
      ->check(RefuseEmpty)
      ->type_name(std::string(placeholder));
}

void CommandLine::AddRequiredOption(std::string_view names, std::string_view placeholder,
                                    std::string& value, std::string_view meaning) {
  parser_->app.add_option(std::string(names), value, std::string(meaning))
      ->required()
      ->check(RefuseEmpty)
      ->type_name(std::string(placeholder));
}

void CommandLine::AddOption(std::string_view names, std::string_view placeholder,
                            std::optional<std::int64_t>& value, std::string_view meaning) {
  // CLI11's own conversion takes what exceeds 64 bits for the largest number.
  const auto convert = [&value, label = std::string(names)](const std::string& text) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number < 0) {
      throw CLI::ValidationError(label, "'" + text + "' is not a whole number from 0 up");
    }
    value = number;
  };
  parser_->app.add_option_function<std::string>(std::string(names), convert, std::string(meaning))
      ->type_name(std::string(placeholder));
}

void CommandLine::AddOption(std::string_view names, std::string_view placeholder,
                            std::optional<double>& value, std::string_view meaning) {
  const auto convert = [&value, label = std::string(names)](const std::string& text) {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(number) ||
        number <= 0) {
      throw CLI::ValidationError(label, "'" + text + "' is not a number above 0");
    }
    value = number;
  };
  parser_->app.add_option_function<std::string>(std::string(names), convert, std::string(meaning))
      ->type_name(std::string(placeholder));
}

void CommandLine::AddChoice(std::string_view names, std::string_view placeholder,
                            const std::vector<std::string>& choices, std::string& value,
                            std::string_view meaning) {
  parser_->app.add_option(std::string(names), value, std::string(meaning))
      ->check(CLI::IsMember(choices))
      ->type_name(std::string(placeholder));
}

void CommandLine::AddRepeated(std::string_view names, std::string_view placeholder,
                              std::vector<std::string>& values, std::string_view meaning) {
  parser_->app.add_option(std::string(names), values, std::string(meaning))
      ->allow_extra_args(false)  // one value each time it is given
      ->type_name(std::string(placeholder));
}

void CommandLine::AddFlag(std::string_view names, bool& value, std::string_view meaning) {
  parser_->app.add_flag(std::string(names), value, std::string(meaning));
}

Result<bool> CommandLine::Parse(int argc, const char* const* argv) {
  try {
    parser_->app.parse(argc, argv);
    return true;
  } catch (const CLI::CallForHelp&) {
    Print(parser_->app.help());
    return false;
  } catch (const CLI::ParseError& error) {
    return UsageError(error.what(), "see " + parser_->program + " -h");
  }
}

int RunCommand(std::string_view program, const std::function<Result<void>()>& body) {
  Result<void> done = RunGuarded(body);
  if (done) done = FlushOutput();
  if (done) return 0;
  PrintError(program, done.error());
  return static_cast<int>(done.error().fault);
}

void Print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

}  // namespace reshard
