// The functions of reshard.h that need NCCL, where the library is built without it.
#include <string>

#include "runtime/c_handles.h"
#include "runtime/reshard.h"

namespace {

reshard::Error NoNccl() {
  return {reshard::Fault::kInput, "reshard", "this library was built without NCCL",
          "build it on a machine with the CUDA toolkit and NCCL"};
}

}  // namespace

extern "C" {

int reshard_nccl_unique_id(void*, size_t) { return reshard::KeepError(NoNccl()); }

reshard_nccl* reshard_nccl_make(const reshard_plan*, const void*, size_t, double) {
  return reshard::FailedHandle<reshard_nccl>(NoNccl());
}

reshard_nccl* reshard_nccl_adopt(void*) { return reshard::FailedHandle<reshard_nccl>(NoNccl()); }

void reshard_nccl_free(reshard_nccl*) {}

reshard_engine* reshard_engine_on_nccl(const reshard_plan*, reshard_nccl*,
                                       const reshard_nccl_options*) {
  return reshard::FailedHandle<reshard_engine>(NoNccl());
}

int reshard_engine_replay_on(reshard_engine*, uint64_t, void*) {
  return reshard::KeepError(NoNccl());
}

void* reshard_engine_source_released(const reshard_engine* engine) {
  static_cast<void>(reshard::IsNull(engine));
  return nullptr;
}

}  // extern "C"
