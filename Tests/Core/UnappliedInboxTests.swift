@testable import CoherenceCore
import Synchronization
import Testing

/// Reads of a child while its parent applies the saves in its inbox.
@Suite("Unapplied saves of a parent", .serialized)
struct UnappliedInboxTests {
  /// A note with a block that runs when the parent has removed the saves from its inbox, and has not applied them yet.
  private final class Note: ManagedObject {
    static let block = Mutex<(@Sendable () -> Void)?>(nil)

    override func willTurnIntoFault() {
      let block = Self.block.withLock { block in
        defer { block = nil }
        return block
      }
      block?()
    }
  }

  private static func model() throws -> ManagedObjectModel {
    try ManagedObjectModel {
      Entity("Note", class: Note.self) {
        Attribute("title", .string)
        Attribute("rank", .int64)
      }
    }
  }

  private let coordinator: PersistentStoreCoordinator
  private let parent: ManagedObjectContext
  private let child: ManagedObjectContext

  init() throws {
    coordinator = try PersistentStoreCoordinator(inMemory: Self.model())
    parent = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
    child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
    child.savesPastParent = true
  }

  /// Saves a rank of the first note past the parent.
  private static func save(rank: Int, in child: ManagedObjectContext) throws {
    try child.performAndWait {
      let note = try #require(try child.fetch(FetchRequest(Note.self).sort("rank")).last)
      try note.setValue(rank, for: "rank")
      try child.save()
    }
  }

  @Test func `a child saves on top of a save that its parent is applying below an unsaved edit`() throws {
    let notes = try parent.performAndWait {
      for rank in [1, 2] {
        let note = try parent.insertNewObject(forEntityName: "Note")
        try note.setValue("A", for: "title")
        try note.setValue(rank, for: "rank")
      }
      try parent.save()
      let notes = try parent.fetch(FetchRequest(Note.self).sort("rank"))
      try notes[1].setValue("B", for: "title")
      return notes
    }
    let failure = Mutex<(any Error)?>(nil)
    let saved = Mutex(0)
    Note.block.withLock {
      $0 = { [child] in
        do {
          try Self.save(rank: 4, in: child)
          saved.withLock { $0 += 1 }
        } catch {
          failure.withLock { $0 = error }
        }
      }
    }
    try parent.performAndWait {
      try Self.save(rank: 3, in: child)
      var refreshed = ChangeSet()
      refreshed.refreshed = [notes[0].objectID]
      parent.mergeChanges(fromContextDidSave: refreshed)
    }
    parent.performAndWait {}
    #expect(failure.withLock { $0 } == nil)
    #expect(saved.withLock { $0 } == 1)
    try parent.performAndWait {
      let rank = try notes[1].value(for: "rank", as: Int.self)
      let title = try notes[1].value(for: "title", as: String.self)
      #expect(rank == 4 && title == "B")
    }
  }

  @Test func `a child reads the newer row of a record while its parent's reset drops an unsaved edit of it`() throws {
    let reader = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
    let ranks = Mutex<[Int]>([])
    try parent.performAndWait {
      let note = try parent.insertNewObject(forEntityName: "Note")
      try note.setValue("A", for: "title")
      try note.setValue(1, for: "rank")
      try parent.save()
      try note.setValue("B", for: "title")
      try Self.save(rank: 3, in: child)
      Note.block.withLock {
        $0 = {
          reader.performAndWait {
            let notes = (try? reader.fetch(FetchRequest<Note>())) ?? []
            let found = notes.compactMap { try? $0.value(for: "rank", as: Int.self) }
            ranks.withLock { $0 = found }
          }
        }
      }
      parent.reset()
    }
    #expect(ranks.withLock { $0 } == [3])
  }
}
