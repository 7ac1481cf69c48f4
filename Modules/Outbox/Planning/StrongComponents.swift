/// The strongly connected components of a directed graph, found by Tarjan's algorithm. The algorithm has an explicit
/// stack, because recursion over a long chain of records would overflow the stack of the thread.
struct StrongComponents<Node: Hashable> {
  /// The nodes of each component. Every node is in one component.
  private(set) var components: [[Node]] = []

  private var indices: [Node: Int] = [:]
  private var lowest: [Node: Int] = [:]
  private var path: [Node] = []
  private var onPath: Set<Node> = []

  /// A node whose successors are being visited.
  private struct Visit {
    let node: Node
    var rest: [Node]
  }

  /// - Parameter successors: Returns the targets of a node's edges. A target need not be one of the given nodes.
  init(of nodes: [Node], successors: (Node) -> Set<Node>) {
    for node in nodes where indices[node] == nil { visit(node, successors) }
  }

  private mutating func visit(_ root: Node, _ successors: (Node) -> Set<Node>) {
    var visits = [begin(root, successors)]
    while var visit = visits.popLast() {
      guard let next = visit.rest.popLast() else {
        finish(visit.node)
        if let parent = visits.last { lower(parent.node, to: lowest[visit.node]!) }
        continue
      }
      visits.append(visit)
      if indices[next] == nil {
        visits.append(begin(next, successors))
      } else if onPath.contains(next) {
        lower(visit.node, to: indices[next]!)
      }
    }
  }

  private mutating func begin(_ node: Node, _ successors: (Node) -> Set<Node>) -> Visit {
    let index = indices.count
    indices[node] = index
    lowest[node] = index
    path.append(node)
    onPath.insert(node)
    return Visit(node: node, rest: Array(successors(node)))
  }

  private mutating func lower(_ node: Node, to index: Int) { lowest[node] = min(lowest[node]!, index) }

  /// Ends the visit of a node. The first visited node of a component removes the whole component from the path.
  private mutating func finish(_ node: Node) {
    guard lowest[node] == indices[node] else { return }
    var component: [Node] = []
    while let last = path.popLast() {
      onPath.remove(last)
      component.append(last)
      if last == node { break }
    }
    components.append(component)
  }
}
