#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <random>
#include <thread>
#include <type_traits>
#include <utility>

#include "tests/kernels/cuda/device_check/checks.h"
#include "tests/kernels/cuda/device_check/device_buffer.h"

namespace reshard::device_check {
namespace {

Result<void> Checked(ncclResult_t status, const char* call) {
  if (status == ncclSuccess) return {};
  return RunError(call, "NCCL error " + std::to_string(static_cast<int>(status)),
                  "run again with NCCL_DEBUG=WARN");
}
using device_check::Checked;

struct GraphDeleter {
  void operator()(cudaGraphExec_t graph) const { static_cast<void>(cudaGraphExecDestroy(graph)); }
};
using Graph = std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, GraphDeleter>;

class Communicator {
 public:
  Communicator(const NcclFunctions& nccl, ncclComm_t handle) : nccl_(nccl), handle_(handle) {}
  Communicator(Communicator&& other) noexcept
      : nccl_(other.nccl_), handle_(std::exchange(other.handle_, nullptr)) {}
  Communicator& operator=(Communicator&&) = delete;
  ~Communicator() {
    if (handle_ != nullptr) static_cast<void>(nccl_.destroy(handle_));
  }
  ncclComm_t get() const { return handle_; }

 private:
  NcclFunctions nccl_;
  ncclComm_t handle_;
};

Result<ncclUniqueId> MakeId(const NcclFunctions& nccl) {
  ncclUniqueId id;
  const Result<void> made = Checked(nccl.get_unique_id(&id), "ncclGetUniqueId");
  if (!made) return tl::unexpected(made.error());
  return id;
}

Result<Communicator> Join(const NcclFunctions& nccl, const ncclUniqueId& id, int count, int rank) {
  ncclComm_t handle = nullptr;
  const Result<void> joined = Checked(nccl.init_rank(&handle, count, id, rank), "ncclCommInitRank");
  if (!joined) return tl::unexpected(joined.error());
  return Communicator(nccl, handle);
}

// ---- The job: columns of a matrix to rows of another, through staging
// ----------------------------

constexpr std::int64_t kPiece = 4096;

CopyTable PackTable(std::int64_t bytes) {
  // Every other piece of the source, then the rest: staging holds them all.
  const StridedDim dims[] = {{bytes / kPiece / 2, 2 * kPiece, kPiece}};
  CopyTable table;
  table.Add({0, 1, 0, 0, kPiece, dims});
  table.Add({0, 1, kPiece, bytes / 2, kPiece, dims});
  return table;
}

CopyTable UnpackTable(std::int64_t bytes) {
  // From the received half of staging, in reverse order of halves.
  CopyTable table;
  table.Add({1, 2, bytes, bytes / 2, bytes / 2, {}});
  table.Add({1, 2, bytes + bytes / 2, 0, bytes / 2, {}});
  return table;
}

class OneGpuJob {
 public:
  static Result<OneGpuJob> Make(std::int64_t bytes, const NcclFunctions* nccl) {
    Result<DeviceBuffer> source = DeviceBuffer::Make(bytes);
    if (!source) return tl::unexpected(source.error());
    Result<DeviceBuffer> staging = DeviceBuffer::Make(2 * bytes);
    if (!staging) return tl::unexpected(staging.error());
    Result<DeviceBuffer> destination = DeviceBuffer::Make(bytes);
    if (!destination) return tl::unexpected(destination.error());
    std::byte* const bases[] = {source->data(), staging->data(), destination->data()};
    Result<UploadedTable> pack = UploadedTable::Make(PackTable(bytes), bases);
    if (!pack) return tl::unexpected(pack.error());
    Result<UploadedTable> unpack = UploadedTable::Make(UnpackTable(bytes), bases);
    if (!unpack) return tl::unexpected(unpack.error());
    Result<Stream> stream = MakeStream();
    if (!stream) return tl::unexpected(stream.error());
    OneGpuJob job(bytes, *std::move(source), *std::move(staging), *std::move(destination),
                  *std::move(pack), *std::move(unpack), *std::move(stream));
    if (nccl != nullptr) {
      const Result<ncclUniqueId> id = MakeId(*nccl);
      if (!id) return tl::unexpected(id.error());
      Result<Communicator> communicator = Join(*nccl, *id, 1, 0);
      if (!communicator) return tl::unexpected(communicator.error());
      job.nccl_ = *nccl;
      job.communicator_.emplace(*std::move(communicator));
    }
    if (const Result<void> captured = job.Capture(); !captured) {
      return tl::unexpected(captured.error());
    }
    return job;
  }

