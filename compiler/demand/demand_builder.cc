#include "compiler/demand/demand_builder.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/demand/box_refinement.h"
#include "foundation/checked_arithmetic.h"

namespace reshard {
namespace {

// A layout in the role of one side: all ranks that hold it there hold and need the same things.
struct Use {
  bool destination = false;
  LayoutIndex layout = 0;
  std::vector<RankIndex> ranks;
};

// One region of one use.
struct Cover {
  std::int32_t use = 0;
  std::int64_t region = 0;
};

std::vector<Use> CollectUses(const JobRecords& job) {
  std::vector<Use> uses;
  for (const bool destination : {false, true}) {
    std::vector<std::vector<RankIndex>> ranks(job.layouts.size());
    for (std::size_t r = 0; r < job.ranks.size(); ++r) {
      const LayoutIndex layout =
          destination ? job.ranks[r].destination_layout : job.ranks[r].source_layout;
      if (layout != kNoLayout) {
        ranks[static_cast<std::size_t>(layout)].push_back(static_cast<RankIndex>(r));
      }
    }
    for (std::size_t layout = 0; layout < ranks.size(); ++layout) {
      if (ranks[layout].empty()) continue;
      uses.push_back({destination, static_cast<LayoutIndex>(layout), std::move(ranks[layout])});
    }
  }
  return uses;
}

// All covers, tensor by tensor, in order of use.
struct CoverIndex {
  std::vector<std::int64_t> first;  // per tensor, and one past the last
  std::vector<Cover> covers;
};

CoverIndex IndexCovers(const JobRecords& job, const std::vector<Use>& uses) {
  CoverIndex index;
  index.first.assign(job.tensors.size() + 1, 0);
  for (const Use& use : uses) {
    const RegionTable& regions = job.layouts[static_cast<std::size_t>(use.layout)].regions;
    for (std::int64_t i = 0; i < regions.size(); ++i) {
      ++index.first[static_cast<std::size_t>(regions[i].tensor) + 1];
    }
  }
  std::partial_sum(index.first.begin(), index.first.end(), index.first.begin());
  index.covers.resize(static_cast<std::size_t>(index.first.back()));
  std::vector<std::int64_t> next(index.first.begin(), index.first.end() - 1);
  for (std::size_t u = 0; u < uses.size(); ++u) {
    const RegionTable& regions = job.layouts[static_cast<std::size_t>(uses[u].layout)].regions;
    for (std::int64_t i = 0; i < regions.size(); ++i) {
      std::int64_t& at = next[static_cast<std::size_t>(regions[i].tensor)];
      index.covers[static_cast<std::size_t>(at++)] = {static_cast<std::int32_t>(u), i};
    }
  }
  return index;
}

// Source and destination layouts that meet on one rank, where a job has parameters in place: there
// a fragment that already lies right is another case than one that must move.
struct Meeting {
  std::int32_t source_use = 0;
  std::int32_t destination_use = 0;
  bool operator==(const Meeting&) const = default;
  auto operator<=>(const Meeting&) const = default;
};

std::string BoxText(std::span<const std::int64_t> begin, std::span<const std::int64_t> extent) {
  std::string text = "[";
  for (std::size_t k = 0; k < begin.size(); ++k) {
    if (k > 0) text += ", ";
    text += std::to_string(begin[k]) + ":" + std::to_string(begin[k] + extent[k]);
  }
  return text + "]";
}

// Builds fragments tensor by tensor, then orders them into classes.
class DemandBuilder {
 public:
  explicit DemandBuilder(const JobRecords& job)
      : job_(job), uses_(CollectUses(job)), covers_(IndexCovers(job, uses_)) {
    if (!job.in_place.empty()) CollectMeetings();
  }

  Result<Demand> Build() {
    for (std::size_t t = 0; t < job_.tensors.size(); ++t) {
      if (Result<void> done = CutTensor(static_cast<TensorIndex>(t)); !done) {
        return tl::unexpected(done.error());
      }
    }
    return OrderIntoClasses();
  }

