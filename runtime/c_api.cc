// reshard.h, but for what needs NCCL.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "foundation/checked_arithmetic.h"
#include "runtime/c_handles.h"
#include "runtime/deadline.h"
#include "runtime/host_backend.h"
#include "runtime/part_references.h"
#include "runtime/reshard.h"
#include "schedules/dtype.h"
#include "schedules/plan_codec.h"

namespace reshard {
namespace {

std::string& LastError() {
  thread_local std::string text;
  return text;
}

// The parameters of a side that have memory; `conversions` are to parameters of it.
std::vector<const Parameter*> StoredParameters(const std::vector<Parameter>& parameters,
                                               const std::vector<Conversion>& conversions) {
  std::vector<const Parameter*> stored;
  const std::vector<bool> computed = ComputedParameters(conversions, parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!computed[i]) stored.push_back(&parameters[i]);
  }
  return stored;
}

const std::vector<const Parameter*>* ParametersOf(const reshard_plan* plan, int side) {
  if (IsNull(plan)) return nullptr;
  if (side < 0 || side > 1) {
    static_cast<void>(KeepError(UsageError("a side is 0 or 1")));
    return nullptr;
  }
  return &plan->stored[side];
}

const Parameter* ParameterAt(const reshard_plan* plan, int side, int64_t index) {
  const std::vector<const Parameter*>* parameters = ParametersOf(plan, side);
  if (parameters == nullptr || index < 0 ||
      index >= static_cast<std::int64_t>(parameters->size())) {
    return nullptr;
  }
  return (*parameters)[static_cast<std::size_t>(index)];
}

int Bind(reshard_engine* engine, std::vector<NamedBuffer> reshard_engine::*side, const char* name,
         void* data, int64_t bytes) {
  if (engine == nullptr || name == nullptr) return KeepError(NullError());
  (engine->*side).push_back({name, static_cast<std::byte*>(data), bytes});
  return 0;
}

}  // namespace

Error UsageError(std::string reason) {
  return {Fault::kUsage, "reshard.h", std::move(reason), "see the header"};
}

Error NullError() { return UsageError("a null was passed"); }

bool IsNull(const void* handle) {
  if (handle == nullptr) static_cast<void>(KeepError(NullError()));
  return handle == nullptr;
}

int KeepError(const Error& error) {
  LastError() = ToString(error);
  return static_cast<int>(error.fault);
}

int KeepResult(const Result<void>& result) { return result ? 0 : KeepError(result.error()); }

}  // namespace reshard

using namespace reshard;