  // Replays with `contents` in the source; false if the destination holds anything else than it
  // should. Adds the seconds of the launch call and of the whole replay.
  Result<bool> Replay(const std::vector<std::byte>& contents, std::vector<double>& launch_seconds,
                      std::vector<double>& seconds) {
    Result<void> done = source_.Upload(contents);
    if (!done) return tl::unexpected(done.error());
    const auto start = std::chrono::steady_clock::now();
    done = Checked(cudaGraphLaunch(graph_.get(), stream_.get()), "cudaGraphLaunch");
    const auto launched = std::chrono::steady_clock::now();
    if (done) done = Checked(cudaStreamSynchronize(stream_.get()), "replay");
    const auto ended = std::chrono::steady_clock::now();
    if (!done) return tl::unexpected(done.error());
    launch_seconds.push_back(std::chrono::duration<double>(launched - start).count());
    seconds.push_back(std::chrono::duration<double>(ended - start).count());
    const Result<std::vector<std::byte>> installed = destination_.Download();
    if (!installed) return tl::unexpected(installed.error());
    return *installed == Expected(contents);
  }

 private:
  OneGpuJob(std::int64_t bytes, DeviceBuffer source, DeviceBuffer staging, DeviceBuffer destination,
            UploadedTable pack, UploadedTable unpack, Stream stream)
      : bytes_(bytes),
        source_(std::move(source)),
        staging_(std::move(staging)),
        destination_(std::move(destination)),
        pack_(std::move(pack)),
        unpack_(std::move(unpack)),
        stream_(std::move(stream)) {}

  Result<void> Exchange() {
    const auto bytes = static_cast<std::size_t>(bytes_);
    std::byte* const received = staging_.data() + bytes_;
    if (!communicator_) {
      return Checked(cudaMemcpyAsync(received, staging_.data(), bytes, cudaMemcpyDeviceToDevice,
                                     stream_.get()),
                     "device copy");
    }
    const ncclComm_t comm = communicator_->get();
    Result<void> done = Checked(nccl_.group_start(), "ncclGroupStart");
    if (done)
      done =
          Checked(nccl_.send(staging_.data(), bytes, ncclInt8, 0, comm, stream_.get()), "ncclSend");
    if (done)
      done = Checked(nccl_.receive(received, bytes, ncclInt8, 0, comm, stream_.get()), "ncclRecv");
    if (done) done = Checked(nccl_.group_end(), "ncclGroupEnd");
    return done;
  }

  Result<void> Capture() {
    cudaGraph_t captured = nullptr;
    cudaGraphExec_t executable = nullptr;
    Result<void> done =
        Checked(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeThreadLocal), "capture");
    if (done) done = Checked(LaunchCopies(pack_.tables(), pack_.location(), stream_.get()), "pack");
    if (done) done = Exchange();
    if (done) {
      done = Checked(LaunchCopies(unpack_.tables(), unpack_.location(), stream_.get()), "unpack");
    }
    if (done) done = Checked(cudaStreamEndCapture(stream_.get(), &captured), "capture");
    if (done)
      done = Checked(cudaGraphInstantiate(&executable, captured, 0), "cudaGraphInstantiate");
    if (captured != nullptr) static_cast<void>(cudaGraphDestroy(captured));
    graph_.reset(executable);
    return done;
  }

  // The odd pieces, then the even ones: what pack and unpack above come to, piece by piece.
  std::vector<std::byte> Expected(const std::vector<std::byte>& contents) const {
    std::vector<std::byte> expected;
    for (const std::int64_t first : {kPiece, std::int64_t{0}}) {
      for (std::int64_t begin = first; begin < bytes_; begin += 2 * kPiece) {
        expected.insert(expected.end(), contents.begin() + begin,
                        contents.begin() + begin + kPiece);
      }
    }
    return expected;
  }