 private:
  struct Draft {  // of a fragment, before classes are ordered
    std::int64_t row = 0;
    std::int32_t key = 0;
  };

  const RankLayout& LayoutOf(const Cover& cover) const {
    return job_
        .layouts[static_cast<std::size_t>(uses_[static_cast<std::size_t>(cover.use)].layout)];
  }
  Region RegionOf(const Cover& cover) const { return LayoutOf(cover).regions[cover.region]; }

  void CollectMeetings() {
    std::vector<std::int32_t> source_use(job_.ranks.size(), -1);
    for (std::size_t u = 0; u < uses_.size(); ++u) {
      for (const RankIndex rank : uses_[u].ranks) {
        if (!uses_[u].destination) {
          source_use[static_cast<std::size_t>(rank)] = static_cast<std::int32_t>(u);
        } else if (source_use[static_cast<std::size_t>(rank)] >= 0) {
          meetings_.push_back(
              {source_use[static_cast<std::size_t>(rank)], static_cast<std::int32_t>(u)});
        }
      }
    }
    std::sort(meetings_.begin(), meetings_.end());
    meetings_.erase(std::unique(meetings_.begin(), meetings_.end()), meetings_.end());
  }

  std::span<const Cover> CoversOf(TensorIndex tensor) const {
    const auto begin = covers_.first[static_cast<std::size_t>(tensor)];
    const auto end = covers_.first[static_cast<std::size_t>(tensor) + 1];
    return std::span(covers_.covers)
        .subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
  }

  Result<void> CutTensor(TensorIndex tensor) {
    const Tensor& record = job_.tensors[static_cast<std::size_t>(tensor)];
    const std::size_t dims = record.shape.size();
    const std::span<const Cover> covers = CoversOf(tensor);
    if (covers.empty()) return {};
    regions_.clear();
    for (const Cover& cover : covers) regions_.push_back(RegionOf(cover));
    if (!refinement_.Cut(regions_, dims)) {
      return InputError("tensor '" + record.name + "'",
                        "its layouts cut it into more than " +
                            std::to_string(BoxRefinement::kMaxCells) + " cells",
                        "use layouts that cut fewer places, or fewer dims at once");
    }
    for (const BoxRefinement::Box& box : refinement_.boxes()) {
      if (Result<void> added = AddFragment(tensor, covers, box); !added) return added;
    }
    return {};
  }

  Result<void> AddFragment(TensorIndex tensor, std::span<const Cover> covers,
                           const BoxRefinement::Box& box) {
    const Tensor& record = job_.tensors[static_cast<std::size_t>(tensor)];
    const std::size_t dims = record.shape.size();
    begin_.resize(dims);
    extent_.resize(dims);
    std::int64_t bytes = ElementBytes(record.dtype);
    for (std::size_t k = 0; k < dims; ++k) {
      begin_[k] = refinement_.Begin(box, k);
      extent_[k] = refinement_.End(box, k) - begin_[k];
      bytes *= extent_[k];  // at most the tensor's bytes, which the reader has checked
    }
    key_.clear();
    bool held = false;
    bool needed = false;
    const std::span<const std::int32_t> cell_covers = refinement_.CoversOf(box);
    for (const std::int32_t i : cell_covers) {
      const std::int32_t use = covers[static_cast<std::size_t>(i)].use;
      const bool destination = uses_[static_cast<std::size_t>(use)].destination;
      (destination ? needed : held) = true;
      // Of several places on the source side one is enough; on the destination each is written, and
      // a class has equally many of each layout.
      if (!key_.empty() && key_.back() == use && !destination) continue;
      key_.push_back(use);
    }
    if (!needed) return {};
    if (!held) {
      return InputError(
          "tensor '" + record.name + "' " + BoxText(begin_, extent_),
          "the destination needs it and no source rank holds it",
          "let the source layout cover the whole tensor; dead GPUs and those left out hold "
          "nothing");
    }
    AppendInPlaceFlags(tensor, covers, cell_covers);
    drafts_.push_back({fragments_.size(), KeyIndex()});
    fragments_.Add(tensor, bytes, begin_, extent_);
    return {};
  }

