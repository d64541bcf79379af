#include "compiler/layout/vocabulary_rows.h"

#include <algorithm>

namespace reshard {

Result<LinearCut> VocabularyRows(const FamilyTensors& model, const RoleTensors& table,
                                 std::int64_t stored, std::int64_t count, std::int64_t index,
                                 const std::string& what) {
  const Result<Share> share = EqualShare(stored, count, index, what);
  if (!share) return tl::unexpected(share.error());
  const std::int64_t vocabulary = RowCount(model, table);
  const std::int64_t begin = std::min(share->begin, vocabulary);
  const std::int64_t end = std::min(share->end, vocabulary);
  LinearCut cut{.rows = {{table, begin, end}}};
  cut.padded_rows = share->end - share->begin - (end - begin);
  return cut;
}

}  // namespace reshard
