import CoherenceCore

/// The model of nodes with leaves, all with names.
enum NodeModel {
  /// - Parameter deleteRule: The rule for the leaves of a deleted node.
  static func make(deleteRule: DeleteRule = .nullify) throws -> ManagedObjectModel {
    try ManagedObjectModel {
      Entity("Node") {
        Attribute("name", .string, default: "")
        Relationship("leaves", toMany: "Leaf", inverse: "node", deleteRule: deleteRule)
      }
      Entity("Leaf") {
        Attribute("name", .string, default: "")
        Relationship("node", toOne: "Node", inverse: "leaves")
      }
    }
  }
}