  // One flag per meeting: does this fragment already lie where the destination wants it, as its
  // only place?
  void AppendInPlaceFlags(TensorIndex tensor, std::span<const Cover> covers,
                          std::span<const std::int32_t> cell_covers) {
    const std::int64_t element = ElementBytes(job_.tensors[static_cast<std::size_t>(tensor)].dtype);
    for (const Meeting& meeting : meetings_) {
      const Cover* source = nullptr;
      const Cover* destination = nullptr;
      int places = 0;
      for (const std::int32_t i : cell_covers) {
        const Cover& cover = covers[static_cast<std::size_t>(i)];
        if (cover.use == meeting.source_use &&
            (source == nullptr ||
             IsPlaceBefore(job_, LayoutOf(cover), RegionOf(cover), RegionOf(*source)))) {
          source = &cover;
        }
        if (cover.use != meeting.destination_use) continue;
        destination = &cover;
        ++places;
      }
      if (source == nullptr || destination == nullptr) continue;
      const bool in_place = places == 1 && LiesInPlace(*source, *destination, element);
      key_.push_back(-1 - static_cast<std::int32_t>(in_place));
    }
  }

  bool LiesInPlace(const Cover& source, const Cover& destination, std::int64_t element) const {
    const Region from = RegionOf(source);
    const Region to = RegionOf(destination);
    const std::string& from_name =
        LayoutOf(source).parameters[static_cast<std::size_t>(from.parameter)].name;
    const std::string& to_name =
        LayoutOf(destination).parameters[static_cast<std::size_t>(to.parameter)].name;
    const InPlacePair pair{from_name, to_name};
    if (std::find(job_.in_place.begin(), job_.in_place.end(), pair) == job_.in_place.end()) {
      return false;
    }
    scratch_from_ = CopyProgram();
    scratch_to_ = CopyProgram();
    const Fragment fragment{from.tensor, 0, begin_, extent_};
    AppendEntry(fragment, from, element, scratch_from_);
    AppendEntry(fragment, to, element, scratch_to_);
    const CopyEntry a = scratch_from_[0];
    const CopyEntry b = scratch_to_[0];
    return a.offset == b.offset && a.run == b.run && std::ranges::equal(a.dims, b.dims);
  }

  std::int32_t KeyIndex() {
    const auto [at, fresh] = keys_.try_emplace(key_, static_cast<std::int32_t>(keys_.size()));
    if (fresh) key_of_index_.push_back(&at->first);
    return at->second;
  }

  // Ranks of one side among the uses of a key, each once.
  std::vector<RankIndex> RanksOf(const std::vector<std::int32_t>& key, bool destination) const {
    std::vector<RankIndex> ranks;
    for (const std::int32_t use : key) {
      if (use < 0 || uses_[static_cast<std::size_t>(use)].destination != destination) continue;
      const std::vector<RankIndex>& of_use = uses_[static_cast<std::size_t>(use)].ranks;
      ranks.insert(ranks.end(), of_use.begin(), of_use.end());
    }
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    return ranks;
  }

  // What tells classes of equal sets apart: in-place flags, then the uses of further places.
  static std::vector<std::int32_t> FlagsOf(const std::vector<std::int32_t>& key) {
    std::vector<std::int32_t> flags;
    std::copy_if(key.begin(), key.end(), std::back_inserter(flags),
                 [](std::int32_t use) { return use < 0; });
    for (std::size_t i = 1; i < key.size(); ++i) {
      if (key[i] >= 0 && key[i] == key[i - 1]) flags.push_back(key[i]);
    }
    return flags;
  }

