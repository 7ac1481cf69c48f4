/// The keys by which a model decodes its fields: a tree, whose leaves are fields.
final class CodingNode: Sendable {
  /// The place of the field among the mapping's; `nil` for a value that has keys of its own.
  let field: Int?
  let children: [String: CodingNode]

  /// - Parameter paths: The keys of each field from this node on.
  init(_ paths: [(keys: ArraySlice<String>, field: Int)]) {
    field = paths.first { $0.keys.isEmpty }?.field
    let below = Dictionary(grouping: paths.filter { !$0.keys.isEmpty }) { $0.keys[$0.keys.startIndex] }
    children = below.mapValues { group in CodingNode(group.map { ($0.keys.dropFirst(), $0.field) }) }
  }
}
