import CoherenceCore
import CoherenceSQL
import Dispatch
import Foundation
import TestSupport
import Testing

@testable import CoherencePostgreSQL

/// The order in which transactions lock tables: a transaction that waits for its first table has no lock on records, which
/// another transaction could wait for.
@Suite(.needsServer, .timeLimit(.minutes(5))) struct TableOrderTests {
  private let schema: TemporarySchema
  private let coordinator: PersistentStoreCoordinator
  private let store: PostgreSQLStore

  init() throws {
    schema = try TemporarySchema()
    coordinator = PersistentStoreCoordinator(managedObjectModel: try Self.model())
    try coordinator.addPersistentStore(
      type: .postgreSQL, at: schema.url(with: ["application_name": schema.name]),
      options: [PostgreSQLOption.schema: .string(schema.name)])
    store = try #require(coordinator.persistentStores.first as? PostgreSQLStore)
    try inContext { context in
      let account = try context.insertNewObject(forEntityName: "Account")
      let voucher = try context.insertNewObject(forEntityName: "Voucher")
      try account.setValue("a", for: "name")
      try voucher.setObject(account, for: "account")
      try account.setObject(voucher, for: "welcome")
      try context.save()
    }
  }

  /// In the order of names, accounts come before the vouchers that a save writes first.
  private static func model() throws -> ManagedObjectModel {
    try ManagedObjectModel {
      Entity("Account", uniqueness: [["name"]]) {
        Attribute("name", .string)
        Attribute("plays", .int64, default: 0)
        Relationship("vouchers", toMany: "Voucher", inverse: "account", minimumCount: 1)
        Relationship("welcome", toOne: "Voucher", inverse: nil)
        Relationship("notes", toMany: "Note", inverse: "account")
      }
      Entity("Note") { Relationship("account", toOne: "Account", inverse: "notes") }
      Entity("Voucher") {
        Attribute("text", .string, optional: true)
        Relationship("account", toOne: "Account", inverse: "vouchers")
      }
    }
  }

  private func inContext<T>(_ body: (ManagedObjectContext) throws -> T) throws -> T {
    let context = ManagedObjectContext(coordinator: coordinator)
    return try context.performAndWait { try body(context) }
  }

  private static func account(_ context: ManagedObjectContext) throws -> ManagedObject {
    try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Account")).first)
  }

  /// What a program writes.
  enum Write: String, CaseIterable, Sendable {
    case insert, insertedMember, countedMember, deletedMember, claim, calculation, batchDeletion
  }

  private func perform(_ write: Write) throws {
    switch write {
    case .insert, .insertedMember:
      // No rule limits the number of an account's notes, so that the insert of a note is the first statement.
      try inContext { context in
        let account = try Self.account(context)
        let member = try context.insertNewObject(forEntityName: write == .insert ? "Note" : "Voucher")
        try member.setObject(account, for: "account")
        try account.setValue(1, for: "plays")
        try context.save()
      }
    case .countedMember, .deletedMember:
      try inContext { context in
        let account = try Self.account(context)
        let voucher = try context.insertNewObject(forEntityName: "Voucher")
        try voucher.setObject(account, for: "account")
        if write == .deletedMember {
          try context.delete(#require(try account.object(for: "welcome")))
          try account.setObject(voucher, for: "welcome")
        }
        try context.save()
      }
    case .claim:
      let accounts = StoreQuery(entity: store.entity("Account"), limit: 1)
      let plays = try #require(store.entity("Account").attribute(named: "plays")).slot
      #expect(try store.claim(accounts, setting: [plays: .int(1)])?.count == 1)
    case .calculation:
      let sum: [String: UpdateExpression] = ["plays": .sum(.attribute("plays"), .value(.int(1)))]
      _ = try inContext { try $0.execute(BatchUpdateRequest(entityName: "Account", expressions: sum)) }
    case .batchDeletion:
      let vouchers = StoreQuery(entity: store.entity("Voucher"))
      #expect(try store.batchDelete(vouchers)?.deleted.count == 1)
    }
  }

  /// The locks on tables of records, other than those of readers, that a transaction of the store has while it waits for a
  /// table.
  private func locksOfWaiting(_ session: PostgreSQLConnection) throws -> [String] {
    while true {
      let waiting = try session.run(
        """
        SELECT l.pid::int8 FROM pg_catalog.pg_locks l JOIN pg_catalog.pg_stat_activity a USING (pid) \
        WHERE a.application_name = \(text: schema.name) AND l.locktype = 'relation' AND NOT l.granted
        """, isPrepared: false)
      guard waiting.rowCount == 1, let pid = waiting.int(0, 0) else { continue }
      let locks = try session.run(
        """
        SELECT c.relname || ' ' || l.mode FROM pg_catalog.pg_locks l JOIN pg_catalog.pg_class c ON c.oid = l.relation \
        WHERE l.pid = \(key: pid) AND l.granted AND l.mode <> 'AccessShareLock' AND c.relname NOT LIKE '$%'
        """, isPrepared: false)
      return (0..<locks.rowCount).map { locks.text($0, 0) ?? "" }
    }
  }

  @Test(arguments: Write.allCases)
  func `a transaction that waits for its first table has no lock on records`(_ write: Write) throws {
    let other = try schema.administration()
    try other.run("BEGIN", isPrepared: false)
    try other.run("LOCK TABLE \(name: "Account") IN SHARE MODE", isPrepared: false)
    let ended = DispatchSemaphore(value: 0)
    let outcome = Locked<Result<Void, any Error>?>(nil)
    Thread.detachNewThread {
      let result = Result { try perform(write) }
      outcome.withLock { $0 = result }
      ended.signal()
    }
    let locks = try locksOfWaiting(try schema.administration())
    try other.run("ROLLBACK", isPrepared: false)
    ended.wait()
    #expect(locks == [])
    try #require(outcome.withLock { $0 }).get()
  }

  @Test func `a save that begins with the first of its tables sends no statement for it`() throws {
    let order = store.tableOrder
    let account = try store.row("Account", ["name": .string("b")])
    let voucher = try store.row("Voucher")
    let (accounts, vouchers) = (account.entity, voucher.entity)
    let first = "LOCK TABLE \"Account\" IN ROW EXCLUSIVE MODE"
    func statement(for request: StoreSaveRequest, locksRows: Bool = false) throws -> String? {
      try order.lockStatement(for: request, locksRows: locksRows)?.text(in: PostgreSQLDialect())
    }
    func lock(_ steps: SaveStep...) throws -> String? { try statement(for: StoreSaveRequest(steps: steps)) }
    #expect(try lock(.insert(vouchers, [voucher])) == nil)
    #expect(try lock(.delete(vouchers, [RowDelete(id: voucher.id, baseVersion: 1)])) == nil)
    #expect(try lock(.insert(accounts, [account]), .insert(vouchers, [voucher])) == nil)
    #expect(try lock(.insert(vouchers, [voucher]), .insert(accounts, [account])) == first)
    // A lock of rows comes before the only step, and a computed value after it.
    #expect(try statement(for: StoreSaveRequest(steps: [.insert(accounts, [account])]), locksRows: true) == first)
    var request = StoreSaveRequest(steps: [.insert(vouchers, [voucher])])
    request.derivations = [DerivationUpdate(of: accounts)]
    #expect(try statement(for: request) == first)
  }

  @Test func `many tasks insert records with equal unique values, each with a member`() async throws {
    let failures = await withTaskGroup(of: (any Error)?.self) { group in
      for _ in 0..<64 {
        group.addTask {
          do {
            let context = ManagedObjectContext(coordinator: coordinator)
            context.mergePolicy = .objectTrumps
            try await context.perform {
              for name in ["b", "c", "d", "e"] {
                let account = try context.insertNewObject(forEntityName: "Account")
                try account.setValue(name, for: "name")
                try context.insertNewObject(forEntityName: "Voucher").setObject(account, for: "account")
              }
              try context.save()
            }
            return nil
          } catch { return error }
        }
      }
      return await group.reduce(into: []) { if let error = $1 { $0.append(error) } }
    }
    #expect(failures.isEmpty)
    #expect(try store.fetch("Account").count == 5)
    #expect(try store.fetch("Voucher").count == 1 + 4 * 64)
  }
}
