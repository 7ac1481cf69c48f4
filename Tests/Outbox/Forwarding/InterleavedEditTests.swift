import CoherenceCore
@testable import CoherenceOutbox
import CoherenceStrategies
import Synchronization
import TestSupport
import Testing

/// Edits of the user between two accesses of an outbox to the store.
@Suite("Edits between two accesses of an outbox")
struct InterleavedEditTests {
  @Test(arguments: Backend.available)
  func `a request names a record by its key that the user deletes between the claim and the reading of keys`(
    _ backend: Backend
  ) async throws {
    let stack = try NoteStack(backend)
    try stack.edit { context in
      let folder = try NoteFolder(context: context)
      (folder.id, folder.name) = ("local-F", "F")
    }
    #expect(try await stack.forwardAll() == 0)
    try stack.edit { context in
      let note = try Note(context: context)
      (note.id, note.title) = ("local-A", "A")
      note.folder = try context.fetch(FetchRequest(NoteFolder.self)).first
    }
    // The first save makes the entry, and the second one claims it.
    stack.outbox.coordinator.observer = Interruption(after: 2, .save) {
      try? stack.edit { context in
        for folder in try context.fetch(FetchRequest(NoteFolder.self)) { context.delete(folder) }
      }
    }
    #expect(try await stack.forwardAll() == 0)
    let calls = await stack.server.calls
    #expect(calls.map(\.kind) == [.insert, .insert, .delete, .delete])
    #expect(calls[1].folder == .string("s1"))
    #expect(await stack.server.records.isEmpty)
  }

  @Test(arguments: Backend.available, [1, 2])
  func `a request names a record by the key that the server knows, though the user changes the key around the claim`(
    _ backend: Backend, saves: Int
  ) async throws {
    let stack = try NoteStack(backend)
    try stack.insertFolders()
    #expect(try await stack.forwardAll() == 0)
    try stack.move(to: "G")
    // The first save makes the entry, and the second one claims it.
    stack.outbox.coordinator.observer = Interruption(after: saves, .save) {
      try? stack.edit { context in
        for folder in try context.fetch(FetchRequest(NoteFolder.self)) { folder.id = "new-\(folder.name)" }
      }
    }
    #expect(try await stack.forwardAll() == 0)
    let folders = await stack.server.records.filter { $0.value.values["name"] == .string("G") }.keys
    let calls = await stack.server.calls.dropFirst(3)
    #expect(calls.map(\.kind) == [.update, .update, .update])
    #expect(calls.first?.folder == folders.first.map { AttributeValue.string($0) })
  }

  @Test(arguments: Backend.available, [false, true])
  func `a request reads neither the log nor the entries of a named record without unsent edits`(
    _ backend: Backend, isEdited: Bool
  ) async throws {
    let stack = try NoteStack(backend)
    try stack.insertFolders()
    #expect(try await stack.forwardAll() == 0)
    try stack.move(to: "G")
    if isEdited {
      try stack.edit { context in
        for folder in try context.fetch(FetchRequest(NoteFolder.self)) { folder.name += "2" }
      }
    }
    try stack.outbox.makeEntries()
    let operations = OperationLog()
    stack.outbox.coordinator.observer = operations
    let context = stack.outbox.newContext()
    let count = try context.performAndWait {
      try context.withSnapshot {
        let found = try stack.outbox.selection(in: context, at: stack.time.date, limit: 1)
        let before = operations.count(.fetch)
        let contents = try ForwardContents(of: found.steps, foundBy: found, outbox: stack.outbox, context: context)
        let step = try #require(found.steps.first)
        let reference = contents.content(of: step).references["folder"] ?? nil
        #expect(reference?.keys.isEmpty == false)
        return operations.count(.fetch) - before
      }
    }
    #expect(count == (isEdited ? 1 : 0))
  }

