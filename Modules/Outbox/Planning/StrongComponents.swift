/// The strongly connected components of a directed graph, found by Tarjan's algorithm. The algorithm has an explicit
/// list of visits, because recursion over a long chain of records would overflow the stack of the thread.
struct StrongComponents<Node: Hashable> {
  /// The nodes of each component. Every node is in one component.
  private(set) var components: [[Node]] = []

  /// The order in which the nodes were visited.
  private var indices: [Node: Int] = [:]
  /// The lowest index of a node on the stack that a node is known to reach; the low-link of the algorithm.
  private var lowest: [Node: Int] = [:]
  /// The visited nodes whose components are not complete yet, and the same nodes as a set.
  private var stack: [Node] = []
  private var stacked: Set<Node> = []

  /// A node whose successors are being visited.
  private struct Visit {
    let node: Node
    var unvisited: [Node]
  }

  /// - Parameter successors: Returns the targets of a node's edges. A target need not be one of the given nodes.
  init(of nodes: [Node], successors: (Node) -> Set<Node>) {
    for node in nodes where indices[node] == nil { visit(node, successors) }
  }

  private mutating func visit(_ root: Node, _ successors: (Node) -> Set<Node>) {
    var visits = [begin(root, successors)]
    while var visit = visits.popLast() {
      guard let next = visit.unvisited.popLast() else {
        finish(visit.node)
        if let parent = visits.last { lower(parent.node, to: lowest[visit.node]!) }
        continue
      }
      visits.append(visit)
      if indices[next] == nil {
        visits.append(begin(next, successors))
      } else if stacked.contains(next) {
        lower(visit.node, to: indices[next]!)
      }
    }
  }

  private mutating func begin(_ node: Node, _ successors: (Node) -> Set<Node>) -> Visit {
    let index = indices.count
    indices[node] = index
    lowest[node] = index
    stack.append(node)
    stacked.insert(node)
    return Visit(node: node, unvisited: Array(successors(node)))
  }

  private mutating func lower(_ node: Node, to index: Int) { lowest[node] = min(lowest[node]!, index) }

  /// Ends the visit of a node. The first visited node of a component removes the whole component from
  /// the stack.
  private mutating func finish(_ node: Node) {
    guard lowest[node] == indices[node] else { return }
    var component: [Node] = []
    while let last = stack.popLast() {
      stacked.remove(last)
      component.append(last)
      if last == node { break }
    }
    components.append(component)
  }
}
