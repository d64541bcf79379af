// A graph to be drawn by Graphviz, in this process. The one place that knows Graphviz.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "foundation/error.h"

namespace reshard {

enum class DrawingFormat { kSvg, kDot };

// Graphviz attributes, by Graphviz' names. A value that starts with '<' and ends with '>' is an
// HTML-like label, whose texts EscapeMarkup() (markup_text.h) has made harmless.
using DrawingAttributes = std::vector<std::pair<std::string, std::string>>;

// For labels that are not HTML-like, in which a backslash says more than itself.
std::string EscapeLabel(const std::string& text);

// Names are the caller's and unique; they do not show. Equal calls give equal pictures.
class Graph {
 public:
  explicit Graph(const DrawingAttributes& attributes);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // A frame around nodes.
  void AddCluster(const std::string& name, const DrawingAttributes& attributes);
  // A node inside a cluster that has been added, or in none if `cluster` is empty.
  void AddNode(const std::string& name, const std::string& cluster,
               const DrawingAttributes& attributes);
  // Between nodes that have been added.
  void AddEdge(const std::string& from, const std::string& to, const DrawingAttributes& attributes);

  // The drawing, laid out if it is an SVG. Fails where Graphviz does, with its reason.
  Result<std::string> Draw(DrawingFormat format) const;

 private:
  struct Handle;
  std::unique_ptr<Handle> handle_;
};

}  // namespace reshard
