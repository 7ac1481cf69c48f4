@testable import CoherenceCore
@testable import CoherencePostgreSQL
import CoherenceSQL
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

  // MARK: Connections that the server refuses

  /// Runs a block with a pool of eight connections, of a role to which the server permits two.
  private func withLimitedPool(
    refusalTime: Duration, _ body: (_ pool: PostgreSQLPool, _ administration: PostgreSQLConnection) throws -> Void
  ) throws {
    let administration = try schema.administration()
    try administration.run("CREATE ROLE \(name: schema.name) LOGIN CONNECTION LIMIT 2", isPrepared: false)
    defer { _ = try? administration.run("DROP ROLE \(name: schema.name)", isPrepared: false) }
    let options: [String: OptionValue] = [PostgreSQLOption.poolSize: 8, PostgreSQLOption.poolTimeout: 600]
    let environment = try schema.environment(
      PeopleModel.make(), url: schema.url(with: ["user": schema.name]), options: options)
    let pool = try PostgreSQLPool(
      PostgreSQLOptions(environment), logger: Logger(label: "test"), refusalTime: refusalTime)
    defer { pool.close() }
    try body(pool, administration)
  }

  /// Borrows a connection on a new thread and keeps it. Notes the number of the thread, or -1 for an error.
  private func borrow(
    from pool: PostgreSQLPool, for purpose: PostgreSQLPool.Purpose = .saving, in group: DispatchGroup, _ number: Int,
    _ order: Order
  ) {
    group.enter()
    Thread.detachNewThread {
      defer { group.leave() }
      guard let connection = try? pool.acquire(for: purpose) else { return order.append(-1) }
      order.append(number)
      pool.release(connection, from: purpose)
    }
  }

  @Test func `threads to which the server refuses a connection wait in line for those of the pool`() throws {
    try withLimitedPool(refusalTime: .seconds(600)) { pool, _ in
      let connections = try [pool.acquire(for: .saving), pool.acquire(for: .saving)]
      let order = Order()
      let group = DispatchGroup()
      for number in 0..<4 {
        borrow(from: pool, in: group, number, order)
        while pool.waiterCount <= number, order.numbers.isEmpty { sched_yield() }
      }
      pool.release(connections[0], from: .saving)
      group.wait()
      pool.release(connections[1], from: .saving)
      #expect(order.numbers == [0, 1, 2, 3])
    }
  }

  @Test func `a stream to which the server refuses a connection waits for one of the pool`() throws {
    try withLimitedPool(refusalTime: .seconds(600)) { pool, _ in
      let connections = try [pool.acquire(for: .saving), pool.acquire(for: .saving)]
      let order = Order()
      let group = DispatchGroup()
      borrow(from: pool, for: .lasting, in: group, 0, order)
      while pool.waiterCount == 0, order.numbers.isEmpty { sched_yield() }
      pool.release(connections[0], from: .saving)
      group.wait()
      #expect(order.numbers == [0])
      pool.release(connections[1], from: .saving)
    }
  }

  @Test func `a stream to which the server refuses a connection fails at once beside an empty pool`() throws {
    try withLimitedPool(refusalTime: .seconds(600)) { pool, _ in
      let connections = try [pool.acquire(for: .lasting), pool.acquire(for: .lasting)]
      let error = #expect(throws: CoherenceError.self) { try pool.acquire(for: .lasting) }
      #expect(error?.code == .tooManyConnections)
      for connection in connections { pool.release(connection, from: .lasting) }
    }
  }

  @Test func `a refused stream fails at once on a thread that keeps the state of another store`() throws {
    let store = try #require(try schema.open(PeopleModel.make()) as? PostgreSQLStore)
    let (keeping, stream) = (PostgreSQLReader(store), PostgreSQLReader(store))
    let hold = StateHold()
    hold.take()
    keeping.hold = hold
    stream.hold = StateHold(isLasting: true)
    let kept = try pool.acquire(for: .reading, by: keeping)
    try withLimitedPool(refusalTime: .seconds(600)) { pool, _ in
      let connections = try [pool.acquire(for: .saving), pool.acquire(for: .saving)]
      let error = #expect(throws: CoherenceError.self) {
        try pool.acquire(for: .reading, by: stream, within: .seconds(5))
      }
      // The end of a wait has no failure of the server.
      #expect(error?.code == .tooManyConnections && error?.serverFailure != nil)
      for connection in connections { pool.release(connection, from: .saving) }
    }
    pool.release(kept, of: keeping)
    store.close()
  }

  @Test(arguments: [PostgreSQLPool.Purpose.saving, .lasting])
  func `a waiting thread gets a new connection once the server permits another one`(
    _ purpose: PostgreSQLPool.Purpose
  ) throws {
    try withLimitedPool(refusalTime: .milliseconds(20)) { pool, administration in
      let connections = try [pool.acquire(for: .saving), pool.acquire(for: .saving)]
      let order = Order()
      let group = DispatchGroup()
      borrow(from: pool, for: purpose, in: group, 0, order)
      while pool.waiterCount == 0, order.numbers.isEmpty { sched_yield() }
      try administration.run("ALTER ROLE \(name: schema.name) CONNECTION LIMIT 3", isPrepared: false)
      group.wait()
      #expect(order.numbers == [0])
      for connection in connections { pool.release(connection, from: .saving) }
    }
  }

  @Test func `a cancelled task leaves the line after the server has refused its connection`() throws {
    try withLimitedPool(refusalTime: .seconds(600)) { pool, _ in
      let connections = try [pool.acquire(for: .saving), pool.acquire(for: .saving)]
      let order = Order()
      let group = DispatchGroup()
      group.enter()
      let task = Task.detached(executorPreference: ThreadExecutor()) {
        defer { group.leave() }
        do {
          pool.release(try pool.acquire(for: .saving), from: .saving)
          order.append(0)
        } catch {
          order.append((error as? CoherenceError)?.code == .cancelled ? 1 : -1)
        }
      }
      while pool.waiterCount == 0, order.numbers.isEmpty { sched_yield() }
      task.cancel()
      group.wait()
      #expect(order.numbers == [1])
      #expect(pool.waiterCount == 0)
      for connection in connections { pool.release(connection, from: .saving) }
    }
  }
}

/// The numbers of threads, in the order in which the threads added them.
private final class Order: Sendable {
  private let state = Mutex<[Int]>([])
  var numbers: [Int] { state.withLock { $0 } }
  func append(_ number: Int) { state.withLock { $0.append(number) } }
}
