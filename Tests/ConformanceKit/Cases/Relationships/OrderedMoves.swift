import CoherenceCore
import Synchronization

/// A save of a moved member writes the moved member, however long the list is.
extension ConformanceSubject {
  static let orderedMoves = ConformanceSubject("Ordered moves") {
    moves("an ordered one-to-many relationship", .tracks)
    moves("an ordered many-to-many relationship", .band)
    moves("an ordered relationship without inverse", .playlist)
    contexts("an ordered one-to-many relationship", .tracks)
    contexts("an ordered many-to-many relationship", .band)
  }

  private static func moves(_ what: String, _ list: OrderedList) -> [Case] {
    func moving(
      _ sentence: String, writes count: Int,
      _ change: @escaping @Sendable (OrderedToMany<ManagedObject>, ManagedObjectContext, inout [String]) throws -> Void
    ) -> Case {
      Case("\(what) \(sentence)") { stack in
        let written = try WrittenPositions(stack)
        var names = (0..<60).map { "\($0)" }
        try list.fill(stack, names)
        // The second change starts from the positions that the first one left.
        for round in 0..<2 {
          written.reset()
          try stack.write { try change(try list.list($0), $0, &names) }
          try expectEqual(written.count, count, "members written in round \(round)")
        }
        try expectEqual(try list.stored(stack), names)
      }
    }
    // A member of a one-to-many relationship has its position in its own new row.
    let links = list.relationship == OrderedList.tracks.relationship ? 0 : 1
    let insertions = list.relationship == OrderedList.tracks.relationship ? 500 : 200
    return [
      moving("writes one member when the last member moves to the front", writes: 1) { members, _, names in
        members.move(from: 59, to: 0)
        names.insert(names.removeLast(), at: 0)
      },
      moving("writes one member when the first member moves to the end", writes: 1) { members, _, names in
        members.move(from: 0, to: 59)
        names.append(names.removeFirst())
      },
      moving("writes one member when a member moves into the middle", writes: 1) { members, _, names in
        members.move(from: 50, to: 20)
        names.insert(names.remove(at: 50), at: 20)
      },
      moving("writes two members when two members change places", writes: 2) { members, _, names in
        members.move(from: 10, to: 40)
        members.move(from: 39, to: 10)
        names.swapAt(10, 40)
      },
      moving("writes all members but one when it is reversed", writes: 59) { members, _, names in
        members.replace(with: members.reversed())
        names.reverse()
      },
      moving("writes no member when a member moves away and back", writes: 0) { members, _, _ in
        members.move(from: 10, to: 40)
        members.move(from: 40, to: 10)
      },
      moving("writes no other member when a new member is inserted at the front", writes: links) {
        members, context, names in
        let name = "new \(names.count)"
        members.insert(try context.make(list.member, [list.memberName: name]), at: 0)
        names.insert(name, at: 0)
      },
      Case("\(what) writes few members when \(insertions) members are inserted at one index") { stack in
        let written = try WrittenPositions(stack)
        var names = (0..<20).map { "\($0)" }
        try list.fill(stack, names)
        written.reset()
        try stack.write { context in
          let members = try list.list(context)
          for number in 0..<insertions {
            let name = "new \(number)"
            members.insert(try context.make(list.member, [list.memberName: name]), at: 10)
            names.insert(name, at: 10)
            try context.save()
          }
        }
        try expect(written.count < 12 * insertions, "\(written.count) members written")
        try expectEqual(try list.stored(stack), names)
      },
    ]
  }

  /// Moves the last of four members to the first place in a child context, which saves into its parent, and saves the
  /// parent.
  ///
  /// - Parameter change: Runs in the parent before its save.
  private static func childMove(
    of list: OrderedList, in stack: ConformanceStack, _ change: (ManagedObjectContext) throws -> Void
  ) throws -> WrittenPositions {
    let written = try WrittenPositions(stack)
    try list.fill(stack, ["a", "b", "c", "d"])
    written.reset()
    try stack.write { context in
      let child = ManagedObjectContext(parent: context)
      try child.performAndWait {
        try list.list(child).move(from: 3, to: 0)
        try child.save()
      }
      try change(context)
    }
    return written
  }

