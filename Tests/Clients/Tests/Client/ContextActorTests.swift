import Coherence
import Foundation
import Testing

/// An actor that runs on the executor of a context. The actor uses the context's objects without `perform`, and may
/// keep them.
private actor Librarian {
  private let context: ManagedObjectContext
  private var latest: Note?

  nonisolated var unownedExecutor: UnownedSerialExecutor { context.asUnownedSerialExecutor() }

  init(in container: any PersistentContainer) { context = container.newBackgroundContext() }

  func write(_ text: String) throws -> ManagedObjectID {
    let note = try Note(context: context)
    note.text = text
    try context.save()
    latest = note
    return note.objectID
  }

  func rewrite(_ text: String) throws {
    latest?.text = text
    try context.save()
  }

  var texts: [String] {
    get throws { try context.fetch(FetchRequest(Note.self).sort(\.text)).map(\.text) }
  }

  /// Asks for the context's queue from inside, with and without waiting.
  func countTwice() async throws -> [Int] {
    let context = context
    let first = try context.performAndWait { try context.count(for: FetchRequest(Note.self)) }
    return [first, try await context.perform { try context.count(for: FetchRequest(Note.self)) }]
  }
}

@Suite("Contexts in client code")
struct ContextActorTests {
  private func attached() throws -> Stack {
    let stack = try Stack()
    try stack.container.attachPersistentStore()
    return stack
  }

  @Test func `an actor runs on a context and retains its objects`() async throws {
    let stack = try attached()
    defer { stack.remove() }
    let librarian = Librarian(in: stack.container)
    let id = try await librarian.write("draft")
    try await librarian.rewrite("final")
    #expect(try await librarian.texts == ["final"])
    #expect(try await librarian.countTwice() == [1, 1])
    let view = stack.container.viewContext
    let text = try await view.perform { (try view.existingObject(with: id) as? Note)?.text }
    #expect(text == "final")
  }

  @Test func `concurrent callers of an actor take turns`() async throws {
    let stack = try attached()
    defer { stack.remove() }
    let librarian = Librarian(in: stack.container)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 10..<30 { group.addTask { _ = try await librarian.write("\(number)") } }
      try await group.waitForAll()
    }
    #expect(try await librarian.texts == (10..<30).map(String.init))
  }

  @Test func `a sequence of saves delivers each save and ends with the context`() async throws {
    let stack = try attached()
    defer { stack.remove() }
    var context: BackgroundContext? = stack.container.newBackgroundContext()
    let saves = try #require(context?.didSaveChanges)
    let follower = Task {
      var counts: [Int] = []
      for await changes in saves { counts.append(changes.insertedIDs.count) }
      return counts
    }
    for count in 1...3 {
      try await context?.perform { [context] in
        guard let context else { return }
        for number in 0..<count { try Note(context: context).text = "\(number)" }
        try context.save()
      }
    }
    context = nil
    #expect(await follower.value == [1, 2, 3])
  }

  @Test func `a context merges the saves of another context`() async throws {
    let stack = try StackOf<ContextStrategy.DirectIndependent>()
    defer { stack.remove() }
    try stack.container.attachPersistentStore()
    let (writer, reader) = (stack.container.newBackgroundContext(), stack.container.newBackgroundContext())
    let saves = writer.didSaveChanges
    let id = try await writer.perform {
      let note = try Note(context: writer)
      note.text = "draft"
      try writer.save()
      return note.objectID
    }
    let draft = try await reader.perform { (try reader.existingObject(with: id) as? Note)?.text }
    #expect(draft == "draft")
    try await writer.perform {
      (writer.object(with: id) as? Note)?.text = "final"
      try writer.save()
    }
    var iterator = saves.makeAsyncIterator()
    for _ in 1...2 { reader.mergeChanges(fromContextDidSave: try #require(await iterator.next())) }
    try await reader.perform { #expect((reader.object(with: id) as? Note)?.text == "final") }
  }

  @Test func `a context merges the changes that a notification contains`() async throws {
    let stack = try StackOf<ContextStrategy.DirectIndependent>()
    defer { stack.remove() }
    try stack.container.attachPersistentStore()
    let (writer, reader) = (stack.container.newBackgroundContext(), stack.container.newBackgroundContext())
    let changes = reader.objectsDidChange
    let observer = NotificationCenter.default.addObserver(
      forName: .managedObjectContextDidSave, object: writer, queue: nil
    ) { reader.mergeChanges(fromContextDidSave: $0) }
    defer { NotificationCenter.default.removeObserver(observer) }
    let id = try await writer.perform {
      let note = try Note(context: writer)
      note.text = "told"
      try writer.save()
      return note.objectID
    }
    var iterator = changes.makeAsyncIterator()
    #expect(await iterator.next()?.inserted == [id])
  }
}
