#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <utility>

#include "tests/kernels/cuda/device_check/checks.h"
#include "tests/kernels/cuda/device_check/device_buffer.h"
#include "tests/kernels/cuda/device_check/naive_copy.h"

namespace reshard::device_check {
namespace {

// Room in the source for gaps, up to as much again.
constexpr std::int64_t kSpread = 2;
constexpr double kAim = 0.85;  // of a device-to-device copy, for pieces of 4 KiB and more

struct Case {
  std::string name;
  bool has_aim = false;
  CopyTable table;
};

// Scattered in the source with a gap of 64 bytes, packed back to back.
Case RowForEachPiece(std::string name, std::int64_t total, std::int64_t piece) {
  Case made = {std::move(name), piece >= 4096, {}};
  for (std::int64_t i = 0; i < total / piece; ++i) {
    made.table.Add({0, 1, i * (piece + 64), i * piece, piece, {}});
  }
  return made;
}

// The left half of a matrix of rows of 2 * piece bytes.
Case OneStridedRow(std::string name, std::int64_t total, std::int64_t piece) {
  Case made = {std::move(name), piece >= 4096, {}};
  const StridedDim dims[] = {{total / piece, 2 * piece, piece}};
  made.table.Add({0, 1, 0, 0, piece, dims});
  return made;
}

std::vector<Case> MakeCases(std::int64_t total) {
  std::vector<Case> cases;
  cases.push_back({"one piece", true, {}});
  cases.back().table.Add({0, 1, 0, 0, total, {}});
  cases.push_back(RowForEachPiece("pieces of 64 KiB", total, 65536));
  cases.push_back(RowForEachPiece("pieces of 4 KiB", total, 4096));
  cases.push_back(RowForEachPiece("pieces of 1 KiB", total, 1024));
  cases.push_back(OneStridedRow("strided, 4 KiB", total, 4096));
  cases.push_back(OneStridedRow("strided, 256 bytes", total, 256));
  cases.push_back(OneStridedRow("strided, 16 bytes", total, 16));
  cases.push_back(OneStridedRow("strided, 2 bytes", total, 2));

  // Half in one row, half in thousands.
  Case mixed = RowForEachPiece("one huge, many of 4 KiB", total / 2, 4096);
  mixed.table.Add({0, 1, total, total / 2, total / 2, {}});
  cases.push_back(std::move(mixed));

  Case odd = {"4 KiB, ends 2 bytes apart", false, {}};
  for (std::int64_t i = 0; i < total / 4096; ++i) {
    odd.table.Add({0, 1, i * 4160 + 2, i * 4096, 4096, {}});
  }
  cases.push_back(std::move(odd));
  return cases;
}

// Seconds for one call of `launch`, the shortest of three series.
Result<double> SecondsOf(int repetitions, cudaStream_t stream, const std::function<int()>& launch,
                         const char* what) {
  double best = 0;
  for (int series = 0; series < 4; ++series) {  // the first warms up
    const auto start = std::chrono::steady_clock::now();
    Result<void> done;
    for (int i = 0; i < repetitions && done; ++i) done = Checked(launch(), what);
    if (done) done = Checked(cudaStreamSynchronize(stream), what);
    if (!done) return tl::unexpected(done.error());
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() /
        repetitions;
    if (series == 1 || (series > 1 && seconds < best)) best = seconds;
  }
  return best;
}

std::string RatesText(double kernel, double copy, double naive) {
  char text[120];
  std::snprintf(text, sizeof(text),
                "%7.1f GB/s, %3.0f %% of a device copy; naive kernel %7.1f GB/s", kernel,
                100 * kernel / copy, naive);
  return text;
}

class CopyRates {
 public:
  CopyRates(const Scale& scale, Stream stream, DeviceBuffer source, DeviceBuffer destination,
            DeviceBuffer other)
      : scale_(scale),
        stream_(std::move(stream)),
        source_(std::move(source)),
        destination_(std::move(destination)),
        other_(std::move(other)) {}

