#include "schedules/drawing/cluster_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "schedules/drawing/binding_resource.h"
#include "schedules/number_text.h"

namespace reshard {
namespace {

constexpr std::size_t kMaxDrawnDomains = 12;
constexpr std::size_t kMaxMatrixRows = 64;
constexpr const char* kBindingColor = "#c62828";
constexpr const char* kSourceColor = "#cfe3f5";
constexpr const char* kDestinationColor = "#d8efd3";
constexpr const char* kBothColor = "#efe2c4";
constexpr const char* kHelperColor = "#eeeeee";

// Domains that are drawn as one: equal neighbours, or a single one.
struct Frame {
  std::vector<std::int32_t> domains;
  DomainSummary sum;
  bool is_binding = false;
};

void Accumulate(const DomainSummary& from, DomainSummary& into) {
  into.gpus += from.gpus;
  into.sources += from.sources;
  into.destinations += from.destinations;
  into.both += from.both;
  into.nics += from.nics;
  into.nvlink_bytes += from.nvlink_bytes;
  into.egress_bytes += from.egress_bytes;
  into.ingress_bytes += from.ingress_bytes;
  into.egress_busy += from.egress_busy;
  into.ingress_busy += from.ingress_busy;
}

auto RoleKey(const DomainSummary& domain) {
  return std::tuple(domain.sources > 0, domain.destinations > 0, domain.both > 0);
}

auto ShapeKey(const DomainSummary& domain) {
  return std::tuple(domain.type, domain.gpus, domain.sources, domain.destinations, domain.both);
}

// Groups domains by a key, in order of first appearance.
template <typename Key>
std::vector<Frame> FramesBy(const DomainTraffic& traffic, const std::vector<std::int32_t>& drawn,
                            const Key& key) {
  std::vector<Frame> frames;
  for (const std::int32_t domain : drawn) {
    const DomainSummary& summary = traffic.domains[static_cast<std::size_t>(domain)];
    auto frame = std::find_if(frames.begin(), frames.end(), [&](const Frame& one) {
      return key(traffic.domains[static_cast<std::size_t>(one.domains[0])]) == key(summary);
    });
    if (frame == frames.end()) {
      frames.emplace_back();
      frame = frames.end() - 1;
      frame->sum.type = summary.type;
    }
    frame->domains.push_back(domain);
    Accumulate(summary, frame->sum);
  }
  return frames;
}

std::vector<Frame> MakeFrames(const DomainTraffic& traffic,
                              const std::vector<std::int32_t>& drawn) {
  std::vector<Frame> frames;
  if (drawn.size() <= kMaxDrawnDomains) {
    for (const std::int32_t domain : drawn) {
      frames.push_back({{domain}, traffic.domains[static_cast<std::size_t>(domain)], false});
    }
    return frames;
  }
  frames = FramesBy(traffic, drawn, ShapeKey);
  if (frames.size() > kMaxDrawnDomains) frames = FramesBy(traffic, drawn, RoleKey);
  return frames;
}

const char* ColorOf(const DomainSummary& domain) {
  if (domain.both > 0 || (domain.sources > 0 && domain.destinations > 0)) return kBothColor;
  if (domain.sources > 0) return kSourceColor;
  return domain.destinations > 0 ? kDestinationColor : kHelperColor;
}

std::string RolesText(const DomainSummary& domain) {
  std::string text;
  const auto add = [&text](std::int32_t count, const char* role) {
    if (count == 0) return;
    text += fmt::format("{}{} {} rank{}", text.empty() ? "" : "<br/>", CountText(count), role,
                        count == 1 ? "" : "s");
  };
  add(domain.sources, "source");
  add(domain.destinations, "destination");
  add(domain.both, "source and destination");
  return text.empty() ? "no rank" : text;
}

std::string DirectionText(const char* name, std::int64_t bytes, double busy, bool is_binding) {
  std::string text = fmt::format("{} {}", name, BytesText(bytes));
  if (busy > 0) text += fmt::format(", NICs {:.0f} % busy", 100 * busy);
  if (is_binding) text = fmt::format("<font color=\"{}\"><b>{}</b></font>", kBindingColor, text);
  return text;
}

std::string FrameTitle(const Frame& frame) {
  const auto count = static_cast<std::int64_t>(frame.domains.size());
  if (count == 1) {
    return fmt::format("domain {}: {}, {} GPU{}", frame.domains[0], frame.sum.type, frame.sum.gpus,
                       frame.sum.gpus == 1 ? "" : "s");
  }
  return fmt::format("domains {}: {} of {}, {} GPUs together", RangesText(frame.domains),
                     CountText(count), frame.sum.type, CountText(frame.sum.gpus));
}

std::string FrameLabel(const Frame& frame, const BindingResource& binding) {
  const auto count = static_cast<double>(frame.domains.size());
  const bool marks_ingress =
      frame.is_binding && binding.direction != BindingResource::Direction::kEgress;
  const bool marks_egress =
      frame.is_binding && binding.direction != BindingResource::Direction::kIngress;
  std::string text = RolesText(frame.sum);
  if (frame.sum.egress_bytes > 0) {
    text += "<br/>" + DirectionText("out", frame.sum.egress_bytes, frame.sum.egress_busy / count,
                                    marks_egress);
  }
  if (frame.sum.ingress_bytes > 0) {
    text += "<br/>" + DirectionText("in", frame.sum.ingress_bytes, frame.sum.ingress_busy / count,
                                    marks_ingress);
  }
  if (frame.sum.nvlink_bytes > 0) {
    text += "<br/>inside, over NVLink " + BytesText(frame.sum.nvlink_bytes);
  }
  return "<" + text + ">";
}

std::string NodeName(std::size_t frame) { return fmt::format("domains_{}", frame); }

void AddFrames(const std::vector<Frame>& frames, const BindingResource& binding, Graph& graph) {
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const Frame& frame = frames[i];
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
bool IsBindingArrow(const Frame& from, const Frame& to, const BindingResource& binding) {
  return (to.is_binding && binding.direction == BindingResource::Direction::kIngress) ||
         (from.is_binding && binding.direction == BindingResource::Direction::kEgress);
}

void AddArrows(const DomainTraffic& traffic, const std::vector<Frame>& frames,
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
                    {{"label", BytesText(bytes[i][k])},
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
                        EscapeHtml(certificate.lower_bound.description));
  }
  if (drawn < traffic.domains.size()) {
    text += fmt::format("<br/>{} domains without a rank are left out",
                        CountText(static_cast<std::int64_t>(traffic.domains.size() - drawn)));
  }
  return "<" + text + "<br/> >";
}

// The domain of what binds, or -1.
std::int32_t BindingDomain(const BindingResource& binding, const Cluster& cluster) {
  const auto index = static_cast<std::size_t>(std::max(binding.index, 0));
  if (binding.kind == BindingResource::Kind::kDomain && index < cluster.domains.size()) {
    return binding.index;
  }
  if (binding.kind == BindingResource::Kind::kGpu && index < cluster.gpus.size()) {
    return cluster.gpus[index].domain;
  }
  return -1;
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
  std::vector<std::int32_t> drawn;
  for (std::size_t i = 0; i < traffic.domains.size(); ++i) {
    if (traffic.domains[i].ranks() > 0) drawn.push_back(static_cast<std::int32_t>(i));
  }
  const BindingResource binding = BindingOf(plan.certificate.lower_bound);
  const std::int32_t binding_domain = BindingDomain(binding, cluster);
  std::vector<Frame> frames = MakeFrames(traffic, drawn);
  for (Frame& frame : frames) {
    frame.is_binding = std::find(frame.domains.begin(), frame.domains.end(), binding_domain) !=
                       frame.domains.end();
  }
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