  private static func contexts(_ what: String, _ list: OrderedList) -> [Case] {
    [
      Case("\(what) writes one member for a move that a child context saves into its parent") { stack in
        let written = try childMove(of: list, in: stack) { context in
          try expectEqual(try context.one(list.owner).labels(of: list.relationship), ["d", "a", "b", "c"])
        }
        try expectEqual(written.count, 1)
        try expectEqual(try list.stored(stack), ["d", "a", "b", "c"])
      },
      Case("\(what) writes no member for a move that the parent of the moving child reverts") { stack in
        let written = try childMove(of: list, in: stack) { try list.list($0).move(from: 0, to: 3) }
        try expectEqual(written.count, 0)
        try expectEqual(try list.stored(stack), ["a", "b", "c", "d"])
      },
      Case("\(what) is saved in the order of the second writer after a conflict of two moves") { stack in
        try list.race(
          stack, .objectTrumps, first: { members, _ in members.move(from: 3, to: 0) },
          second: { members, _ in members.move(from: 1, to: 2) })
        try expectEqual(try list.stored(stack), ["a", "c", "b", "d"])
        try expectEqual(try stack.read { try $0.one(list.owner).version }, 3)
      },
      Case("\(what) has the order of the first writer after a conflict that the store wins, and takes moves again") {
        stack in
        try list.race(
          stack, .storeTrumps, first: { members, _ in members.move(from: 3, to: 0) },
          second: { members, _ in members.move(from: 1, to: 2) })
        try expectEqual(try list.stored(stack), ["d", "a", "b", "c"])
        try stack.write { try list.list($0).move(from: 0, to: 2) }
        try expectEqual(try list.stored(stack), ["a", "b", "d", "c"])
      },
      Case("\(what) keeps its order over moves and other changes of members that are not loaded") { stack in
        try list.fill(stack, ["a", "b", "c", "d"])
        try stack.write { context in
          let members = try list.list(context)
          for _ in 0..<3 {
            members.move(from: 3, to: 1)
            try context.save()
          }
          try members[2].setValue("x", for: list.memberName)
          members.move(from: 0, to: 3)
          try context.save()
          members.remove(at: 0)
          try list.add("e", to: members, in: context)
          try context.save()
          members.move(from: 3, to: 0)
        }
        try expectEqual(try list.stored(stack), ["e", "x", "d", "a"])
      },
      Case("\(what) returns to the former order by an undo after the save of a move") { stack in
        let written = try WrittenPositions(stack)
        try list.fill(stack, ["a", "b", "c", "d"])
        let context = stack.context()
        try context.performAndWait {
          let history = UndoHistory()
          context.undoHistory = history
          try list.list(context).move(from: 3, to: 0)
          try context.save()
          written.reset()
          try history.undo()
          try context.save()
        }
        try expectEqual(written.count, 1)
        try expectEqual(try list.stored(stack), ["a", "b", "c", "d"])
      },
    ]
  }
}

/// Counts the positions of stored members that saves write: in the members' rows or in links.
private final class WrittenPositions: Sendable {
  private let number = Mutex(0)

  init(_ stack: ConformanceStack) throws {
    let interposition = try stack.interpose()
    interposition.beforeSave { [self] request in
      for step in request.steps {
        switch step {
        case .update(let entity, let slots, let updates):
          let isPosition = slots.contains { if case .position = entity.slots[$0] { true } else { false } }
          if isPosition { number.withLock { $0 += updates.count } }
        case .link(_, let links): number.withLock { $0 += links.count }
        default: break
        }
      }
    }
  }

  var count: Int { number.withLock { $0 } }
  func reset() { number.withLock { $0 = 0 } }
}
