#include <algorithm>
#include <random>
#include <utility>

#include "tests/kernels/cuda/device_check/checks.h"
#include "tests/kernels/cuda/device_check/device_buffer.h"
#include "tests/kernels/random_tables.h"

namespace reshard::device_check {
namespace {

// Buffers on the device with the bytes of `buffers`, each at the same distance from a multiple
// of 16.
struct Mirror {
  std::vector<DeviceBuffer> buffers;
  std::vector<std::byte*> bases;
};

Result<Mirror> MirrorOf(std::vector<SkewedBuffer>& buffers) {
  Mirror mirror;
  for (SkewedBuffer& buffer : buffers) {
    const std::span<const std::byte> bytes = buffer.storage();
    Result<DeviceBuffer> made = DeviceBuffer::Make(static_cast<std::int64_t>(bytes.size()));
    if (!made) return tl::unexpected(made.error());
    if (const Result<void> filled = made->Upload(bytes); !filled) {
      return tl::unexpected(filled.error());
    }
    mirror.bases.push_back(made->data() + buffer.skew());
    mirror.buffers.push_back(*std::move(made));
  }
  return mirror;
}

Result<bool> EqualTo(const Mirror& mirror, const std::vector<SkewedBuffer>& expected) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const Result<std::vector<std::byte>> bytes = mirror.buffers[i].Download();
    if (!bytes) return tl::unexpected(bytes.error());
    if (!std::ranges::equal(*bytes, expected[i].storage())) return false;
  }
  return true;
}

Result<bool> CopiesAreRight(int rows, cudaStream_t stream, std::mt19937_64& random) {
  const RandomCopies copies = DrawCopies(rows, random);
  std::vector<SkewedBuffer> naive = DrawBuffers(copies.base_bytes, random);
  std::vector<SkewedBuffer> by_twin = naive;
  Result<Mirror> mirror = MirrorOf(naive);
  if (!mirror) return tl::unexpected(mirror.error());
  const Result<UploadedTable> table = UploadedTable::Make(copies.table, mirror->bases);
  if (!table) return tl::unexpected(table.error());
  CopyByteByByte(copies.table, BasesOf(naive));
  RunCopies(copies.table, BasesOf(by_twin));
  Result<void> ran =
      Checked(LaunchCopies(table->tables(), table->location(), stream), "copy kernel");
  if (ran) ran = Checked(cudaStreamSynchronize(stream), "copy kernel");
  if (!ran) return tl::unexpected(ran.error());
  const Result<bool> equal = EqualTo(*mirror, naive);
  if (!equal) return equal;
  return *equal && by_twin == naive;
}

Result<bool> DigestsAreRight(int boxes, cudaStream_t stream, std::mt19937_64& random) {
  const RandomDigests digests = DrawDigests(boxes, random);
  std::vector<SkewedBuffer> buffers = DrawBuffers(digests.base_bytes, random);
  const Result<Mirror> mirror = MirrorOf(buffers);
  if (!mirror) return tl::unexpected(mirror.error());
  const Result<std::vector<std::uint64_t>> sums =
      DeviceDigests(digests.table, mirror->bases, stream);
  if (!sums) return tl::unexpected(sums.error());
  const std::vector<std::byte*> bases = BasesOf(buffers);
  const std::vector<const std::byte*> read_only(bases.begin(), bases.end());
  return *sums == RunDigests(digests.table, read_only);
}

Result<Row> Repeat(const char* check, const Scale& scale, std::uint64_t seed,
                   Result<bool> (*is_right)(int, cudaStream_t, std::mt19937_64&)) {
  const Result<Stream> stream = MakeStream();
  if (!stream) return tl::unexpected(stream.error());
  std::mt19937_64 random(seed);
  Row row = {check, Verdict::kRight,
             std::to_string(scale.tables) + " tables, seed " + std::to_string(seed)};
  for (int trial = 0; trial < scale.tables; ++trial) {
    const Result<bool> right = is_right(1 + 3 * trial, stream->get(), random);
    if (!right) return tl::unexpected(right.error());
    if (!*right) {
      row.verdict = Verdict::kWrong;
      row.figures += ", first wrong: " + std::to_string(trial);
      break;
    }
  }
  return row;
}

}  // namespace

Result<std::vector<Row>> CheckContents(const Scale& scale, std::uint64_t seed) {
  Result<Row> copies = Repeat("copies equal twin and naive copy", scale, seed, CopiesAreRight);
  if (!copies) return tl::unexpected(copies.error());
  Result<Row> digests = Repeat("digests equal twin", scale, seed, DigestsAreRight);
  if (!digests) return tl::unexpected(digests.error());
  return std::vector<Row>{*std::move(copies), *std::move(digests)};
}

}  // namespace reshard::device_check
