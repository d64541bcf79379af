// What every command shares: its arguments, its one error line, its exit status.
//
// Exit 0 done; 1 the input or the plan is at fault; 2 wrong usage; 3 a fault of the program; 4 a
// run failed. Errors go to standard error as one line, results to standard output.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/error.h"

namespace reshard {

// The arguments of one command. The variables given to the Add functions outlive the object and are
// written by Parse; what the user does not give keeps the value it had.
class CommandLine {
 public:
  // `example` is shown at the end of -h, one command a line.
  CommandLine(std::string_view program, std::string_view purpose, std::string_view example);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  // A required positional argument, in the order of the calls.
  void AddPositional(std::string_view name, std::string& value, std::string_view meaning);
  // The last of the positional arguments: one or more values.
  void AddPositionals(std::string_view name, std::vector<std::string>& values,
                      std::string_view meaning);
  // `names` as "-o,--output"; `placeholder` stands for the value in -h.
  void AddOption(std::string_view names, std::string_view placeholder, std::string& value,
                 std::string_view meaning);
  void AddRequiredOption(std::string_view names, std::string_view placeholder, std::string& value,
                         std::string_view meaning);
  // A whole number from 0 up.
  void AddOption(std::string_view names, std::string_view placeholder,
                 std::optional<std::int64_t>& value, std::string_view meaning);
  // A number above 0.
  void AddOption(std::string_view names, std::string_view placeholder, std::optional<double>& value,
                 std::string_view meaning);
  // One of `choices`.
  void AddChoice(std::string_view names, std::string_view placeholder,
                 const std::vector<std::string>& choices, std::string& value,
                 std::string_view meaning);
  // May be given any number of times.
  void AddRepeated(std::string_view names, std::string_view placeholder,
                   std::vector<std::string>& values, std::string_view meaning);
  void AddFlag(std::string_view names, bool& value, std::string_view meaning);

  // True: run the command. False: -h was asked for and has been printed. Wrong usage is an Error.
  Result<bool> Parse(int argc, const char* const* argv);

 private:
  struct Parser;  // hides CLI11, whose header takes seconds to compile
  std::unique_ptr<Parser> parser_;
};

// Runs `body` and returns the exit status. An Error becomes one line on standard error, and so does
// an exception, which is always a fault of the program. Output that cannot be written (a full disk)
// is an error too.
int RunCommand(std::string_view program, const std::function<Result<void>()>& body);

inline tl::unexpected<Error> UsageError(std::string reason, std::string remedy = "") {
  return tl::unexpected<Error>(Error{Fault::kUsage, "", std::move(reason), std::move(remedy)});
}

// Writes `text` to standard output.
void Print(std::string_view text);

}  // namespace reshard
