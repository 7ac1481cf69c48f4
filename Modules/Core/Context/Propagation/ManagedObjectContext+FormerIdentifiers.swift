// A parent notes each replaced temporary identifier, because its children may know the identifier. A long-lived parent,
// such as the view of nested contexts, would otherwise note one for each inserted record, for ever.

extension ManagedObjectContext {
  /// Drops former identifiers above a bound, unless a child may still need them. Does nothing during a save, which posts
  /// its identifiers at its end.
  final func dropFormerIDs() {
    // A child that has applied all posted changes refers to no former identifier any more.
    guard storage.formerIDs.isAboveBound, storage.saveNumber.value != nil, !hasWaitingDescendant else { return }
    storage.withPending { storage.formerIDs.dropUnexposed() }
  }

  /// Whether a child, or a child of a child, has not applied all changes that were posted to it.
  private final var hasWaitingDescendant: Bool {
    children.contains { $0.inbox.hasUnapplied || $0.hasWaitingDescendant }
  }
}
