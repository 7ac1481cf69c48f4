import CoherenceActions
import CoherenceCore
import CoherenceOutbox
import Synchronization
import TestSupport
import Testing

@Suite("Values that the server assigns")
struct ServerAssignedTests {
  private static func page(_ title: String, version: Int64) -> [MergeRecord] {
    [MergeRecord(["id": 1, "title": title, "version": version])]
  }

  /// A stack whose server has the task 1 with the title "old" in the version 3.
  private func stack(_ backend: Backend) throws -> AgreementStack {
    let stack = try AgreementStack(backend)
    try stack.merge(Self.page("old", version: 3))
    return stack
  }

  private func version(_ stack: AgreementStack, of id: Int64 = 1) throws -> Int64? {
    try stack.edit { try AgreementStack.task(id, $0)?.value(for: "version", as: Int64.self) }
  }

  private func setVersion(_ version: Int64, _ stack: AgreementStack) throws {
    try stack.edit { try AgreementStack.task(1, $0)?.setValue(version, for: "version") }
  }

  // MARK: Recording

  @Test(arguments: Backend.available)
  func `an insert and an update are recorded without them, and a delete with the last ones`(
    backend: Backend
  ) async throws {
    let stack = try stack(backend)
    try stack.insert(2, "new")
    try stack.edit { context in
      let task = try AgreementStack.task(1, context)
      try task?.setValue("edited", for: "title")
      try task?.setValue(Int64(9), for: "version")
    }
    try stack.delete(1)
    let entries = try await stack.outbox.entries()
    #expect(entries.map(\.kind) == [.insert, .update, .delete])
    #expect(entries[0]["title"] != nil && entries[0]["version"] == nil)
    #expect(entries[1].changes.map(\.name) == ["title"])
    #expect(entries[2]["version"]?.base == .value(.int(9)))
  }

  @Test(arguments: Backend.available)
  func `a save that changes nothing else adds no entry`(backend: Backend) async throws {
    let stack = try stack(backend)
    try setVersion(9, stack)
    #expect(try await stack.entries() == [])
    #expect(try version(stack) == 9)
  }

  // MARK: Merges

  @Test(arguments: Backend.available)
  func `a merge writes them to a record with an edit, which is in no conflict`(backend: Backend) async throws {
    for policy in [MergeOptions.PendingEditsPolicy.keepLocal, .server, .conflict] {
      let stack = try stack(backend)
      try stack.set("edited", of: 1)
      let result = try stack.merge(Self.page("old", version: 4), policy)
      #expect(result.pendingConflicts == 0)
      #expect(try version(stack) == 4)
      #expect(try stack.titles() == [1: "edited"])
      #expect(try await stack.entries() == [.update("old", to: "edited")])
    }
  }

  @Test(arguments: Backend.available)
  func `a conflict over another property does not name them`(backend: Backend) async throws {
    let stack = try stack(backend)
    try stack.set("edited", of: 1)
    try stack.merge(Self.page("new", version: 4), .conflict)
    #expect(try await stack.outbox.conflicts().first?.properties.map(\.name) == ["title"])
    #expect(try version(stack) == 4)
  }

  @Test(arguments: Backend.available)
  func `a record that both sides inserted with equal values is in no conflict`(backend: Backend) async throws {
    let stack = try AgreementStack(backend)
    try stack.insert(1, "same")
    try stack.merge(Self.page("same", version: 1), .conflict)
    #expect(try await stack.outbox.conflictCount() == 0)
    #expect(try await stack.entries() == [])
    #expect(try version(stack) == 1)
  }

  @Test(arguments: Backend.available)
  func `a deleted record of which the server has only raised the version is in no conflict`(
    backend: Backend
  ) async throws {
    let stack = try stack(backend)
    try stack.delete(1)
    let result = try stack.merge(Self.page("old", version: 8), .conflict)
    #expect(result.pendingConflicts == 0 && result.keptEdits == 1)
    try stack.merge(Self.page("new", version: 9), .conflict)
    #expect(try await stack.outbox.conflicts().first?.properties.map(\.name) == ["title"])
  }

  @Test(arguments: Backend.available)
  func `a deleted record that the user restores has the server's values`(backend: Backend) async throws {
    let stack = try stack(backend)
    try stack.delete(1)
    try stack.merge(Self.page("new", version: 9), .conflict)
    let conflict = try #require(try await stack.outbox.conflicts().first)
    try await stack.outbox.resolve(conflict.id, keeping: .values(["title": "mine", "version": 1]))
    #expect(try stack.titles() == [1: "mine"])
    let entries = try await stack.outbox.entries()
    #expect(entries.map { $0.changes.map(\.name) } == [["title"]])
  }

