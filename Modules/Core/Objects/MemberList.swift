/// The members of a to-many relationship in the store, or in the parent context.
final class MemberList {
  let ids: [ManagedObjectID]
  /// The generation of the relationship at the load of the list: see ``ListGenerations``.
  let generation: Int
  /// The version of the owner's row to which the list belongs: the version at the load, raised by each save that did
  /// not change the list.
  var version: Int64?
  /// The members with the context's own changes applied. Made on demand. A further change updates this array
  /// or drops it.
  var effective: [ManagedObjectID]?
  /// The numbers that the store orders by: the stored positions of an ordered one-to-many relationship's members, in the
  /// order of ``ids``; `nil` where only the members' rows have them.
  var positions: [Int64?]?
  /// The members in their new order, and their positions that the running save writes, assigned by that save;
  /// ``positions`` gets them when its changes are published. `nil` until a save that changes the order has assigned them.
  var arranged: (ids: [ManagedObjectID], positions: [Int64?])?

  /// The value of ``PendingDeleteRules/deleteCount`` when deleted records were last looked up among the members.
  var comparedDeletes = 0

  /// The members as a set, for lookups in large lists. Made on first use.
  private lazy var set = Set(ids)

  func contains(_ id: ManagedObjectID) -> Bool { ids.count < 16 ? ids.contains(id) : set.contains(id) }

  init(ids: [ManagedObjectID], generation: Int, version: Int64?) {
    self.ids = ids
    self.version = version
    self.generation = generation
  }
}
