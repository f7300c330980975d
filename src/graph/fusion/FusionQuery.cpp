// Building candidate graphs.
#include "graph/fusion/FusionQuery.h"
#include "graph/fusion/Fuse.h"
#include "graph/layout/StridedView.h"
#include <algorithm>

namespace tegula {

FusionQuery::FusionQuery(const Graph& g, const TargetModel& target)
    : g_(g), target_(target), firstUser_(g.nodes().size() + 1, 0), isResult_(g.nodes().size(), false),
      place_(g.nodes().size()), stamp_(g.nodes().size(), 0), candidate_(g.libraryPtr()) {
  int32_t n = static_cast<int32_t>(g.nodes().size());
  for (const Node& node : g.nodes())
    for (Value v : node.inputs)
      if (v.present()) ++firstUser_[v.node + 1];
  for (int32_t i = 0; i < n; ++i) firstUser_[i + 1] += firstUser_[i];
  users_.resize(firstUser_[n]);
  std::vector<int32_t> next(firstUser_.begin(), firstUser_.end() - 1);
  for (int32_t i = 0; i < n; ++i)
    for (Value v : g.node(i).inputs)
      if (v.present()) users_[next[v.node]++] = i;
  for (Value v : g.outputs()) isResult_[v.node] = true;
  for (const Graph::Assign& a : g.assigns()) isResult_[a.value.node] = true;
}

void FusionQuery::begin(std::span<const int32_t> nodes) {
  static const Symbol kOperand = "x";
  ++query_;
  ++asked_;
  nodes_ = nodes;
  candidate_ = Graph(g_.libraryPtr());
  copies_.clear();
  // Operands. One input for each node read; the results of a node with several keep their numbers.
  for (int32_t i : nodes)
    for (Value v : g_.node(i).inputs) {
      if (!v.present() || stamp_[v.node] == query_ || std::binary_search(nodes.begin(), nodes.end(), v.node)) continue;
      Node operand;
      operand.kind = Node::Kind::Input;
      operand.op = kOperand;
      operand.results = g_.node(v.node).results;
      place_[v.node] = {candidate_.append(std::move(operand)), 0};
      stamp_[v.node] = query_;
    }
  for (int32_t i : nodes) {
    Node copy = g_.node(i);
    for (Value& v : copy.inputs)
      if (v.present()) v.node = place_[v.node].node;
    place_[i] = {candidate_.append(std::move(copy)), 0};
    stamp_[i] = query_;
    copies_.push_back(place_[i].node);
  }
}

int FusionQuery::positionOf(int32_t node) const {
  auto it = std::lower_bound(nodes_.begin(), nodes_.end(), node);
  return it != nodes_.end() && *it == node ? static_cast<int>(it - nodes_.begin()) : -1;
}

std::vector<bool> FusionQuery::readElsewhere(int32_t node) const {
  std::vector<bool> read(g_.node(node).results.size(), isResult_[node]);
  for (int32_t user : usersOf(node)) {
    int position = positionOf(user);
    if (position >= 0 && home_[static_cast<size_t>(position)]) continue;
    // A copy. Of a cheap node or a view every reader has one; what is computed again has a home elsewhere.
    bool repeated = isCheap(g_.node(user)) || isView(g_.node(user));
    if (position >= 0 && repeated) {
      std::vector<bool> behind = readElsewhere(user);
      if (std::find(behind.begin(), behind.end(), true) == behind.end()) continue;
    }
    for (Value v : g_.node(user).inputs)
      if (v.node == node) read[v.result] = true;
  }
  return read;
}

void FusionQuery::addOutputs(int32_t position) {
  std::vector<bool> read = readElsewhere(nodes_[static_cast<size_t>(position)]);
  for (size_t r = 0; r < read.size(); ++r)
    if (read[r]) candidate_.outputs().push_back({copies_[static_cast<size_t>(position)], static_cast<int32_t>(r)});
}

std::string FusionQuery::ask() { return target_.whyNotFuse(candidate_, copies_); }

} // namespace tegula
