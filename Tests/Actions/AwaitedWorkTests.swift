import CoherenceActions
import CoherenceCore
import TestSupport
import Testing

@Suite("Waits for the end of other work", .timeLimit(.minutes(15)))
struct AwaitedWorkTests {
  private let first = AwaitedWork()
  private let second = AwaitedWork()
  private let third = AwaitedWork()

  /// Returns a running part of work that waits for the end of other work until a gate opens, after the wait has begun.
  private func part(
    of work: AwaitedWork, waitingForEndOf other: AwaitedWork, until end: TaskGate
  ) async -> Task<Void, any Error> {
    let begun = TaskGate()
    let task = Task {
      try await work.run {
        try await other.wait {
          begun.open()
          await end.pass()
        }
      }
    }
    await begun.pass()
    return task
  }

  private func expectDeadlock(_ body: @escaping @Sendable () async throws -> Void) async {
    let result = await Task { try await body() }.result
    #expect { try result.get() } throws: { ErrorCode.deadlock ~= $0 }
  }

  @Test func `a part of work that waits for the end of the same work throws`() async throws {
    await expectDeadlock { [first] in try await first.run { try await first.wait {} } }
  }

  @Test func `of two parts that wait for the end of each other's work, the later one throws`() async throws {
    let end = TaskGate()
    let part = await part(of: first, waitingForEndOf: second, until: end)
    await expectDeadlock { [first, second] in try await second.run { try await first.wait {} } }
    end.open()
    try await part.value
    // The wait of the other part has ended.
    try await second.run { try await first.wait {} }
  }

  @Test func `a part that closes a circle of waits of three works throws`() async throws {
    let end = TaskGate()
    let parts = [
      await part(of: first, waitingForEndOf: second, until: end),
      await part(of: second, waitingForEndOf: third, until: end),
    ]
    await expectDeadlock { [first, third] in try await third.run { try await first.wait {} } }
    // The third work waits for no other work.
    try await first.run { [third] in try await third.wait {} }
    end.open()
    for part in parts { try await part.value }
  }

  @Test func `a part that waits for an action which waits, through other work, for the part throws`() async throws {
    let connect = try ConnectStack.started().connect
    let (begun, end) = (TaskGate(), TaskGate())
    let handle = try connect.execute(
      TaskAction { [first] in
        try await first.wait {
          begun.open()
          await end.pass()
        }
      })
    await begun.pass()
    let part = await part(of: first, waitingForEndOf: second, until: end)
    await expectDeadlock { [second] in try await second.run { try await handle.waitUntilFinished() } }
    end.open()
    try await part.value
    try await handle.value
  }

  @Test func `a part of work may wait for the end of work whose parts wait for nobody`() async throws {
    let (begun, end) = (TaskGate(), TaskGate())
    let part = Task { [first] in
      await first.run {
        begun.open()
        await end.pass()
      }
    }
    await begun.pass()
    try await second.run { [first] in try await first.wait { end.open() } }
    await part.value
  }
}