  @Test(arguments: Backend.available)
  func `a list has every edit whose save has returned, though a forwarder makes entries of the log meanwhile`(
    _ backend: Backend
  ) async throws {
    let stack = try NoteStack(backend)
    let other = try stack.other()
    try stack.insertNote("A")
    for count in 1...3 {
      stack.outbox.coordinator.observer = Interruption(after: count, .fetch) { _ = try? other.outbox.makeEntries() }
      #expect(try await stack.outbox.entries().count == count)
      try stack.insertNote("\(count)")
    }
  }

  /// Seats and their guests.
  private static func seats() throws -> ManagedObjectModel {
    try ManagedObjectModel {
      Entity("Seat", userInfo: ["uniquenessAttributes": "id"]) {
        Attribute("id", .int64)
        Relationship("guest", toOne: "Guest", inverse: "seat")
      }
      Entity("Guest", userInfo: ["uniquenessAttributes": "id"]) {
        Attribute("id", .int64)
        Relationship("seat", toOne: "Seat", inverse: "guest")
      }
    }.addingOutbox()
  }

  @Test(arguments: Backend.available)
  func `an edit that gives way takes no partner from a record that has got the partner meanwhile`(
    _ backend: Backend
  ) async throws {
    let stack = try OutboxStack(on: backend, model: Self.seats(), entities: ["Seat"])
    let context = stack.container.newBackgroundContext()
    @Sendable func seat(_ guest: Int64, on seat: Int64, isRecorded: Bool = true) throws {
      try context.performAndWait {
        context.recordsChanges = isRecorded
        func object(_ name: String, _ id: Int64) throws -> ManagedObject? {
          var request = FetchRequest<ManagedObject>(entityName: name)
          request.predicate = .comparison(.path(PropertyPath("id")), .equal, .value(.int(id)))
          return try context.fetch(request).first
        }
        try object("Seat", seat)?.setObject(try object("Guest", guest), for: "guest")
        try context.save()
      }
    }
    try stack.save { context in
      context.recordsChanges = false
      for id in [1, 2] as [Int64] { try context.insertNewObject(forEntityName: "Seat").setValue(id, for: "id") }
      for id in [7, 8] as [Int64] { try context.insertNewObject(forEntityName: "Guest").setValue(id, for: "id") }
    }
    try seat(7, on: 1, isRecorded: false)
    try seat(8, on: 1)
    try stack.outbox.forward("Seat") { handlers in
      handlers.update { request in
        guard request.keys["id"] == .int(1) else { return .accepted }
        // The user gives the former guest another seat while the server decides.
        try seat(7, on: 2)
        return .conflict([:])
      }
    }
    try stack.outbox.start(ForwardOptions(conflictPolicy: .acceptServer))
    #expect(try await stack.outbox.flush() == 0)
    await stack.outbox.stop()
    let guests = try stack.save { context in
      try context.fetch(FetchRequest<ManagedObject>(entityName: "Seat").sort("id")).map { seat in
        try seat.object(for: "guest")?.value(for: "id", as: Int64.self)
      }
    }
    #expect(guests == [8, 7])
  }
}

/// Calls a block once, after a number of operations of a kind.
private final class Interruption: StackObserver {
  private let kind: StackOperation.Kind
  private let rest: Mutex<Int>
  private let block: @Sendable () -> Void

  init(after count: Int, _ kind: StackOperation.Kind, _ block: @escaping @Sendable () -> Void) {
    self.kind = kind
    rest = Mutex(count)
    self.block = block
  }

  func began(_ operation: StackOperation) -> any StackObservation {
    Observation(interruption: operation.kind == kind ? self : nil)
  }

  func scope() -> (any StackScope)? { nil }

  private func ended() {
    let isLast = rest.withLock { rest in
      rest -= 1
      return rest == 0
    }
    if isLast { block() }
  }

  private struct Observation: StackObservation {
    let interruption: Interruption?

    func ended(_ outcome: StackOutcome) { interruption?.ended() }
    func run<T>(_ body: () throws -> T) rethrows -> T { try body() }
    func run<T>(_ body: () async throws -> T) async rethrows -> T { try await body() }
  }
}
