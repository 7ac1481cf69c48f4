@testable import CoherenceConformance
import CoherenceCore
import CoherenceSQLite
import Foundation
import GRDBSQLite
import Testing

/// A disk that fails, at every call of a script in turn.
@Suite struct DiskFaultTests {
  /// A fault of a disk, with the error that a store must throw for it.
  struct Trouble: Sendable, CustomTestStringConvertible {
    var call: Disk.Call
    var isLasting: Bool
    var code: CInt
    var expected: ErrorCode
    var testDescription: String { "\(call), \(expected), \(isLasting ? "from then on" : "once")" }
  }

  private static let troubles = [false, true].flatMap { isLasting in
    [
      Trouble(call: .write, isLasting: isLasting, code: SQLITE_FULL, expected: .storeFull),
      Trouble(call: .write, isLasting: isLasting, code: SQLITE_IOERR | 3 << 8, expected: .inputOutput),
      Trouble(call: .sync, isLasting: isLasting, code: SQLITE_IOERR | 4 << 8, expected: .inputOutput),
    ]
  }

  @Test(arguments: troubles)
  func `a save that fails at any call of the disk loses nothing, and the next save passes`(trouble: Trouble) throws {
    var (number, firings) = (1, 0)
    while try fails(at: number, trouble) {
      firings += 1
      // The first calls fail one by one, later calls in steps, because the tail is a large save with similar writes.
      number += number < 24 ? 1 : Int.random(in: 5...9)
    }
    #expect(firings >= (trouble.call == .sync ? 3 : 10), "Too few faults occurred for a meaningful test.")
  }

  /// Makes three deposits on a disk that fails at a call.
  ///
  /// - Returns: Whether the disk failed.
  private func fails(at number: Int, _ trouble: Trouble) throws -> Bool {
    let directory = try TemporaryDirectory()
    let disk = Disk(directory)
    let ledger = try Ledger(type: .sqlite, at: directory.store)
    for _ in 0..<7 { try ledger.save() }
    disk.fail(Disk.Fault(call: trouble.call, number: number, isLasting: trouble.isLasting, code: trouble.code))
    for expected in 8...10 {
      do {
        try #require(try ledger.save() == expected)
      } catch let error as CoherenceError {
        try judge(error, trouble, ledger, disk, whileSaving: expected)
        break
      }
    }
    let didFail = disk.failures > 0
    disk.fail(nil)

    // The failed save's changes are still unsaved, and are saved now.
    try ledger.context.performAndWait { if ledger.context.hasChanges { try ledger.context.save() } }
    let next = try ledger.save()
    try ledger.close()
    let after = try Ledger(type: .sqlite, at: directory.store)
    #expect(try after.audit() == next)
    #expect(try after.complaints() == ["ok"])
    return didFail
  }

  /// Checks the error of a save, and the content that a process reads from the disk in its current state.
  private func judge(
    _ error: CoherenceError, _ trouble: Trouble, _ ledger: Ledger, _ disk: Disk, whileSaving number: Int
  ) throws {
    #expect(error.code == trouble.expected)
    #expect(disk.failures > 0)
    #expect(error.outcome != .applied)
    #expect(ledger.context.performAndWait { ledger.context.hasChanges })
    var random = SplitMix64(seed: 1)
    let image = DiskImage(of: disk, after: disk.length, losing: .nothing, &random)
    let elsewhere = try TemporaryDirectory()
    try image.write(to: elsewhere)
    let found = try Ledger(type: .sqlite, at: elsewhere.store).audit()
    if error.outcome == .notApplied {
      #expect(found == number - 1, "A save that was said not to be applied was found.")
    } else {
      #expect((number - 1...number).contains(found))
    }
  }

  @Test func `a disk that fails to read throws an error and loses nothing`() throws {
    let directory = try TemporaryDirectory()
    let disk = Disk(directory)
    do {
      let ledger = try Ledger(type: .sqlite, at: directory.store)
      for _ in 0..<12 { try ledger.save() }
    }
    var failures = 0
    for number in 1...60 {
      disk.fail(Disk.Fault(call: .read, number: number, isLasting: true, code: SQLITE_IOERR | 1 << 8))
      do {
        #expect(try Ledger(type: .sqlite, at: directory.store).audit() == 12)
      } catch let error as CoherenceError {
        failures += 1
        #expect(error.code == .inputOutput || error.code == .storeInaccessible)
      }
      disk.fail(nil)
    }
    #expect(failures > 10)
    #expect(try Ledger(type: .sqlite, at: directory.store).audit() == 12)
  }

  private static let unreadable = Disk.Fault(call: .read, number: 1, isLasting: true, code: SQLITE_IOERR | 1 << 8)

  @Test func `a reader whose state ends with a failed read shows no later state`() throws {
    let directory = try TemporaryDirectory()
    let disk = Disk(directory)
    let ledger = try Ledger(type: .sqlite, at: directory.store)
    for _ in 0..<3 { try ledger.save() }
    let entities = ledger.store.environment.model.entitiesByName
    let deposits = StoreQuery(entity: try #require(entities["Deposit"]))
    let coins = StoreQuery(entity: try #require(entities["Coin"]))
    let reader = try ledger.store.makeReader()
    defer { reader.finish() }
    #expect(try reader.count(deposits) == 3)
    try ledger.save()

    disk.fail(Self.unreadable)
    #expect(throws: CoherenceError.self) { try reader.count(coins) }
    disk.fail(nil)
    let error = #expect(throws: CoherenceError.self) { try reader.count(deposits) }
    #expect(error?.code == .inputOutput)
    let later = try ledger.store.makeReader()
    defer { later.finish() }
    #expect(try later.count(deposits) == 4)
  }

  @Test func `a unit of work reads on in another state after a failed read, and a snapshot throws`() throws {
    let directory = try TemporaryDirectory()
    let disk = Disk(directory)
    let ledger = try Ledger(type: .sqlite, at: directory.store)
    for _ in 0..<3 { try ledger.save() }
    let context = ledger.context
    func fetch(_ name: String) throws -> Int {
      try context.fetch(FetchRequest<ManagedObject>(entityName: name)).count
    }
    try context.performAndWait {
      let count1 = try fetch("Deposit")
      #expect(count1 == 3)
      disk.fail(Self.unreadable)
      #expect(throws: CoherenceError.self) { try fetch("Coin") }
      disk.fail(nil)
      let count2 = try fetch("Coin")
      #expect(count2 == 9)
    }
    try ledger.save()
    try context.performAndWait {
      try context.withSnapshot {
        let count3 = try fetch("Deposit")
        #expect(count3 == 4)
        disk.fail(Self.unreadable)
        #expect(throws: CoherenceError.self) { try fetch("Coin") }
        disk.fail(nil)
        #expect(throws: CoherenceError.self) { try fetch("Deposit") }
      }
      let count4 = try fetch("Deposit")
      #expect(count4 == 4)
    }
  }
}
