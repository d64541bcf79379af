#include "schedules/drawing/cluster_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "schedules/drawing/binding_resource.h"
#include "schedules/drawing/chart.h"
#include "schedules/drawing/domain_frames.h"
#include "schedules/drawing/markup_text.h"
#include "schedules/number_text.h"

namespace reshard {
namespace {

constexpr std::size_t kMaxMatrixRows = 64;
constexpr const char* kSourceColor = "#cfe3f5";
constexpr const char* kDestinationColor = "#d8efd3";
constexpr const char* kBothColor = "#efe2c4";
constexpr const char* kHelperColor = "#eeeeee";
// Darker than the red of frames and arrows, to be read on orange.
constexpr const char* kBindingText = "#7f0000";

const char* ColorOf(const DomainSummary& domain) {
  if (domain.both > 0 || (domain.sources > 0 && domain.destinations > 0)) return kBothColor;
  if (domain.sources > 0) return kSourceColor;
  return domain.destinations > 0 ? kDestinationColor : kHelperColor;
}

// White for idle, full for all the time: a colour that dark text stands out from.
std::string BusyColor(double busy) {
  const auto mix = [&](int light, int full) {
    return static_cast<int>(std::lround(light + (full - light) * std::clamp(busy, 0.0, 1.0)));
  };
  return fmt::format("#{:02x}{:02x}{:02x}", mix(255, 245), mix(255, 166), mix(255, 35));
}

// A line of a frame's label, coloured by how busy it is.
std::string LabelRow(std::string text, double busy, bool is_binding) {
  if (is_binding) text = fmt::format("<font color=\"{}\"><b>{}</b></font>", kBindingText, text);
  return fmt::format("<tr><td{}>{}</td></tr>",
                     busy > 0 ? fmt::format(" bgcolor=\"{}\"", BusyColor(busy)) : "", text);
}

std::string DirectionRow(const char* name, std::int64_t bytes, double busy, bool is_binding) {
  std::string text = fmt::format("{} {}", name, BytesText(bytes));
  if (busy > 0) text += fmt::format(", NICs {:.0f} % busy", 100 * busy);
  return LabelRow(std::move(text), busy, is_binding);
}

std::string FrameLabel(const DomainFrame& frame, const BindingResource& binding) {
  const auto count = static_cast<double>(frame.domains.size());
  const bool marks_ingress =
      frame.is_binding && binding.direction != BindingResource::Direction::kEgress;
  const bool marks_egress =
      frame.is_binding && binding.direction != BindingResource::Direction::kIngress;
  std::string rows;
  for (const std::string& role : FrameRoles(frame)) rows += LabelRow(role, 0, false);
  if (frame.sum.egress_bytes > 0) {
    rows +=
        DirectionRow("out", frame.sum.egress_bytes, frame.sum.egress_busy / count, marks_egress);
  }
  if (frame.sum.ingress_bytes > 0) {
    rows +=
        DirectionRow("in", frame.sum.ingress_bytes, frame.sum.ingress_busy / count, marks_ingress);
  }
  if (frame.sum.nvlink_bytes > 0) {
    rows += LabelRow("inside, over NVLink " + BytesText(frame.sum.nvlink_bytes), 0, false);
  }
  return "<<table border=\"0\" cellborder=\"0\" cellspacing=\"2\" cellpadding=\"2\">" + rows +
         "</table>>";
}

// The bytes of an arrow, on white, so that no arrow runs through them.
std::string ArrowLabel(std::int64_t bytes) {
  return fmt::format(
      "<<table border=\"0\" cellborder=\"0\" cellspacing=\"0\" cellpadding=\"1\"><tr>"
      "<td bgcolor=\"#ffffff\">{}</td></tr></table>>",
      BytesText(bytes));
}

std::string NodeName(std::size_t frame) { return fmt::format("domains_{}", frame); }

void AddFrames(const std::vector<DomainFrame>& frames, const BindingResource& binding,
               Graph& graph) {
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const DomainFrame& frame = frames[i];
    const std::string name = fmt::format("{}", i);
    graph.AddCluster(name, {{"label", EscapeLabel(FrameTitle(frame))},
                            {"style", "rounded,filled"},
                            {"fillcolor", "#fafafa"},
                            {"color", frame.is_binding ? kBindingColor : "#9e9e9e"},
                            {"penwidth", frame.is_binding ? "3" : "1"},
                            {"margin", "14"}});
    graph.AddNode(NodeName(i), name,
                  {{"label", FrameLabel(frame, binding)},
                   {"shape", "box"},
                   {"fontname", "Helvetica"},
                   {"fontsize", "11"},
                   {"style", "rounded,filled"},
                   {"fillcolor", ColorOf(frame.sum)},
                   {"color", "#757575"},
                   {"margin", "0.2,0.12"}});
  }
}

// Whether an arrow crosses the resource that binds.
bool IsBindingArrow(const DomainFrame& from, const DomainFrame& to,
                    const BindingResource& binding) {
  return (to.is_binding && binding.direction == BindingResource::Direction::kIngress) ||
         (from.is_binding && binding.direction == BindingResource::Direction::kEgress);
}

void AddArrows(const DomainTraffic& traffic, const std::vector<DomainFrame>& frames,
               const BindingResource& binding, Graph& graph) {
  std::vector<std::vector<std::int64_t>> bytes(frames.size(),
                                               std::vector<std::int64_t>(frames.size(), 0));
  std::int64_t most = 1;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    for (std::size_t k = 0; k < frames.size(); ++k) {
      for (const std::int32_t from : frames[i].domains) {
        for (const std::int32_t to : frames[k].domains) {
          bytes[i][k] +=
              traffic.bytes[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
        }
      }
      most = std::max(most, bytes[i][k]);
    }
  }
  for (std::size_t i = 0; i < frames.size(); ++i) {
    for (std::size_t k = 0; k < frames.size(); ++k) {
      if (bytes[i][k] == 0) continue;
      const double share = static_cast<double>(bytes[i][k]) / static_cast<double>(most);
      const bool is_binding = IsBindingArrow(frames[i], frames[k], binding);
      graph.AddEdge(NodeName(i), NodeName(k),
                    {{"label", ArrowLabel(bytes[i][k])},
                     {"fontname", "Helvetica"},
                     {"fontsize", "11"},
                     {"arrowsize", fmt::format("{:.2f}", 0.9 - 0.4 * share)},
                     {"penwidth", fmt::format("{:.2f}", 1 + 5 * share)},
                     {"color", is_binding ? kBindingColor : "#546e7a"},
                     {"fontcolor", is_binding ? kBindingColor : "#37474f"},
                     // Arrows back against the flow must not turn the picture over.
                     {"constraint", k > i ? "true" : "false"}});
    }
  }
}

// White for nothing, dark for the most.
std::string Shade(double share) {
  const auto mix = [share](int light, int dark) {
    return static_cast<int>(std::lround(light + (dark - light) * share));
  };
  return fmt::format("#{:02x}{:02x}{:02x}", mix(245, 13), mix(249, 71), mix(252, 161));
}

// Bytes between domains, neighbours joined where there are many.
struct Matrix {
  std::size_t per_row = 1;                       // domains
  std::vector<std::vector<std::int64_t>> bytes;  // [from][to]
  std::vector<std::size_t> senders;              // rows that have bytes, ascending
  std::vector<std::size_t> receivers;            // columns that have bytes, ascending
  std::int64_t most = 1;
};

Matrix MakeMatrix(const DomainTraffic& traffic, const std::vector<std::int32_t>& drawn) {
  Matrix matrix;
  matrix.per_row = (drawn.size() + kMaxMatrixRows - 1) / kMaxMatrixRows;
  const std::size_t rows = (drawn.size() + matrix.per_row - 1) / matrix.per_row;
  matrix.bytes.assign(rows, std::vector<std::int64_t>(rows, 0));
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    for (std::size_t k = 0; k < drawn.size(); ++k) {
      matrix.bytes[i / matrix.per_row][k / matrix.per_row] +=
          traffic.bytes[static_cast<std::size_t>(drawn[i])][static_cast<std::size_t>(drawn[k])];
    }
  }
  std::vector<bool> receives(rows, false);
  for (std::size_t i = 0; i < rows; ++i) {
    bool sends = false;
    for (std::size_t k = 0; k < rows; ++k) {
      if (matrix.bytes[i][k] == 0) continue;
      sends = true;
      receives[k] = true;
      matrix.most = std::max(matrix.most, matrix.bytes[i][k]);
    }
    if (sends) matrix.senders.push_back(i);
  }
  for (std::size_t k = 0; k < rows; ++k) {
    if (receives[k]) matrix.receivers.push_back(k);
  }
  return matrix;
}

