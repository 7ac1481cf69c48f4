import CoherenceCore

/// An ordered relationship of the music model, with the names of the owner and of the members.
struct OrderedList: Sendable {
  static let tracks = OrderedList("Album", "title", "tracks", "Track", "title")
  static let band = OrderedList("Band", "name", "members", "Artist", "name")
  /// A relationship without an inverse.
  static let playlist = OrderedList("Playlist", "name", "entries", "Track", "title")

  let owner: String, ownerName: String, relationship: String, member: String, memberName: String

  private init(
    _ owner: String, _ ownerName: String, _ relationship: String, _ member: String, _ memberName: String
  ) {
    self.owner = owner
    self.ownerName = ownerName
    self.relationship = relationship
    self.member = member
    self.memberName = memberName
  }

  /// Inserts an owner with members of the given names.
  func fill(_ context: ManagedObjectContext, _ names: [String]) throws {
    let members = try names.map { try context.make(member, [memberName: $0]) }
    try context.make(owner, [ownerName: "owner"]).setObjects(members, for: relationship)
  }

  func fill(_ stack: ConformanceStack, _ names: [String]) throws {
    try stack.write { try fill($0, names) }
  }

  /// Returns the list of the only owner, without loading its members.
  func list(_ context: ManagedObjectContext) throws -> OrderedToMany<ManagedObject> {
    try context.one(owner)[OrderedToManyKey<ManagedObject>(relationship)]
  }

  func add(_ name: String, to list: OrderedToMany<ManagedObject>, in context: ManagedObjectContext) throws {
    list.append(try context.make(member, [memberName: name]))
  }

  /// The names of the members in the reopened store.
  func stored(_ stack: ConformanceStack) throws -> [String] {
    try stack.reopen()
    return try stack.read { try $0.one(owner).labels(of: relationship) }
  }

  /// Changes the list a, b, c, d in two contexts that start from the same state. The second context, with the policy, saves
  /// after the first.
  func race(
    _ stack: ConformanceStack, _ policy: MergePolicy = .error,
    first: (OrderedToMany<ManagedObject>, ManagedObjectContext) throws -> Void,
    second: (OrderedToMany<ManagedObject>, ManagedObjectContext) throws -> Void
  ) throws {
    try fill(stack, ["a", "b", "c", "d"])
    let late = stack.context(policy)
    let owner = try late.performAndWait {
      let owner = try late.one(self.owner)
      try owner.load()
      try expectEqual(owner[OrderedToManyKey<ManagedObject>(relationship)].objectIDs.count, 4)
      return owner
    }
    try stack.write { try first(try list($0), $0) }
    // Another lease: members read from here on have the state after the first save.
    try late.performAndWait {
      try second(owner[OrderedToManyKey<ManagedObject>(relationship)], late)
      try late.save()
      try expect(!late.hasChanges, "nothing left to save")
    }
  }
}

func moveLastToFront(_ list: OrderedToMany<ManagedObject>, _ context: ManagedObjectContext) {
  list.move(from: 3, to: 0)
}

func moveFirstToEnd(_ list: OrderedToMany<ManagedObject>, _ context: ManagedObjectContext) {
  list.move(from: 0, to: 3)
}