extern "C" {

const char* reshard_last_error(void) { return LastError().c_str(); }

reshard_plan* reshard_plan_open(const char* path, int32_t rank) {
  if (IsNull(path)) return nullptr;
  Result<RankPart> part = ReadRankPart(path, rank);
  if (!part) return FailedHandle<reshard_plan>(part.error());
  if (const Result<void> fine = CheckReferences(*part); !fine) {
    return FailedHandle<reshard_plan>(fine.error());
  }
  const Result<ChannelHints> channels = ReadChannelHints(path);
  if (!channels) return FailedHandle<reshard_plan>(channels.error());
  auto plan = std::make_unique<reshard_plan>();
  plan->part = *std::move(part);
  plan->channels = *channels;
  plan->stored[0] = StoredParameters(plan->part.source_parameters, plan->part.source_conversions);
  plan->stored[1] = StoredParameters(plan->part.destination_parameters, {});
  return plan.release();
}

void reshard_plan_free(reshard_plan* plan) { delete plan; }

int32_t reshard_plan_rank_count(const reshard_plan* plan) {
  return IsNull(plan) ? -1 : plan->part.rank_count;
}

const char* reshard_plan_digest(const reshard_plan* plan) {
  return IsNull(plan) ? nullptr : plan->part.job_digest.c_str();
}

int64_t reshard_plan_staging_bytes(const reshard_plan* plan) {
  return IsNull(plan) ? -1 : plan->part.staging_bytes;
}

int64_t reshard_plan_parameter_count(const reshard_plan* plan, int side) {
  const std::vector<const Parameter*>* parameters = ParametersOf(plan, side);
  return parameters == nullptr ? -1 : static_cast<int64_t>(parameters->size());
}

const char* reshard_plan_parameter_name(const reshard_plan* plan, int side, int64_t index) {
  const Parameter* parameter = ParameterAt(plan, side, index);
  return parameter == nullptr ? nullptr : parameter->name.c_str();
}

int64_t reshard_plan_parameter_bytes(const reshard_plan* plan, int side, int64_t index) {
  const Parameter* parameter = ParameterAt(plan, side, index);
  if (parameter == nullptr) return -1;
  const std::optional<std::int64_t> elements = CheckedProduct(parameter->shape);
  const std::optional<std::int64_t> bytes =
      elements ? CheckedMultiply(*elements, ElementBytes(parameter->dtype)) : std::nullopt;
  return bytes.value_or(-1);
}

reshard_host* reshard_host_make(int32_t rank_count, int workers) {
  if (rank_count < 1 || workers < 0) {
    return FailedHandle<reshard_host>(UsageError("a host needs ranks, and no negative workers"));
  }
  Result<std::shared_ptr<HostExchange>> exchange =
      HostExchange::Make(rank_count, {workers, std::nullopt});
  if (!exchange) return FailedHandle<reshard_host>(exchange.error());
  return new reshard_host{*std::move(exchange)};
}

void reshard_host_free(reshard_host* host) { delete host; }

reshard_engine* reshard_engine_on_host(const reshard_plan* plan, reshard_host* host) {
  if (IsNull(plan) || IsNull(host)) return nullptr;
  Result<Engine> engine =
      Engine::Open(plan->part, MakeHostBackend(host->exchange, plan->part.rank));
  if (!engine) return FailedHandle<reshard_engine>(engine.error());
  auto* const made = new reshard_engine;
  made->engine = std::make_unique<Engine>(*std::move(engine));
  return made;
}

void reshard_engine_free(reshard_engine* engine) { delete engine; }

int reshard_engine_bind_source(reshard_engine* engine, const char* name, void* data,
                               int64_t bytes) {
  return Bind(engine, &reshard_engine::source, name, data, bytes);
}

int reshard_engine_bind_destination(reshard_engine* engine, const char* name, void* data,
                                    int64_t bytes) {
  return Bind(engine, &reshard_engine::destination, name, data, bytes);
}

int reshard_engine_prepare(reshard_engine* engine) {
  if (engine == nullptr) return KeepError(NullError());
  return KeepResult(engine->engine->Bind(engine->source, engine->destination));
}

int reshard_engine_replay(reshard_engine* engine, uint64_t version) {
  if (engine == nullptr) return KeepError(NullError());
  return KeepResult(engine->engine->Replay(version));
}

int reshard_engine_wait(reshard_engine* engine, double seconds) {
  if (engine == nullptr) return KeepError(NullError());
  if (!(seconds >= 0)) return KeepError(UsageError("a deadline is no negative number"));
  return KeepResult(engine->engine->WaitFor(BoundedSeconds(seconds)));
}

int reshard_engine_abort(reshard_engine* engine) {
  if (engine == nullptr) return KeepError(NullError());
  engine->engine->Abort();
  return 0;
}

int reshard_engine_record_steps(reshard_engine* engine) {
  if (engine == nullptr) return KeepError(NullError());
  return KeepResult(engine->engine->RecordSteps());
}

int64_t reshard_engine_steps(const reshard_engine* engine, reshard_step* steps, int64_t capacity) {
  if (IsNull(engine) || (capacity > 0 && IsNull(steps))) return -1;
  const std::vector<StepTime> known = engine->engine->StepTimes();
  const auto count = static_cast<int64_t>(known.size());
  for (int64_t i = 0; i < std::min(capacity, count); ++i) {
    const StepTime& step = known[static_cast<std::size_t>(i)];
    steps[i] = {static_cast<int32_t>(step.lane), step.round, step.start_ns, step.end_ns};
  }
  return count;
}

int reshard_engine_state(const reshard_engine* engine) {
  if (IsNull(engine)) return -1;
  switch (engine->engine->state().phase) {
    case EnginePhase::kIdle:
      return RESHARD_IDLE;
    case EnginePhase::kRunning:
      return RESHARD_RUNNING;
    case EnginePhase::kInstalled:
      return RESHARD_INSTALLED;
    case EnginePhase::kFailedMaybeMutated:
      return RESHARD_FAILED_MAYBE_MUTATED;
    case EnginePhase::kFailedAbandoned:
      return RESHARD_FAILED_ABANDONED;
  }
  return RESHARD_IDLE;
}

uint64_t reshard_engine_version(const reshard_engine* engine) {
  return IsNull(engine) ? 0 : engine->engine->state().version;
}

}  // extern "C"
