#include "tools/gpu_trial.h"

namespace reshard {
namespace {

tl::unexpected<Error> NoNccl() {
  return InputError("--backend nccl", "this command was built without NCCL",
                    "build it where the CUDA toolkit and NCCL are");
}

}  // namespace

Result<GpuTrial> GpuTrial::Make(const Plan&, const MpiWorld*, std::chrono::nanoseconds, bool) {
  return NoNccl();
}
void GpuTrial::Fill(std::uint64_t) {}
Result<double> GpuTrial::Replay(std::uint64_t, std::chrono::nanoseconds) { return NoNccl(); }
Result<void> GpuTrial::Check(std::uint64_t) { return NoNccl(); }
Result<void> GpuTrial::RecordSteps() { return NoNccl(); }
Result<std::vector<StepTime>> GpuTrial::StepTimes() { return NoNccl(); }

}  // namespace reshard