  Result<std::vector<Row>> Run() {
    std::vector<std::byte> pattern(static_cast<std::size_t>(kSpread * scale_.bytes));
    std::uint32_t state = 1;
    for (std::byte& b : pattern)
      b = static_cast<std::byte>((state = state * 1664525u + 1013904223u) >> 24);
    if (const Result<void> filled = source_.Upload(pattern); !filled) {
      return tl::unexpected(filled.error());
    }
    const auto device_copy = [this] {
      return static_cast<int>(cudaMemcpyAsync(destination_.data(), source_.data(),
                                              static_cast<std::size_t>(scale_.bytes),
                                              cudaMemcpyDeviceToDevice, stream_.get()));
    };
    const Result<double> copy =
        SecondsOf(scale_.repetitions, stream_.get(), device_copy, "device copy");
    if (!copy) return tl::unexpected(copy.error());
    std::vector<Row> rows;
    char text[80];
    std::snprintf(text, sizeof(text), "%7.1f GB/s, read and written", RateOf(*copy));
    rows.push_back({"device-to-device copy", Verdict::kRight, text});
    for (const Case& measured : MakeCases(scale_.bytes)) {
      Result<Row> row = Measure(measured, RateOf(*copy));
      if (!row) return tl::unexpected(row.error());
      rows.push_back(*std::move(row));
    }
    return rows;
  }

 private:
  double RateOf(double seconds) const {
    return 2 * static_cast<double>(scale_.bytes) / seconds / 1e9;
  }

  Result<Row> Measure(const Case& measured, double copy_rate) {
    std::byte* const to_destination[] = {source_.data(), destination_.data()};
    std::byte* const to_other[] = {source_.data(), other_.data()};
    const Result<UploadedTable> table = UploadedTable::Make(measured.table, to_destination);
    if (!table) return tl::unexpected(table.error());
    const Result<UploadedTable> naive_table = UploadedTable::Make(measured.table, to_other);
    if (!naive_table) return tl::unexpected(naive_table.error());
    const Result<double> kernel = SecondsOf(
        scale_.repetitions, stream_.get(),
        [&] { return LaunchCopies(table->tables(), table->location(), stream_.get()); },
        "copy kernel");
    if (!kernel) return tl::unexpected(kernel.error());
    const Result<double> naive = SecondsOf(
        scale_.repetitions, stream_.get(),
        [&] {
          return LaunchNaiveCopies(naive_table->tables(), naive_table->location(), stream_.get());
        },
        "naive kernel");
    if (!naive) return tl::unexpected(naive.error());
    const Result<std::uint64_t> digest = DigestOf(destination_.data(), scale_.bytes, stream_.get());
    if (!digest) return tl::unexpected(digest.error());
    const Result<std::uint64_t> naive_digest = DigestOf(other_.data(), scale_.bytes, stream_.get());
    if (!naive_digest) return tl::unexpected(naive_digest.error());
    const double rate = RateOf(*kernel);
    std::string figures = RatesText(rate, copy_rate, RateOf(*naive));
    if (measured.has_aim) figures += rate >= kAim * copy_rate ? "; aim met" : "; aim missed";
    return Row{measured.name, *digest == *naive_digest ? Verdict::kRight : Verdict::kWrong,
               std::move(figures)};
  }

  Scale scale_;
  Stream stream_;
  DeviceBuffer source_;
  DeviceBuffer destination_;  // of the kernel
  DeviceBuffer other_;        // of the naive kernel
};

}  // namespace

Result<std::vector<Row>> MeasureCopies(const Scale& scale) {
  Result<DeviceBuffer> source = DeviceBuffer::Make(kSpread * scale.bytes);
  if (!source) return tl::unexpected(source.error());
  Result<DeviceBuffer> destination = DeviceBuffer::Make(scale.bytes);
  if (!destination) return tl::unexpected(destination.error());
  Result<DeviceBuffer> other = DeviceBuffer::Make(scale.bytes);
  if (!other) return tl::unexpected(other.error());
  Result<Stream> stream = MakeStream();
  if (!stream) return tl::unexpected(stream.error());
  return CopyRates(scale, *std::move(stream), *std::move(source), *std::move(destination),
                   *std::move(other))
      .Run();
}

}  // namespace reshard::device_check
