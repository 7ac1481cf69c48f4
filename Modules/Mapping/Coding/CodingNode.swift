/// A node of the tree of coding keys by which a model decodes its fields. The leaves are fields.
final class CodingNode: Sendable {
  /// The index of the field in the mapping; `nil` for a nested value with its own keys.
  let field: Int?
  let children: [String: CodingNode]

  /// - Parameter paths: The keys of each field below this node.
  init(_ paths: [(keys: ArraySlice<String>, field: Int)]) {
    field = paths.first { $0.keys.isEmpty }?.field
    let below = Dictionary(grouping: paths.filter { !$0.keys.isEmpty }) { $0.keys[$0.keys.startIndex] }
    children = below.mapValues { group in CodingNode(group.map { ($0.keys.dropFirst(), $0.field) }) }
  }
}
