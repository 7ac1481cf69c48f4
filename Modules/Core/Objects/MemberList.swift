/// The members of a to-many relationship as the store, or the parent context, has them.
final class MemberList {
  let ids: [ManagedObjectID]
  /// The generation of the relationship at which the list was loaded: see ``ContextStorage/generations``.
  let generation: Int
  /// The members with the context's own changes; made on demand, dropped when something changes.
  var effective: [ManagedObjectID]?

  init(ids: [ManagedObjectID], generation: Int) {
    self.ids = ids
    self.generation = generation
  }
}
