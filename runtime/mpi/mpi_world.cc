#include "runtime/mpi/mpi_world.h"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <thread>
#include <vector>

#include "runtime/deadline.h"

namespace reshard {

tl::unexpected<Error> MpiError(const std::string& place, const char* call, int status) {
  std::array<char, MPI_MAX_ERROR_STRING> text = {};
  int length = 0;
  MPI_Error_string(status, text.data(), &length);
  return RunError(
      place, std::string(call) + ": " + std::string(text.data(), static_cast<std::size_t>(length)),
      "start all ranks again");
}

bool MpiWorld::IsLaunched() {
  // Open MPI; MPICH and its kin.
  return std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr || std::getenv("PMI_SIZE") != nullptr;
}

Result<int> MpiWorld::LocalRank() const {
  MPI_Comm machine = MPI_COMM_NULL;
  const int status =
      MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &machine);
  if (status != MPI_SUCCESS) {
    return MpiError("rank " + std::to_string(rank_), "MPI_Comm_split_type", status);
  }
  int local = 0;
  MPI_Comm_rank(machine, &local);
  MPI_Comm_free(&machine);
  return local;
}

Result<MpiWorld> MpiWorld::Start() {
  int provided = MPI_THREAD_SINGLE;
  if (const int status = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
      status != MPI_SUCCESS) {
    return MpiError("MPI", "MPI_Init_thread", status);
  }
  // A failing peer must become an error here, not the end of the process.
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return MpiWorld(rank, size);
}

bool MpiWorld::IsRunning() {
  int is_started = 0;
  int is_finished = 0;
  MPI_Initialized(&is_started);
  MPI_Finalized(&is_finished);
  return is_started != 0 && is_finished == 0;
}

Result<void> MpiWorld::MinimumOverRanks(std::span<std::uint64_t> values,
                                        std::chrono::nanoseconds deadline,
                                        const std::string& what) const {
  constexpr std::size_t kMostValues = std::size_t{1} << 28;  // counts of MPI are int
  const std::string place = "rank " + std::to_string(rank_);
  const auto end = DeadlineAfter(deadline);
  // A request without MPI_Wait is the point: after the deadline it is abandoned.
  // NOLINTBEGIN(clang-analyzer-optin.mpi.MPI-Checker)
  for (std::size_t begin = 0; begin < values.size(); begin += kMostValues) {
    const std::span<std::uint64_t> part =
        values.subspan(begin, std::min(kMostValues, values.size() - begin));
    // MPI may still write to it when the deadline has passed: then it is never freed.
    auto* const minimum = new std::vector<std::uint64_t>(part.begin(), part.end());
    MPI_Request request = MPI_REQUEST_NULL;
    int status = MPI_Iallreduce(MPI_IN_PLACE, minimum->data(), static_cast<int>(part.size()),
                                MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD, &request);
    int is_done = 0;
    while (status == MPI_SUCCESS && is_done == 0) {
      status = MPI_Test(&request, &is_done, MPI_STATUS_IGNORE);
      if (status != MPI_SUCCESS || is_done != 0) break;
      if (std::chrono::steady_clock::now() >= end) {
        return RunError(place, what + ": not all ranks took part in time", "start all ranks again");
      }
      std::this_thread::yield();
    }
    if (status != MPI_SUCCESS) return MpiError(place, "MPI_Iallreduce", status);
    std::copy(minimum->begin(), minimum->end(), part.begin());
    delete minimum;
  }
  // NOLINTEND(clang-analyzer-optin.mpi.MPI-Checker)
  return {};
}

void MpiWorld::Finish() const { MPI_Finalize(); }

}  // namespace reshard
