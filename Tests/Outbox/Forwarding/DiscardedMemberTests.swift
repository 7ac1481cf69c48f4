import CoherenceActions
import CoherenceCore
import CoherenceOutbox
import TestSupport
import Testing

/// Changes of to-many relationships in edits that the server refuses as conflicts.
@Suite("Members of edits that give way to the server")
struct DiscardedMemberTests {
  /// A stack whose task 1 has the labels "home" and "old" on the server.
  private func stack(_ backend: Backend) throws -> AgreementStack {
    let stack = try AgreementStack(backend, titles: [1: "a"])
    try stack.merge(["home", "old", "new", "late"].map { MergeRecord(["name": $0]) }, into: "Label")
    try stack.merge([MergeRecord(["id": 1, "title": "a"], links: ["labels": .many(["home", "old"])])])
    return stack
  }

  /// Sends edits to a server that reports a conflict over the first one without the values of its properties.
  private func register(_ stack: AgreementStack, during edit: @escaping @Sendable () throws -> Void = {}) throws {
    try stack.outbox.forward("Task") { handlers in
      handlers.update { request in
        guard request.changedProperties.contains("title") else { return .accepted }
        try edit()
        return .conflict(["version": Int64(2)])
      }
    }
  }

  private static func setLabels(_ names: Set<String>, _ context: ManagedObjectContext) throws {
    let labels = try context.fetch(FetchRequest<ManagedObject>(entityName: "Label"))
      .filter { names.contains(try $0.value(for: "name", as: String.self)) }
    try AgreementStack.task(1, context)?.setObjects(labels, for: "labels")
  }

  private func labels(_ stack: AgreementStack) throws -> Set<String> {
    try stack.edit { context in
      let labels = try AgreementStack.task(1, context)?.objects(for: "labels") ?? []
      return Set(try labels.map { try $0.value(for: "name", as: String.self) })
    }
  }

  @Test(arguments: Backend.available)
  func `the members that an update without the server's values has changed are taken back when the update gives way`(
    backend: Backend
  ) async throws {
    for resolves in [false, true] {
      let stack = try stack(backend)
      try register(stack)
      try stack.edit { context in
        try AgreementStack.task(1, context)?.setValue("b", for: "title")
        try Self.setLabels(["home", "new"], context)
      }
      try stack.outbox.start(ForwardOptions(conflictPolicy: resolves ? .park : .acceptServer))
      #expect(try await stack.outbox.flush() == (resolves ? 1 : 0))
      await stack.outbox.stop()
      if resolves {
        #expect(try labels(stack) == ["home", "new"])
        let conflict = try #require(try await stack.outbox.conflicts().first)
        try await stack.outbox.resolve(conflict.id, keeping: .server)
      }
      #expect(try labels(stack) == ["home", "old"])
      #expect(try stack.titles() == [1: "a"])
      #expect(try await stack.outbox.counts().total == 0)
    }
  }

  @Test(arguments: Backend.available)
  func `the members that a later edit has changed stay when an update gives way`(backend: Backend) async throws {
    let stack = try stack(backend)
    let connect = stack.connect
    try register(stack) {
      // The user changes labels during the request.
      let context = connect.newBackgroundContext()
      try context.performAndWait {
        try Self.setLabels(["home", "late"], context)
        try context.save()
      }
    }
    try stack.edit { context in
      try AgreementStack.task(1, context)?.setValue("b", for: "title")
      try Self.setLabels(["home", "new"], context)
    }
    try stack.outbox.start(ForwardOptions(conflictPolicy: .acceptServer))
    #expect(try await stack.outbox.flush() == 0)
    await stack.outbox.stop()
    // The first edit has removed "old" and added "new". The later edit has removed "new", and added "late".
    #expect(try labels(stack) == ["home", "old", "late"])
    #expect(try stack.titles() == [1: "a"])
  }
}
