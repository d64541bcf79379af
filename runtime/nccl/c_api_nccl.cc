// The functions of reshard.h that need NCCL.
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "runtime/c_handles.h"
#include "runtime/deadline.h"
#include "runtime/nccl/communicator.h"
#include "runtime/nccl/nccl_backend.h"
#include "runtime/reshard.h"

namespace reshard {
namespace {

NcclOptions OptionsOf(const reshard_nccl_options& given) {
  NcclOptions options;
  options.stream = static_cast<CUstream_st*>(given.stream);
  options.staging = static_cast<std::byte*>(given.staging);
  options.staging_bytes = given.staging_bytes;
  options.eager = given.eager != 0;
  options.checks_placement = given.ignore_placement == 0;
  if (given.prepare_seconds > 0) options.prepare_deadline = BoundedSeconds(given.prepare_seconds);
  if (given.recompute != nullptr) {
    options.recompute = [call = given.recompute,
                         argument = given.recompute_argument](CUstream_st* stream) -> Result<void> {
      const int status = call(stream, argument);
      if (status == 0) return {};
      return RunError("recompute", "the caller's function returned " + std::to_string(status));
    };
  }
  return options;
}

}  // namespace
}  // namespace reshard

using namespace reshard;

extern "C" {

int reshard_nccl_unique_id(void* id, size_t bytes) {
  const Result<UniqueId> made = MakeUniqueId();
  if (!made) return KeepError(made.error());
  if (id == nullptr || bytes < made->size()) {
    return KeepError(UsageError("a unique id has " + std::to_string(made->size()) + " bytes"));
  }
  std::memcpy(id, made->data(), made->size());
  return 0;
}

reshard_nccl* reshard_nccl_make(const reshard_plan* plan, const void* id, size_t bytes,
                                double seconds) {
  CommunicatorOptions options;
  if (plan == nullptr || id == nullptr || bytes != options.id.size() || !(seconds >= 0)) {
    return FailedHandle<reshard_nccl>(UsageError("a communicator needs a plan, an id of " +
                                                 std::to_string(options.id.size()) +
                                                 " bytes and a deadline"));
  }
  std::memcpy(options.id.data(), id, bytes);
  options.rank = plan->part.rank;
  options.rank_count = plan->part.rank_count;
  options.channels = plan->channels;
  options.deadline = BoundedSeconds(seconds);
  Result<std::shared_ptr<Communicator>> made = Communicator::Make(options);
  if (!made) return FailedHandle<reshard_nccl>(made.error());
  return new reshard_nccl{*std::move(made)};
}

reshard_nccl* reshard_nccl_adopt(void* communicator) {
  if (IsNull(communicator)) return nullptr;
  Result<std::shared_ptr<Communicator>> adopted =
      Communicator::Adopt(static_cast<ncclComm*>(communicator));
  if (!adopted) return FailedHandle<reshard_nccl>(adopted.error());
  return new reshard_nccl{*std::move(adopted)};
}

void reshard_nccl_free(reshard_nccl* nccl) { delete nccl; }

reshard_engine* reshard_engine_on_nccl(const reshard_plan* plan, reshard_nccl* nccl,
                                       const reshard_nccl_options* options) {
  if (IsNull(plan) || IsNull(nccl)) return nullptr;
  reshard_nccl_options given = {};
  if (options != nullptr) {
    if (options->size != sizeof(given)) {
      return FailedHandle<reshard_engine>(
          UsageError("reshard_nccl_options of another version of the library"));
    }
    given = *options;
  }
  Result<std::unique_ptr<NcclBackend>> backend =
      NcclBackend::Make(plan->part, nccl->communicator, OptionsOf(given));
  if (!backend) return FailedHandle<reshard_engine>(backend.error());
  NcclBackend* const kept = backend->get();
  Result<Engine> engine = Engine::Open(plan->part, *std::move(backend));
  if (!engine) return FailedHandle<reshard_engine>(engine.error());
  auto* const made = new reshard_engine;
  made->engine = std::make_unique<Engine>(*std::move(engine));
  made->nccl = kept;
  return made;
}

int reshard_engine_replay_on(reshard_engine* engine, uint64_t version, void* stream) {
  if (engine == nullptr) return KeepError(NullError());
  if (engine->nccl == nullptr) return KeepError(UsageError("this engine is not on NCCL"));
  if (engine->engine->state().phase != EnginePhase::kRunning) {
    engine->nccl->UseStream(static_cast<CUstream_st*>(stream));
  }
  return KeepResult(engine->engine->Replay(version));
}

void* reshard_engine_source_released(const reshard_engine* engine) {
  return IsNull(engine) || engine->nccl == nullptr ? nullptr : engine->nccl->source_released();
}

}  // extern "C"
