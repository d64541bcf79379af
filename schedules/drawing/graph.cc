#include "schedules/drawing/graph.h"

#include <graphviz/cgraph.h>
#include <graphviz/gvc.h>

#include <cstdlib>
#include <string_view>

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

Result<std::string> GraphvizFault() {
  const char* const reason = aglasterr();
  return InternalError("drawing", std::string("Graphviz failed: ") +
                                      (reason == nullptr ? "it gave no reason" : reason));
}

}  // namespace

struct Graph::Handle {
  Agraph_t* graph = nullptr;
};

std::string EscapeHtml(const std::string& text) {
  std::string escaped;
  for (const char letter : text) {
    switch (letter) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += letter;
    }
  }
  return escaped;
}

Graph::Graph(const DrawingAttributes& attributes) : handle_(std::make_unique<Handle>()) {
  agseterr(AGMAX);  // reasons are returned, not printed
  handle_->graph = agopen(Mutable("plan"), Agdirected, nullptr);
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
