// Ranks that are threads of one process, or one thread that plays them all.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "tests/doubles/nccl_world.h"

namespace reshard::doubles {

class ThreadWorld final : public World {
 public:
  explicit ThreadWorld(int rank_count);

  bool Join(const std::shared_ptr<Endpoint>& endpoint) override;
  bool IsComplete() const override { return joined_ == rank_count(); }
  void WantPeer(int rank, int peer) override;
  bool IsConnected(int rank, int peer) const override;
  void Post(std::vector<Posted> cut) override;
  void Drop(const Endpoint& endpoint) override;

 private:
  using Pair = std::pair<int, int>;  // from, to
  struct Waiting {
    Posted posted;
    std::optional<std::vector<std::byte>> read_early;  // a send's bytes, as they were when posted
  };
  // By a draw: takes the bytes of a send before any operation of its cut makes progress.
  void MayReadEarly(Waiting& waiting);
  void Match(Waiting waiting);

  std::vector<std::shared_ptr<Endpoint>> endpoints_;
  int joined_ = 0;
  std::set<Pair> wanted_;
  std::map<Pair, std::deque<Waiting>> sends_;
  std::map<Pair, std::deque<Waiting>> receives_;
  std::mt19937_64 random_;
};

}  // namespace reshard::doubles
