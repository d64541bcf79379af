#include "tools/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace reshard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Arguments {
  std::string job;
  std::string output;
  std::string trace;
  std::string view = "cluster";
  std::vector<std::string> settings;
  std::optional<std::int64_t> rank;
  bool json = false;
};

Result<bool> Parse(const std::vector<const char*>& words, Arguments& arguments) {
  CommandLine command_line("reshard-test", "tests", "  reshard-test job.json -o plan.reshard");
  command_line.AddPositional("JOB", arguments.job, "the job");
  command_line.AddRequiredOption("-o,--output", "PLAN", arguments.output, "the plan");
  command_line.AddOption("--trace", "FILE", arguments.trace, "a trace");
  command_line.AddChoice("--view", "VIEW", {"cluster", "class"}, arguments.view, "what to show");
  command_line.AddRepeated("--set", "PATH=VALUE", arguments.settings, "an edit");
  command_line.AddOption("--rank", "R", arguments.rank, "a rank");
  command_line.AddFlag("--json", arguments.json, "one object");
  std::vector<const char*> all = {"reshard-test"};
  all.insert(all.end(), words.begin(), words.end());
  return command_line.Parse(static_cast<int>(all.size()), all.data());
}

TEST(CommandLine, ReadsEveryKindOfArgument) {
  Arguments arguments;
  const Result<bool> run = Parse({"a.json", "--set", "x.y=1", "-o", "b", "--set", "z=[1,2]",
                                  "--rank", "7", "--json", "--view", "class"},
                                 arguments);
  ASSERT_TRUE(run) << ToString(run.error());
  EXPECT_TRUE(*run);
  EXPECT_EQ(arguments.job, "a.json");
  EXPECT_EQ(arguments.output, "b");
  EXPECT_EQ(arguments.view, "class");
  EXPECT_THAT(arguments.settings, ElementsAre("x.y=1", "z=[1,2]"));
  EXPECT_EQ(arguments.rank, 7);
  EXPECT_TRUE(arguments.json);
}

TEST(CommandLine, ReadsSeveralPositionalsAndNumbers) {
  std::string verb;
  std::vector<std::string> files;
  std::optional<double> rate;
  CommandLine command_line("reshard-test", "tests", "  reshard-test do a b");
  command_line.AddPositional("do", verb, "what to do");
  command_line.AddPositionals("FILE", files, "files");
  command_line.AddOption("--rate", "RATE", rate, "a rate");
  const std::vector<const char*> words = {"reshard-test", "do", "a", "--rate", "1.5", "b"};
  const Result<bool> run = command_line.Parse(static_cast<int>(words.size()), words.data());
  ASSERT_TRUE(run) << ToString(run.error());
  EXPECT_EQ(verb, "do");
  EXPECT_THAT(files, ElementsAre("a", "b"));
  EXPECT_EQ(rate, 1.5);
}

TEST(CommandLine, ANumberIsFiniteAndAboveZero) {
  for (const char* text : {"0", "-1", "nan", "inf", "1e999", "4x", ""}) {
    std::optional<double> rate;
    CommandLine command_line("reshard-test", "tests", "  reshard-test");
    command_line.AddOption("--rate", "RATE", rate, "a rate");
    const std::vector<const char*> words = {"reshard-test", "--rate", text};
    const Result<bool> run = command_line.Parse(static_cast<int>(words.size()), words.data());
    ASSERT_FALSE(run) << text;
    EXPECT_EQ(run.error().fault, Fault::kUsage) << text;
  }
}

TEST(CommandLine, LeavesWhatIsNotGivenAsItWas) {
  Arguments arguments;
  ASSERT_TRUE(Parse({"-o", "b", "a.json"}, arguments));
  EXPECT_EQ(arguments.view, "cluster");
  EXPECT_THAT(arguments.settings, IsEmpty());
  EXPECT_FALSE(arguments.rank);
  EXPECT_FALSE(arguments.json);
}

TEST(CommandLine, AnEditTakesOneValueOnly) {
  Arguments arguments;
  ASSERT_TRUE(Parse({"--set", "x=1", "a.json", "-o", "b"}, arguments));
  EXPECT_THAT(arguments.settings, ElementsAre("x=1"));
  EXPECT_EQ(arguments.job, "a.json");
}