  std::int64_t bytes_;
  DeviceBuffer source_;
  DeviceBuffer staging_;
  DeviceBuffer destination_;
  UploadedTable pack_;
  UploadedTable unpack_;
  Stream stream_;
  NcclFunctions nccl_;
  std::optional<Communicator> communicator_;
  Graph graph_;  // is destroyed before the communicator
};

std::vector<std::byte> RandomBytes(std::int64_t bytes, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::byte> contents(static_cast<std::size_t>(bytes));
  for (std::byte& b : contents) b = static_cast<std::byte>(random());
  return contents;
}

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

Result<std::vector<Row>> ReplayOnOneGpu(const Scale& scale,
                                        const std::optional<NcclFunctions>& nccl) {
  // A sixteenth of the scale, in whole pairs of pieces.
  const std::int64_t bytes = scale.bytes / 16;
  Result<OneGpuJob> job = OneGpuJob::Make(bytes, nccl ? &*nccl : nullptr);
  if (!job) return tl::unexpected(job.error());
  const std::vector<std::byte> contents[] = {RandomBytes(bytes, 1), RandomBytes(bytes, 2)};
  std::vector<double> launch_seconds;
  std::vector<double> seconds;
  int right = 0;
  for (int replay = 0; replay < scale.replays; ++replay) {
    const Result<bool> fine = job->Replay(contents[replay % 2], launch_seconds, seconds);
    if (!fine) return tl::unexpected(fine.error());
    right += *fine ? 1 : 0;
  }
  char text[160];
  std::snprintf(text, sizeof(text), "%d of %d right, of %.1f MB each, exchange by %s", right,
                scale.replays, static_cast<double>(bytes) / 1e6,
                nccl ? "NCCL to itself" : "device copy (no NCCL here)");
  std::vector<Row> rows = {{"captured once, replayed",
                            right == scale.replays ? Verdict::kRight : Verdict::kWrong, text}};
  std::snprintf(text, sizeof(text), "launch on the host %.1f us, whole replay %.1f us, medians",
                1e6 * Median(launch_seconds), 1e6 * Median(seconds));
  rows.push_back({"time of a replay", Verdict::kRight, text});
  return rows;
}

namespace {

constexpr int kRanks = 4;

// One rank's part: whether it received what the rank before it sent.
Result<bool> SendToNext(const NcclFunctions& nccl, const ncclUniqueId& id, int rank,
                        std::int64_t bytes) {
  const int previous = (rank + kRanks - 1) % kRanks;
  const auto seed = [](int of_rank) { return static_cast<std::uint64_t>(of_rank) + 1; };
  const Result<Communicator> communicator = Join(nccl, id, kRanks, rank);
  if (!communicator) return tl::unexpected(communicator.error());
  const Result<Stream> stream = MakeStream();
  if (!stream) return tl::unexpected(stream.error());
  Result<DeviceBuffer> sent = DeviceBuffer::Make(bytes);
  if (!sent) return tl::unexpected(sent.error());
  const Result<DeviceBuffer> received = DeviceBuffer::Make(bytes);
  if (!received) return tl::unexpected(received.error());
  const auto count = static_cast<std::size_t>(bytes);
  Result<void> done = sent->Upload(RandomBytes(bytes, seed(rank)));
  if (done) done = Checked(nccl.group_start(), "ncclGroupStart");
  if (done) {
    done = Checked(nccl.send(sent->data(), count, ncclInt8, (rank + 1) % kRanks,
                             communicator->get(), stream->get()),
                   "ncclSend");
  }
  if (done) {
    done = Checked(nccl.receive(received->data(), count, ncclInt8, previous, communicator->get(),
                                stream->get()),
                   "ncclRecv");
  }
  if (done) done = Checked(nccl.group_end(), "ncclGroupEnd");
  if (done) done = Checked(cudaStreamSynchronize(stream->get()), "exchange between ranks");
  if (!done) return tl::unexpected(done.error());
  const Result<std::vector<std::byte>> got = received->Download();
  if (!got) return tl::unexpected(got.error());
  return *got == RandomBytes(bytes, seed(previous));
}

}  // namespace

Result<std::vector<Row>> ExchangeBetweenRanks(const Scale& scale,
                                              const std::optional<NcclFunctions>& nccl) {
  constexpr int kFirstVersion = 23000;  // 2.30.0
  Row row = {"4 ranks on one GPU", Verdict::kSkipped, "needs NCCL 2.30 or newer"};
  int version = 0;
  if (nccl) static_cast<void>(nccl->get_version(&version));
  if (version < kFirstVersion) return std::vector<Row>{std::move(row)};
  const std::int64_t bytes = scale.bytes / 64;
  const Result<ncclUniqueId> id = MakeId(*nccl);
  if (!id) return tl::unexpected(id.error());
  std::vector<Result<bool>> results(kRanks, false);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&, rank] {
      results[static_cast<std::size_t>(rank)] = SendToNext(*nccl, *id, rank, bytes);
    });
  }
  for (std::thread& thread : threads) thread.join();
  row = {row.check, Verdict::kRight, std::to_string(bytes) + " bytes from each to the next"};
  for (const Result<bool>& result : results) {
    if (!result) return tl::unexpected(result.error());
    if (!*result) row.verdict = Verdict::kWrong;
  }
  return std::vector<Row>{std::move(row)};
}

}  // namespace reshard::device_check
