import CoherenceCore
import CoherenceStrategies
import TestSupport
import Testing

extension JoinedRecordTests {
  /// Runs a block in a context with an undo history.
  ///
  /// - Parameter isKnown: Whether the context has the object of the stored tag during the block.
  nonisolated private static func recordUndo(
    on stack: Stack, isKnown: Bool, _ body: (ManagedObjectContext) throws -> Void
  ) throws {
    let context = stack.joiningContext()
    try context.performAndWait {
      context.undoHistory = UndoHistory()
      let retained = isKnown ? try context.fetch(tags) : []
      defer { withExtendedLifetime(retained) {} }
      try body(context)
    }
  }

  @Test(arguments: [false, true], Backend.available)
  func `an undo after a save that joined records leaves the stored record and takes its links back`(
    isKnown: Bool, backend: Backend
  ) throws {
    let stack = try Stack(.direct, backend)
    try Self.recordUndo(on: stack, isKnown: isKnown) { context in
      let track = try Self.make("Track", "t", in: context)
      try context.save()
      let tag = try Self.make("Tag", "a", in: context)
      try tag.setValue("blue", for: "colour")
      try track.setObjects([tag], for: "tags")
      try context.save()
      #expect(try track.objects(for: "tags").map(\.objectID) == [stack.tag])
      try context.undoHistory?.undo()
      #expect(try track.objects(for: "tags").isEmpty)
      try context.save()
      #expect(try context.fetch(Self.tags).map(\.objectID) == [stack.tag])
    }
    #expect(try stack.stored("colour") == [.string("blue")])
  }

  @Test(arguments: [false, true], Backend.available)
  func `an undo after a save that joined records takes links back on both sides`(
    isKnown: Bool, backend: Backend
  ) throws {
    let stack = try Stack(.direct, backend)
    try Self.recordUndo(on: stack, isKnown: isKnown) { context in
      let tag = try Self.make("Tag", "a", in: context)
      for entity in ["Step", "Note", "Badge"] { try Self.make(entity, "m", in: context).setObject(tag, for: "tag") }
      try Self.make("Track", "t", in: context).setObjects([tag], for: "tags")
      try context.save()
      let lists = ["steps", "notes", "tracks"]
      func members() throws -> [Int] {
        let tag = try #require(try context.fetch(Self.tags).first)
        return try lists.map { try tag.objects(for: $0).count } + [try tag.object(for: "badge") == nil ? 0 : 1]
      }
      #expect(try members() == [1, 1, 1, 1])
      try context.undoHistory?.undo()
      #expect(try members() == [0, 0, 0, 0])
      try context.undoHistory?.redo()
      #expect(try members() == [1, 1, 1, 1])
      try context.undoHistory?.undo()
      try context.save()
      #expect(try members() == [0, 0, 0, 0])
      #expect(try context.fetch(Self.tags).map(\.objectID) == [stack.tag])
    }
  }

  @Test(arguments: Backend.available)
  func `an undo leaves the reference of a joined record, in the record and in the list of its owner`(
    backend: Backend
  ) throws {
    let stack = try Stack(.direct, backend)
    let context = stack.joiningContext()
    for list in ["steps", "notes"] {
      let entity = list == "steps" ? "Step" : "Note"
      try context.performAndWait {
        let owner = try Self.make("Tag", "owner of \(list)", in: context)
        _ = try Self.make(entity, "m", in: context)
        try context.save()
        context.undoHistory = UndoHistory()
        let member = try Self.make(entity, "m", in: context)
        try member.setObject(owner, for: "tag")
        try context.save()
        try context.undoHistory?.undo()
        let stored = try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: entity)).first)
        #expect(try stored.object(for: "tag") === owner)
        #expect(try owner.objects(for: list) == [stored])
      }
    }
  }

  @Test(arguments: Backend.available)
  func `an undo takes back the edit of a list whose earlier edit in the group a save has joined`(
    backend: Backend
  ) throws {
    let stack = try Stack(.direct, backend)
    let context = stack.joiningContext()
    try context.performAndWait {
      let owner = try Self.make("Tag", "owner", in: context)
      _ = try Self.make("Step", "m", in: context)
      let other = try Self.make("Step", "n", in: context)
      try context.save()
      let history = UndoHistory()
      context.undoHistory = history
      history.beginGroup()
      try owner.setObjects([try Self.make("Step", "m", in: context)], for: "steps")
      try context.save()
      try owner.setObjects(try owner.objects(for: "steps") + [other], for: "steps")
      history.endGroup()
      try history.undo()
      #expect(try owner.objects(for: "steps").map { try $0.value(for: "name", as: String.self) } == ["m"])
      #expect(try other.object(for: "tag") == nil)
    }
  }
}