  Demand OrderIntoClasses() {
    struct KeyedSets {
      std::vector<RankIndex> needers;
      std::vector<RankIndex> holders;
      std::vector<std::int32_t> flags;
      std::int32_t key = 0;
    };
    std::vector<KeyedSets> sets;
    for (std::size_t k = 0; k < key_of_index_.size(); ++k) {
      const std::vector<std::int32_t>& key = *key_of_index_[k];
      sets.push_back(
          {RanksOf(key, true), RanksOf(key, false), FlagsOf(key), static_cast<std::int32_t>(k)});
    }
    std::sort(sets.begin(), sets.end(), [](const KeyedSets& a, const KeyedSets& b) {
      return std::tie(a.needers, a.holders, a.flags) < std::tie(b.needers, b.holders, b.flags);
    });
    std::vector<std::int32_t> class_of_key(sets.size());
    Demand demand;
    std::map<std::vector<RankIndex>, RankSetIndex> interned;
    const auto intern = [&](std::vector<RankIndex>& ranks) {
      const auto [at, fresh] =
          interned.try_emplace(ranks, static_cast<RankSetIndex>(demand.rank_sets.size()));
      if (fresh) demand.rank_sets.push_back(std::move(ranks));
      return at->second;
    };
    for (std::size_t c = 0; c < sets.size(); ++c) {
      class_of_key[static_cast<std::size_t>(sets[c].key)] = static_cast<std::int32_t>(c);
      DemandClass record;
      record.needers = intern(sets[c].needers);
      record.holders = intern(sets[c].holders);
      demand.classes.push_back(record);
    }
    FillClasses(class_of_key, demand);
    return demand;
  }

  // Fragments whose bytes are a multiple of the alignment come first in their class, so that no
  // odd-sized one misaligns those behind it.
  void FillClasses(const std::vector<std::int32_t>& class_of_key, Demand& demand) {
    std::vector<std::vector<std::int64_t>> aligned(demand.classes.size());
    std::vector<std::vector<std::int64_t>> ragged(demand.classes.size());
    for (const Draft& draft : drafts_) {
      const auto c = static_cast<std::size_t>(class_of_key[static_cast<std::size_t>(draft.key)]);
      const bool whole = fragments_[draft.row].bytes % kStreamAlignmentBytes == 0;
      (whole ? aligned : ragged)[c].push_back(draft.row);
      demand.classes[c].bytes += fragments_[draft.row].bytes;
    }
    for (std::size_t c = 0; c < demand.classes.size(); ++c) {
      demand.classes[c].first_fragment = demand.fragments.size();
      for (const std::vector<std::int64_t>* rows : {&aligned[c], &ragged[c]}) {
        for (const std::int64_t row : *rows) {
          const Fragment fragment = fragments_[row];
          demand.fragments.Add(fragment.tensor, fragment.bytes, fragment.begin, fragment.extent);
        }
      }
      demand.classes[c].fragment_count = demand.fragments.size() - demand.classes[c].first_fragment;
    }
  }

  struct KeyHash {
    std::size_t operator()(const std::vector<std::int32_t>& key) const {
      std::uint64_t hash = 1469598103934665603ULL;  // FNV-1a
      for (const std::int32_t value : key) {
        hash = (hash ^ static_cast<std::uint32_t>(value)) * 1099511628211ULL;
      }
      return static_cast<std::size_t>(hash);
    }
  };

  static constexpr std::int64_t kStreamAlignmentBytes = 16;

  const JobRecords& job_;
  std::vector<Use> uses_;
  CoverIndex covers_;
  std::vector<Meeting> meetings_;
  std::vector<Draft> drafts_;
  FragmentTable fragments_;
  // Node-based: key_of_index_ points at its keys. Only looked up, never iterated.
  std::unordered_map<std::vector<std::int32_t>, std::int32_t, KeyHash> keys_;
  std::vector<const std::vector<std::int32_t>*> key_of_index_;
  // Scratch of the tensor at hand.
  std::vector<Region> regions_;
  BoxRefinement refinement_;
  std::vector<std::int64_t> begin_, extent_;
  std::vector<std::int32_t> key_;
  mutable CopyProgram scratch_from_, scratch_to_;
};

}  // namespace

Result<Demand> BuildDemand(const JobRecords& job) { return DemandBuilder(job).Build(); }

}  // namespace reshard
