import CoherenceCore

/// An ordered list has the order given to it, after all sorts of changes, in one save or in many.
extension ConformanceSubject {
  static let listMixtures = ConformanceSubject("List mixtures") {
    mixtures("an ordered one-to-many relationship", owner: "Album", "title", "tracks", member: "Track", "title")
    mixtures("an ordered many-to-many relationship", owner: "Band", "name", "members", member: "Artist", "name")
    mixtures("an ordered relationship without inverse", owner: "Playlist", "name", "entries", member: "Track", "title")
    owners
  }

  @CasesBuilder private static var owners: [Case] {
    Case("a member moved from another owner has its position in the new list, also after a conflict") { stack in
      try stack.write { context in
        for title in ["A", "B"] { try context.make("Album", ["title": title]) }
      }
      // Many changes of one list raise its positions above those of the other list.
      for number in 0..<6 {
        try stack.write { context in
          let track = try context.make("Track", ["title": "a\(number)"])
          try track.setObject(try context.one("Album", where: equal("title", "A")), for: "album")
        }
      }
      for policy in [MergePolicy.objectTrumps, .storeTrumps, .overwrite] {
        let late = stack.context(policy)
        try late.performAndWait {
          let album = try late.one("Album", where: equal("title", "B"))
          let track = try unwrap(try late.all("Track").last)
          let title = try track.label
          try track.setObject(album, for: "album")
          try stack.write { context in
            let other = try context.make("Track", ["title": "before \(title)"])
            try other.setObject(try context.one("Album", where: equal("title", "B")), for: "album")
          }
          try late.save()
        }
        try stack.write { context in
          let next = try context.make("Track", ["title": "next"])
          try next.setObject(try context.one("Album", where: equal("title", "B")), for: "album")
        }
        try stack.reopen()
        try stack.read { context in
          try expectEqual(try context.one("Album", where: equal("title", "B")).labels(of: "tracks").last, "next")
        }
      }
    }
  }

  private static func mixtures(
    _ what: String, owner: String, _ ownerName: String, _ relationship: String, member: String, _ memberName: String
  ) -> [ConformanceCase] {
    [
      Case("appends, moves and removals of \(what) are stored in their order") { stack in
        for seed in 1...3 as ClosedRange<UInt64> {
          try stack.write { _ = try $0.make(owner, [ownerName: "\(seed)"]) }
          var mixture = ListMixture(
            seed: seed, owner: equal(ownerName, "\(seed)"), entity: owner, relationship: relationship, member: member,
            memberName: memberName)
          for step in 0..<14 {
            try stack.write { try mixture.changeSomeTimes($0, throughChild: step % 3 == 2) }
            if step % 5 == 4 { try stack.reopen() }
            let stored = try stack.read { try mixture.list(in: $0).map { try $0.label } }
            try expectEqual(stored, mixture.names, "seed \(seed), step \(step), \(mixture.log)")
          }
        }
      }
    ]
  }
}

/// A list and its twin, which is a plain array of the members' names.
private struct ListMixture {
  private let seed: UInt64
  private var random: SplitMix64
  private let owner: FetchPredicate
  private let entity: String
  private let relationship: String
  private let member: String
  private let memberName: String
  private(set) var names: [String] = []
  private var removed: [String] = []
  private var count = 0
  /// The names after each change of the last ``changeSomeTimes(_:throughChild:)``.
  private(set) var log: [String] = []

  init(
    seed: UInt64, owner: FetchPredicate, entity: String, relationship: String, member: String, memberName: String
  ) {
    self.seed = seed
    random = SplitMix64(seed: seed)
    self.owner = owner
    self.entity = entity
    self.relationship = relationship
    self.member = member
    self.memberName = memberName
  }

  func list(in context: ManagedObjectContext) throws -> OrderedToMany<ManagedObject> {
    try context.one(entity, where: owner)[OrderedToManyKey<ManagedObject>(relationship)]
  }

  /// Changes the list some times, also in a child context that saves into the context. The caller saves the context.
  mutating func changeSomeTimes(_ context: ManagedObjectContext, throughChild: Bool) throws {
    log = []
    for _ in 0..<number(below: 4) { try change(context) }
    guard throughChild else { return }
    let child = ManagedObjectContext(parent: context)
    try child.performAndWait {
      for _ in 0..<1 + number(below: 3) { try change(child) }
      try child.save()
    }
    for _ in 0..<number(below: 3) { try change(context) }
  }

  private mutating func change(_ context: ManagedObjectContext) throws {
    let list = try list(in: context)
    defer { log.append("\(context.parent == nil ? "" : "child ")\(names)") }
    let place = names.isEmpty ? 0 : number(below: names.count)
    switch number(below: names.count < 6 ? 3 : 9) {
    case 0...2:
      let fresh = "\(seed)-\(count)"
      count += 1
      list.append(try context.make(member, [memberName: fresh]))
      names.append(fresh)
    case 3:
      let fresh = "\(seed)-\(count)"
      count += 1
      list.insert(try context.make(member, [memberName: fresh]), at: place)
      names.insert(fresh, at: place)
    case 4:
      list.remove(at: place)
      removed.append(names.remove(at: place))
    case 5:
      // Out and in again, which makes it the last.
      let object = list[place]
      list.remove(object)
      list.append(object)
      names.append(names.remove(at: place))
    case 6:
      guard let former = removed.popLast() else { return }
      list.append(try context.one(member, where: equal(memberName, former)))
      names.append(former)
    case 7:
      context.delete(list[place])
      try context.processPendingChanges()
      names.remove(at: place)
    default:
      let target = number(below: names.count)
      list.move(from: place, to: target)
      names.insert(names.remove(at: place), at: target)
    }
  }

  private mutating func number(below bound: Int) -> Int { random.number(0...bound - 1) }
}
