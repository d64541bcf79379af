// One rank of the small plan over MPI, of which one dies where it is told to: a process of
// mpi_deaths_test.py. It says what became of its replay and leaves as the product does.
//
//   RESHARD_MPI_DEATH=RANK:TAG:before|during|after:N   that rank kills itself by SIGKILL before its
// first operation with TAG, after the first, or when all that it has begun have ended for the N-th
// time. Tags are those of runtime/mpi/mpi_backend.cc: 0 the commit, 1 + r round r.
//
// The calls of MPI are seen through its profiling interface: the code under test knows nothing.
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>

#include "runtime/mpi/mpi_trial.h"
#include "runtime/mpi/mpi_world.h"
#include "tests/schedules/small_plan.h"

namespace {

struct Death {
  int rank = -1;
  int tag = -1;
  std::string when;
  int times = 1;
};

Death ReadDeath() {
  Death death;
  const char* const order = std::getenv("RESHARD_MPI_DEATH");
  if (order == nullptr) return death;
  char when[16] = "";
  if (std::sscanf(order, "%d:%d:%15[a-z]:%d", &death.rank, &death.tag, when, &death.times) != 4) {
    std::fprintf(stderr, "RESHARD_MPI_DEATH=%s is not understood\n", order);
    _exit(3);
  }
  death.when = when;
  return death;
}

// Of a process that dies; requests of the tag that have not ended.
struct Watch {
  Death death = ReadDeath();
  bool is_armed = false;
  std::set<MPI_Request> open;
  int ended = 0;

  bool Concerns(int tag) const { return is_armed && tag == death.tag; }
  void Before(int tag) const {
    if (Concerns(tag) && death.when == "before") raise(SIGKILL);
  }
  void After(int tag, MPI_Request request) {
    if (!Concerns(tag)) return;
    if (death.when == "during") raise(SIGKILL);
    open.insert(request);
  }
  void Ended(MPI_Request request) {
    if (open.erase(request) == 0 || !open.empty() || death.when != "after") return;
    if (++ended == death.times) raise(SIGKILL);
  }
};

Watch& TheWatch() {
  static Watch watch;
  return watch;
}

}  // namespace

extern "C" {

int MPI_Isend(const void* data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm world,
              MPI_Request* request) {
  TheWatch().Before(tag);
  const int status = PMPI_Isend(data, count, type, peer, tag, world, request);
  TheWatch().After(tag, *request);
  return status;
}

int MPI_Irecv(void* data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm world,
              MPI_Request* request) {
  TheWatch().Before(tag);
  const int status = PMPI_Irecv(data, count, type, peer, tag, world, request);
  TheWatch().After(tag, *request);
  return status;
}

int MPI_Test(MPI_Request* request, int* has_ended, MPI_Status* state) {
  const MPI_Request asked = *request;
  const int status = PMPI_Test(request, has_ended, state);
  if (status == MPI_SUCCESS && *has_ended != 0) TheWatch().Ended(asked);
  return status;
}

}  // extern "C"

int main(int argc, char** argv) {
  using namespace reshard;
  if (argc != 2) return 2;
  const std::chrono::seconds deadline(std::atoi(argv[1]));
  const Plan plan = SmallPlan();
  const MpiWorld world = *MpiWorld::Start();
  Result<MpiTrial> trial = MpiTrial::Make(plan, world, std::chrono::seconds(60));
  if (!trial) {
    std::fprintf(stderr, "rank %d: %s\n", world.rank(), ToString(trial.error()).c_str());
    _exit(1);
  }
  TheWatch().is_armed = TheWatch().death.rank == world.rank();
  trial->Fill(1);
  const auto start = std::chrono::steady_clock::now();
  const Result<double> replayed = trial->Replay(1, deadline);
  const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - start;
  // One write: lines of several processes do not mix.
  const std::string line = "said: " + std::to_string(world.rank()) + " " +
                           std::to_string(waited.count()) + " " +
                           (replayed ? "installed" : ToString(replayed.error())) + "\n";
  const ssize_t written = write(STDOUT_FILENO, line.data(), line.size());
  _exit(written == static_cast<ssize_t>(line.size()) ? 0 : 3);
}
