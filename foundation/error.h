// Errors are values: where, why, and what to do about it.
//
// Every function of reshard that can fail returns Result<T>. No function throws; an exception of a
// library is caught where the library is called and becomes an Error there.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace reshard {

// Who is at fault; the value is the exit status of a command that ends with it.
enum class Fault {
  kInput = 1,     // the input or the plan
  kUsage = 2,     // the command line
  kInternal = 3,  // the program itself
  kRun = 4,       // a run that failed: peer, deadline, NCCL, CUDA, MPI, content
};

struct Error {
  Fault fault = Fault::kInput;
  std::string place;   // file and path in it, e.g. "job.json: source.layout.megatron.pipeline"
  std::string reason;  // what is wrong, without a full stop
  std::string remedy;  // what to do, imperative, without a full stop; may be empty
};

// One line: "place: reason; remedy". Names from input may hold line breaks or terminal escapes;
// each control character becomes '?'.
inline std::string ToString(const Error& error) {
  std::string line = error.place;
  if (!line.empty()) line += ": ";
  line += error.reason;
  if (!error.remedy.empty()) line += "; " + error.remedy;
  for (char& character : line) {
    const auto code = static_cast<unsigned char>(character);
    if (code < 0x20 || code == 0x7f) character = '?';
  }
  return line;
}

template <typename T>
using Result = tl::expected<T, Error>;

// An input error, ready to be returned from a function with a Result.
inline tl::unexpected<Error> InputError(std::string place, std::string reason,
                                        std::string remedy = "") {
  return tl::unexpected<Error>(
      Error{Fault::kInput, std::move(place), std::move(reason), std::move(remedy)});
}

inline tl::unexpected<Error> InternalError(std::string place, std::string reason) {
  return tl::unexpected<Error>(Error{Fault::kInternal, std::move(place), std::move(reason),
                                     "report this: it is a fault of the program"});
}

inline tl::unexpected<Error> RunError(std::string place, std::string reason,
                                      std::string remedy = "") {
  return tl::unexpected<Error>(
      Error{Fault::kRun, std::move(place), std::move(reason), std::move(remedy)});
}

}  // namespace reshard
