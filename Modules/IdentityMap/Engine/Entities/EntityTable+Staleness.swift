/// The age of entities, after which they should be fetched again.
extension EntityTable {
  /// The time since the last write of an entity; `nil` if the time of writes was not recorded.
  func age(of node: EntityNode<T>) -> Duration? {
    node.relations?.writtenAt.map { core.now() - $0 }
  }

  /// Whether an entity was invalidated, or has reached an age.
  /// - Parameter time: The limit of the age; by default that of the policy.
  func isStale(_ node: EntityNode<T>, after time: Duration?) -> Bool {
    if node.flags.contains(.invalidated) { return true }
    guard let time = time ?? policy.staleAfter, let age = age(of: node) else { return false }
    return age >= time
  }
}
