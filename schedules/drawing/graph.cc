#include "schedules/drawing/graph.h"

#include <graphviz/cgraph.h>
#include <graphviz/gvc.h>

#include <cstddef>
#include <map>

namespace reshard {
namespace {

// Graphviz takes char* where it means const char*.
char* Mutable(const std::string& text) { return const_cast<char*>(text.c_str()); }

// A string of the graph's own dictionary; HTML-like ones are told apart there.
void SetAttribute(Agraph_t* graph, void* object, const std::string& name,
                  const std::string& value) {
  const bool is_html = value.size() > 1 && value.front() == '<' && value.back() == '>';
  if (!is_html) {
    agsafeset(object, Mutable(name), Mutable(value), Mutable(std::string()));
    return;
  }
  const std::string inside = value.substr(1, value.size() - 2);
  char* const html = agstrdup_html(graph, Mutable(inside));
  agsafeset(object, Mutable(name), html, Mutable(std::string()));
  agstrfree(graph, html);
}

void SetAttributes(Agraph_t* graph, void* object, const DrawingAttributes& attributes) {
  for (const auto& [name, value] : attributes) SetAttribute(graph, object, name, value);
}

// Graphviz orders subgraphs by their numbers and numbers names by their address in memory, so that
// the same graph would be drawn in another order each time. Here names are numbered by first use:
// even numbers for them, odd ones for what has no name, as Graphviz itself does.
class NameNumbers {
 public:
  explicit NameNumbers(Agraph_t* graph) : graph_(graph) {}

  static void* Open(Agraph_t* graph, Agdisc_t* /*discipline*/) { return new NameNumbers(graph); }
  static long Map(void* state, int /*kind*/, char* name, IDTYPE* number, int may_create) {
    auto* const self = static_cast<NameNumbers*>(state);
    if (name == nullptr) {
      *number = 2 * self->nameless_++ + 1;
      return 1;
    }
    const auto found = self->numbers_.find(name);
    if (found != self->numbers_.end()) {
      *number = found->second;
      return 1;
    }
    if (may_create == 0) return 0;
    *number = 2 * self->names_.size();
    // Graphviz looks in front of a name's characters for what it is: names must be its own strings.
    self->names_.push_back(agstrdup(self->graph_, name));
    self->numbers_.emplace(name, *number);
    return 1;
  }
  static long Allocate(void* /*state*/, int /*kind*/, IDTYPE /*number*/) { return 0; }
  static void Free(void* /*state*/, int /*kind*/, IDTYPE /*number*/) {}
  static char* Print(void* state, int /*kind*/, IDTYPE number) {
    auto* const self = static_cast<NameNumbers*>(state);
    if (number % 2 != 0 || number / 2 >= self->names_.size()) return nullptr;
    return self->names_[static_cast<std::size_t>(number / 2)];
  }
  static void Close(void* state) { delete static_cast<NameNumbers*>(state); }
  static void Register(void* /*state*/, int /*kind*/, void* /*object*/) {}

 private:
  Agraph_t* graph_;
  std::map<std::string, IDTYPE> numbers_;
  std::vector<char*> names_;  // strings of the graph, freed with it
  IDTYPE nameless_ = 0;
};

Agiddisc_t name_numbers{NameNumbers::Open,    NameNumbers::Map,   NameNumbers::Allocate,
                        NameNumbers::Free,    NameNumbers::Print, NameNumbers::Close,
                        NameNumbers::Register};
Agdisc_t discipline{&AgMemDisc, &name_numbers, &AgIoDisc};

Result<std::string> GraphvizFault() {
  const char* const reason = aglasterr();
  return InternalError("drawing", std::string("Graphviz failed: ") +
                                      (reason == nullptr ? "it gave no reason" : reason));
}

}  // namespace

struct Graph::Handle {
  Agraph_t* graph = nullptr;
};

std::string EscapeLabel(const std::string& text) {
  std::string escaped;
  for (const char letter : text) {
    if (letter == '\\') escaped += letter;
    escaped += letter;
  }
  return escaped;
}

Graph::Graph(const DrawingAttributes& attributes) : handle_(std::make_unique<Handle>()) {
  agseterr(AGMAX);  // reasons are returned, not printed
  handle_->graph = agopen(Mutable("plan"), Agdirected, &discipline);
  for (const auto& [name, value] : attributes) {
    const bool is_html = value.size() > 1 && value.front() == '<' && value.back() == '>';
    agattr(handle_->graph, AGRAPH, Mutable(name), Mutable(is_html ? std::string() : value));
    if (is_html) SetAttribute(handle_->graph, handle_->graph, name, value);
  }
}

Graph::~Graph() { agclose(handle_->graph); }

void Graph::AddCluster(const std::string& name, const DrawingAttributes& attributes) {
  // Graphviz frames subgraphs whose names begin so.
  Agraph_t* const cluster = agsubg(handle_->graph, Mutable("cluster_" + name), 1);
  SetAttributes(handle_->graph, cluster, attributes);
}

void Graph::AddNode(const std::string& name, const std::string& cluster,
                    const DrawingAttributes& attributes) {
  Agraph_t* const parent =
      cluster.empty() ? handle_->graph : agsubg(handle_->graph, Mutable("cluster_" + cluster), 1);
  Agnode_t* const node = agnode(parent, Mutable(name), 1);
  SetAttributes(handle_->graph, node, attributes);
}

void Graph::AddEdge(const std::string& from, const std::string& to,
                    const DrawingAttributes& attributes) {
  Agnode_t* const tail = agnode(handle_->graph, Mutable(from), 1);
  Agnode_t* const head = agnode(handle_->graph, Mutable(to), 1);
  Agedge_t* const edge = agedge(handle_->graph, tail, head, nullptr, 1);
  SetAttributes(handle_->graph, edge, attributes);
}

Result<std::string> Graph::Draw(DrawingFormat format) const {
  const std::unique_ptr<GVC_t, int (*)(GVC_t*)> context(gvContext(), gvFreeContext);
  // "canon" writes the graph as it is, "dot" would add the places of a layout.
  const std::string format_name = format == DrawingFormat::kSvg ? "svg" : "canon";
  const std::string engine = format == DrawingFormat::kSvg ? "dot" : "nop";
  if (gvLayout(context.get(), handle_->graph, engine.c_str()) != 0) return GraphvizFault();
  char* data = nullptr;
  unsigned int size = 0;
  const int status = gvRenderData(context.get(), handle_->graph, format_name.c_str(), &data, &size);
  std::string drawing(data == nullptr ? "" : data, data == nullptr ? 0 : size);
  gvFreeRenderData(data);
  gvFreeLayout(context.get(), handle_->graph);
  if (status != 0 || drawing.empty()) return GraphvizFault();
  return drawing;
}

}  // namespace reshard