// A table of shades; rows and columns without bytes are left out.
void AddMatrix(const Matrix& matrix, const std::vector<std::int32_t>& drawn,
               const BindingResource& binding, std::int32_t binding_domain, Graph& graph) {
  const auto header = [&](std::size_t row, bool is_marked) {
    const std::size_t first = row * matrix.per_row;
    const std::size_t last = std::min(drawn.size(), first + matrix.per_row);
    bool is_binding = false;
    for (std::size_t i = first; i < last; ++i) {
      is_binding = is_binding || (is_marked && drawn[i] == binding_domain);
    }
    return fmt::format("<td><font point-size=\"8\" color=\"{}\">{}{}{}</font></td>",
                       is_binding ? kBindingColor : "#37474f", is_binding ? "<b>" : "",
                       drawn[first], is_binding ? "</b>" : "");
  };
  // The title stands in a table around the cells, as it is wider than a few of them.
  std::string table = fmt::format(
      "<table border=\"0\" cellborder=\"0\"><tr><td align=\"left\">over NICs from domain (row) to "
      "domain (column); the darkest is {}{}</td></tr><tr><td align=\"left\">",
      BytesText(matrix.most),
      matrix.per_row > 1 ? fmt::format(", {} domains a row", matrix.per_row) : "");
  table += "<table border=\"0\" cellborder=\"0\" cellspacing=\"1\" cellpadding=\"0\"><tr><td></td>";
  for (const std::size_t k : matrix.receivers) {
    table += header(k, binding.direction != BindingResource::Direction::kEgress);
  }
  table += "</tr>";
  for (const std::size_t i : matrix.senders) {
    table += "<tr>" + header(i, binding.direction != BindingResource::Direction::kIngress);
    for (const std::size_t k : matrix.receivers) {
      const std::int64_t bytes = matrix.bytes[i][k];
      const double share = static_cast<double>(bytes) / static_cast<double>(matrix.most);
      table += fmt::format("<td width=\"12\" height=\"12\" fixedsize=\"true\" bgcolor=\"{}\"></td>",
                           bytes == 0 ? "#ffffff" : Shade(0.08 + 0.92 * share));
    }
    table += "</tr>";
  }
  table += "</table></td></tr></table>";
  graph.AddNode("matrix", "",
                {{"label", "<" + table + ">"}, {"shape", "plain"}, {"fontname", "Helvetica"}});
}