TEST(CommandLine, WrongUsageIsAnErrorThatPointsAtTheHelp) {
  const std::vector<std::vector<const char*>> wrong = {
      {},                                                       // no job
      {"a.json"},                                               // no -o
      {"a.json", "-o"},                                         // no value
      {"a.json", "-o", "b", "extra"},                           // one too many
      {"a.json", "-o", "b", "--unknown"},                       // no such option
      {"a.json", "-o", "b", "--rank", "x"},                     // no number
      {"a.json", "-o", "b", "--rank", "-1"},                    // below 0
      {"a.json", "-o", "b", "--rank", "99999999999999999999"},  // beyond 64 bits
      {"a.json", "-o", "b", "--view", "map"},                   // no such choice
      {"a.json", "-o", ""},                                     // names no file
      {"", "-o", "b"},
      {"a.json", "-o", "b", "--trace", ""},
  };
  for (const std::vector<const char*>& words : wrong) {
    Arguments arguments;
    const Result<bool> run = Parse(words, arguments);
    ASSERT_FALSE(run) << testing::PrintToString(words);
    EXPECT_EQ(run.error().fault, Fault::kUsage);
    EXPECT_THAT(run.error().remedy, HasSubstr("reshard-test -h"));
  }
}

TEST(CommandLine, HelpShowsArgumentsAndExampleAndRunsNothing) {
  Arguments arguments;
  testing::internal::CaptureStdout();
  const Result<bool> run = Parse({"-h"}, arguments);
  std::fflush(stdout);
  const std::string help = testing::internal::GetCapturedStdout();
  ASSERT_TRUE(run);
  EXPECT_FALSE(*run);
  EXPECT_THAT(help, HasSubstr("Example:\n  reshard-test job.json -o plan.reshard"));
  EXPECT_THAT(help, HasSubstr("--set PATH=VALUE"));
  EXPECT_THAT(help, HasSubstr("JOB"));
}

struct Ended {
  int status;
  std::string message;
};

Ended RunToEnd(const std::function<Result<void>()>& body) {
  testing::internal::CaptureStderr();
  const int status = RunCommand("reshard-test", body);
  return {status, testing::internal::GetCapturedStderr()};
}

TEST(RunCommand, TurnsEachFaultIntoItsExitStatusAndOneLine) {
  const std::array<Fault, 4> faults = {Fault::kInput, Fault::kUsage, Fault::kInternal, Fault::kRun};
  for (int status = 1; status <= 4; ++status) {
    const Ended ended = RunToEnd([&]() -> Result<void> {
      return tl::unexpected<Error>(Error{faults[static_cast<std::size_t>(status - 1)], "job.json",
                                         "bad\xFFname \xC3\xBC \xE2\x82", "mend it"});
    });
    EXPECT_EQ(ended.status, status);
    EXPECT_EQ(ended.message,
              "reshard-test: error: job.json: bad\uFFFDname \u00FC \uFFFD\uFFFD; mend it\n");
  }
}

TEST(RunCommand, SaysNothingWhenAllIsWell) {
  const Ended ended = RunToEnd([]() -> Result<void> { return {}; });
  EXPECT_EQ(ended.status, 0);
  EXPECT_EQ(ended.message, "");
}

TEST(RunCommand, ExceptionsAreFaultsOfTheProgram) {
  const Ended memory = RunToEnd([]() -> Result<void> { throw std::bad_alloc(); });
  EXPECT_EQ(memory.status, 3);
  EXPECT_THAT(memory.message, HasSubstr("out of memory"));
  const Ended other = RunToEnd([]() -> Result<void> { throw std::runtime_error("odd"); });
  EXPECT_EQ(other.status, 3);
  EXPECT_THAT(other.message, HasSubstr("odd"));
  const Ended unknown = RunToEnd([]() -> Result<void> { throw 7; });
  EXPECT_EQ(unknown.status, 3);
  EXPECT_THAT(unknown.message, HasSubstr("unexpected exception"));
}

}  // namespace
}  // namespace reshard