  @Test(arguments: Backend.available)
  func `a new record with the key of a deleted one gets the server's values`(backend: Backend) async throws {
    let stack = try stack(backend)
    try stack.delete(1)
    try stack.merge(Self.page("theirs", version: 9), .conflict)
    try stack.insert(1, "mine")
    let conflict = try #require(try await stack.outbox.conflicts().first)
    try await stack.outbox.resolve(conflict.id, keeping: .server)
    #expect(try stack.titles() == [1: "mine"])
    #expect(try version(stack) == 9)
    #expect(try await stack.entries() == [.update("theirs", to: "mine")])
  }

  // MARK: Requests

  @Test(arguments: Backend.available)
  func `a request has the present values, and a request for a deletion the last ones`(backend: Backend) async throws {
    let stack = try stack(backend)
    let received = Mutex<[[String: AttributeValue]]>([])
    try stack.outbox.forward("Task") { handlers in
      handlers.insert { request in
        received.withLock { $0.append(request.assigned) }
        #expect(request.changedProperties.contains("version") == false)
        return .accepted(["version": 1])
      }
      handlers.update { request in
        received.withLock { $0.append(request.assigned) }
        #expect(request.changedProperties == ["title"] && request.base["version"] == nil)
        return .accepted(["version": 6])
      }
      handlers.delete { request in
        received.withLock { $0.append(request.assigned) }
        return .accepted
      }
    }
    try stack.set("edited", of: 1)
    // A page of the server between the edit and its request.
    try stack.merge(Self.page("old", version: 5))
    try stack.outbox.start()
    #expect(try await stack.outbox.flush() == 0)
    #expect(try version(stack) == 6)
    try stack.insert(2, "new")
    #expect(try await stack.outbox.flush() == 0)
    #expect(try version(stack, of: 2) == 1)
    try stack.delete(1)
    #expect(try await stack.outbox.flush() == 0)
    await stack.outbox.stop()
    #expect(received.withLock { $0 } == [["version": .int(5)], [:], ["version": .int(6)]])
  }

  @Test(arguments: Backend.available)
  func `a conflict that the server reports writes them at once, and the next request has them`(
    backend: Backend
  ) async throws {
    for isParked in [true, false] {
      let stack = try stack(backend)
      let versions = Mutex<[AttributeValue?]>([])
      try stack.outbox.forward("Task") { handlers in
        handlers.update { request in
          versions.withLock { $0.append(request.assigned["version"]) }
          #expect(request.base["version"] == nil)
          return request.assigned["version"] == .int(7) ? .accepted : .conflict(["title": "theirs", "version": 7])
        }
      }
      try stack.set("edited", of: 1)
      try stack.outbox.start(ForwardOptions(conflictPolicy: isParked ? .park : .sendAgain))
      let remaining = try await stack.outbox.flush()
      #expect(try version(stack) == 7)
      if isParked {
        #expect(remaining == 1)
        let conflict = try #require(try await stack.outbox.conflicts().first)
        #expect(conflict.properties.map(\.name) == ["title"])
        try await stack.outbox.resolve(conflict.id, keeping: .local)
        #expect(try await stack.outbox.flush() == 0)
      }
      await stack.outbox.stop()
      #expect(versions.withLock { $0 } == [.int(3), .int(7)])
      #expect(try stack.titles() == [1: "edited"])
    }
  }

  @Test(arguments: Backend.available, [false, true])
  func `a deletion in a conflict that the server reports is sent again with the values of the reply`(
    backend: Backend, isEdited: Bool
  ) async throws {
    for isParked in [true, false] {
      let stack = try stack(backend)
      let versions = Mutex<[AttributeValue?]>([])
      try stack.outbox.forward("Task") { handlers in
        handlers.delete { request in
          versions.withLock { $0.append(request.assigned["version"]) }
          return request.assigned["version"] == .int(7) ? .accepted : .conflict(["title": "theirs", "version": 7])
        }
      }
      if isEdited { try stack.set("edited", of: 1) }
      try stack.delete(1)
      try stack.outbox.start(ForwardOptions(conflictPolicy: isParked ? .park : .sendAgain))
      let remaining = try await stack.outbox.flush()
      #expect((remaining > 0) == isParked)
      if isParked {
        let conflict = try #require(try await stack.outbox.conflicts().first)
        try await stack.outbox.resolve(conflict.id, keeping: .local)
        #expect(try await stack.outbox.flush() == 0)
      }
      await stack.outbox.stop()
      #expect(versions.withLock { $0 } == [.int(3), .int(7)])
    }
  }

  @Test(arguments: Backend.available)
  func `a deletion refused for server-assigned values alone is sent again under every policy`(
    backend: Backend
  ) async throws {
    for policy in [ForwardConflictPolicy.park, .acceptServer, .sendAgain] {
      let stack = try stack(backend)
      let versions = Mutex<[AttributeValue?]>([])
      try stack.outbox.forward("Task") { handlers in
        handlers.delete { request in
          versions.withLock { $0.append(request.assigned["version"]) }
          if request.assigned["version"] == .int(7) { return .accepted }
          return .conflict(["title": "old", "note": nil, "version": 7])
        }
      }
      try stack.delete(1)
      try stack.outbox.start(ForwardOptions(conflictPolicy: policy))
      #expect(try await stack.outbox.flush() == 0)
      await stack.outbox.stop()
      #expect(versions.withLock { $0 } == [.int(3), .int(7)])
      #expect(try await stack.outbox.conflictCount() == 0)
    }
  }