std::string Caption(const Plan& plan, const DomainTraffic& traffic, std::size_t drawn) {
  const Certificate& certificate = plan.certificate;
  std::string text = fmt::format("<b>{} ranks, {} tensors, {} rounds</b>",
                                 CountText(static_cast<std::int64_t>(plan.job.ranks.size())),
                                 CountText(static_cast<std::int64_t>(plan.job.tensors.size())),
                                 CountText(plan.round_count));
  if (certificate.predicted_seconds > 0) {
    text += fmt::format("<br/>predicted {}", SecondsText(certificate.predicted_seconds));
  }
  if (certificate.lower_bound.seconds > 0) {
    text += fmt::format(", lower bound {}<br/><font color=\"{}\">binding: {}</font>",
                        SecondsText(certificate.lower_bound.seconds), kBindingColor,
                        EscapeMarkup(certificate.lower_bound.description));
  }
  const auto has_load = [](const DomainSummary& domain) {
    return domain.egress_busy > 0 || domain.ingress_busy > 0;
  };
  if (std::any_of(traffic.domains.begin(), traffic.domains.end(), has_load)) {
    text += "<br/>the fuller the orange, the busier are the NICs";
  }
  if (drawn < traffic.domains.size()) {
    text += fmt::format("<br/>{} domains without a rank are left out",
                        CountText(static_cast<std::int64_t>(traffic.domains.size() - drawn)));
  }
  return "<" + text + "<br/> >";
}

}  // namespace

Result<std::string> DrawClusterView(const Plan& plan, const Cluster& cluster,
                                    const std::vector<ResourceBusy>& utilisation,
                                    DrawingFormat format) {
  for (const Rank& rank : plan.job.ranks) {
    if (rank.domain < 0 || rank.domain >= static_cast<std::int32_t>(cluster.domains.size())) {
      return InputError("cluster", fmt::format("it has no domain {}", rank.domain),
                        "give the cluster the plan was made for");
    }
  }
  const DomainTraffic traffic = SumByDomain(plan, cluster, utilisation);
  const std::vector<std::int32_t> drawn = DomainsWithRanks(traffic);
  const BindingResource binding = BindingOf(plan.certificate.lower_bound);
  const std::int32_t binding_domain = BindingDomain(binding, cluster);
  const std::vector<DomainFrame> frames = MakeFrames(traffic, binding_domain);
  Graph graph({{"rankdir", "LR"},
               {"fontname", "Helvetica"},
               {"fontsize", "12"},
               {"labelloc", "t"},
               {"nodesep", "0.5"},
               {"ranksep", "1.6"},
               {"label", Caption(plan, traffic, drawn.size())}});
  AddFrames(frames, binding, graph);
  AddArrows(traffic, frames, binding, graph);
  if (drawn.size() > kMaxDrawnDomains) {
    AddMatrix(MakeMatrix(traffic, drawn), drawn, binding, binding_domain, graph);
  }
  return graph.Draw(format);
}

}  // namespace reshard
