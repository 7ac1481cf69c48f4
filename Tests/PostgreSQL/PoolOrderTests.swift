import CoherenceCore
@testable import CoherencePostgreSQL
import Dispatch
import Foundation
import Logging
import Synchronization
import TestSupport
import Testing

/// The line of threads that wait for a connection.
@Suite(.needsServer, .timeLimit(.minutes(15))) struct PoolOrderTests {
  private let schema: TemporarySchema
  private let pool: PostgreSQLPool

  init() throws {
    schema = try TemporarySchema()
    let options: [String: OptionValue] = [PostgreSQLOption.poolSize: 2, PostgreSQLOption.poolTimeout: 600]
    pool = try PostgreSQLPool(
      PostgreSQLOptions(schema.environment(PeopleModel.make(), options: options)), logger: Logger(label: "test"))
  }

  /// Borrows a connection on a new thread and returns it to the pool.
  private func borrow(
    for purpose: PostgreSQLPool.Purpose, in group: DispatchGroup, then note: @escaping @Sendable () -> Void
  ) {
    group.enter()
    Thread.detachNewThread { [pool] in
      defer { group.leave() }
      guard let connection = try? pool.acquire(for: purpose) else { return }
      note()
      pool.release(connection, from: purpose)
    }
  }

  @Test func `threads get connections in the order in which they began to wait`() throws {
    let connection = try pool.acquire(for: .reading)
    let order = Order()
    let group = DispatchGroup()
    for number in 0..<8 {
      borrow(for: .reading, in: group) { order.append(number) }
      while pool.waiterCount <= number { continue }
    }
    pool.release(connection, from: .reading)
    group.wait()
    #expect(order.numbers == Array(0..<8))
  }

  @Test func `a save passes readers that wait`() throws {
    let connection = try pool.acquire(for: .reading)
    let group = DispatchGroup()
    borrow(for: .reading, in: group) {}
    while pool.waiterCount == 0 { continue }
    try pool.withConnection(for: .saving) { _ in }
    #expect(pool.waiterCount == 1)
    pool.release(connection, from: .reading)
    group.wait()
  }

  @Test func `a waiting reader is not passed by later saves`() throws {
    let connections = try [pool.acquire(for: .saving), pool.acquire(for: .saving)]
    let order = Order()
    let group = DispatchGroup()
    borrow(for: .reading, in: group) { order.append(0) }
    while pool.waiterCount < 1 { continue }
    borrow(for: .saving, in: group) { order.append(1) }
    while pool.waiterCount < 2 { continue }
    pool.release(connections[0], from: .saving)
    group.wait()
    pool.release(connections[1], from: .saving)
    #expect(order.numbers == [0, 1])
  }

  @Test func `a cancelled task leaves the line`() async throws {
    let connection = try pool.acquire(for: .reading)
    let task = Task.detached(executorPreference: ThreadExecutor()) { [pool] in
      pool.release(try pool.acquire(for: .reading), from: .reading)
    }
    // Without a pause, in which the other task could wait to the end.
    while pool.waiterCount == 0 { sched_yield() }
    task.cancel()
    let error = await #expect(throws: CoherenceError.self) { try await task.value }
    #expect(error?.code == .cancelled)
    #expect(pool.waiterCount == 0)
    pool.release(connection, from: .reading)
    pool.release(try pool.acquire(for: .reading), from: .reading)
  }

  @Test func `threads that wait when the pool is closed fail at once`() throws {
    let connection = try pool.acquire(for: .reading)
    let group = DispatchGroup()
    let codes = Order()
    group.enter()
    Thread.detachNewThread { [pool] in
      defer { group.leave() }
      do {
        pool.release(try pool.acquire(for: .reading), from: .reading)
      } catch {
        if (error as? CoherenceError)?.code == .storeDetached { codes.append(1) }
      }
    }
    while pool.waiterCount == 0 { continue }
    pool.close()
    group.wait()
    #expect(codes.numbers == [1])
    pool.release(connection, from: .reading)
  }
}

/// The numbers of threads, in the order in which the threads added them.
private final class Order: Sendable {
  private let state = Mutex<[Int]>([])
  var numbers: [Int] { state.withLock { $0 } }
  func append(_ number: Int) { state.withLock { $0.append(number) } }
}