  @Test(arguments: Backend.available)
  func `a deletion refused without the values of all properties is in conflict over the missing ones`(
    backend: Backend
  ) async throws {
    let stack = try stack(backend)
    try stack.outbox.forward("Task") { handlers in
      handlers.delete { request in
        let isCurrent = request.assigned["version"] == .int(7)
        return isCurrent ? .accepted : .conflict(["title": "old", "version": 7])
      }
    }
    try stack.delete(1)
    try stack.outbox.start()
    #expect(try await stack.outbox.flush() == 1)
    let conflict = try #require(try await stack.outbox.conflicts().first)
    #expect(conflict.kind == .deletedLocally && conflict.properties.map(\.name) == ["note"])
    try await stack.outbox.resolve(conflict.id, keeping: .local)
    #expect(try await stack.outbox.flush() == 0)
    await stack.outbox.stop()
  }

  enum Decision: CaseIterable {
    /// The edit is parked with its conflict.
    case park
    /// The edit is sent again, and accepted.
    case sendAgain
  }

  @Test(arguments: Backend.available, Decision.allCases)
  func `a page requested before a conflict was reported restores no former value, and decides over no edit`(
    backend: Backend, decision: Decision
  ) async throws {
    for policy in [MergeOptions.PendingEditsPolicy.keepLocal, .server, .conflict] {
      let stack = try stack(backend)
      try stack.outbox.forward("Task") { handlers in
        handlers.update { request in
          let isCurrent = request.assigned["version"] == .int(7)
          return isCurrent ? .accepted : .conflict(["title": "theirs", "version": 7])
        }
      }
      let slow = stack.connect.newActionContext()
      try stack.set("edited", of: 1)
      try stack.outbox.start(ForwardOptions(conflictPolicy: decision == .park ? .park : .sendAgain))
      #expect(try await stack.outbox.flush() == (decision == .park ? 1 : 0))
      await stack.outbox.stop()
      let result = try slow.merge(
        records: [MergeRecord(["id": 1, "title": "former", "version": 3])],
        for: try stack.connect.managedObjectModel.entity(named: "Task"),
        options: MergeOptions(pendingEdits: policy))
      #expect(result.pendingConflicts == 0)
      #expect(try version(stack) == 7)
      guard decision == .park else { continue }
      #expect(try stack.titles() == [1: "edited"])
      #expect(try await stack.outbox.conflicts().first?.properties.map(\.server) == [.string("theirs")])
      #expect(try await stack.entries() == [.update("old", to: "edited", .parked)])
      // A page requested after the reply is merged as usual.
      try stack.merge(Self.page("theirs", version: 8), policy)
      #expect(try version(stack) == 8)
    }
  }

  @Test(arguments: Backend.available)
  func `a page requested before a conflict was reported does not replace the server's values that the user kept`(
    backend: Backend
  ) async throws {
    for policy in [MergeOptions.PendingEditsPolicy.keepLocal, .server, .conflict] {
      let stack = try stack(backend)
      try stack.outbox.forward("Task") { handlers in
        handlers.update { _ in
          return ForwardAnswer.conflict(["title": "theirs", "version": 7])
        }
      }
      let slow = stack.connect.newActionContext()
      try stack.set("edited", of: 1)
      try stack.outbox.start()
      #expect(try await stack.outbox.flush() == 1)
      await stack.outbox.stop()
      let conflict = try #require(try await stack.outbox.conflicts().first)
      try await stack.outbox.resolve(conflict.id, keeping: .server)
      let result = try slow.merge(
        records: Self.page("old", version: 3), for: try stack.connect.managedObjectModel.entity(named: "Task"),
        options: MergeOptions(pendingEdits: policy))
      #expect(result.keptEdits == 1 && result.pendingConflicts == 0)
      #expect(try stack.titles() == [1: "theirs"])
      #expect(try version(stack) == 7)
    }
  }

  @Test(arguments: Backend.available)
  func `an edit is parked when the server reports a conflict with a value that the store refuses`(
    backend: Backend
  ) async throws {
    for policy in [ForwardConflictPolicy.park, ForwardConflictPolicy.sendAgain] {
      let stack = try stack(backend)
      try stack.outbox.forward("Task") { handlers in
        handlers.update { _ in
          return ForwardAnswer.conflict(["title": "theirs", "version": "seven"])
        }
      }
      try stack.set("edited", of: 1)
      try stack.outbox.start(ForwardOptions(conflictPolicy: policy))
      #expect(try await stack.outbox.flush() == 1)
      await stack.outbox.stop()
      let entry = try #require(try await stack.outbox.entries(state: .parked).first)
      #expect(entry.isRejected && entry.lastError?.hasPrefix("wrongType") == true)
      #expect(try version(stack) == 3)
    }
  }
}
