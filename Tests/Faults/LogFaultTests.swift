@testable import CoherenceConformance
import CoherenceCore
import CoherenceSQLite
import Foundation
import Testing

/// A SQLite store whose log disappears while the store is open.
@Suite struct LogFaultTests {
  @Test(arguments: ["-wal", "-shm"], [true, false])
  func `a save after a deletion or replacement of the log fails, and earlier saves are kept`(
    suffix: String, isReplaced: Bool
  ) throws {
    let directory = try TemporaryDirectory()
    let ledger = try Ledger(type: .sqlite, at: directory.store)
    for _ in 0..<9 { try ledger.save() }
    let path = directory.store.path(percentEncoded: false) + suffix
    try FileManager.default.removeItem(atPath: path)
    if isReplaced { try Data().write(to: URL(fileURLWithPath: path)) }

    let error = #expect(throws: CoherenceError.self) { try ledger.save() }
    #expect(error?.code == .storeInaccessible)
    #expect(error?.outcome == .notApplied)
    #expect(error?.message.contains("moved or deleted") == true)
    #expect(ledger.context.performAndWait { ledger.context.hasChanges })
    // The store stays unusable until it is attached again.
    #expect(throws: CoherenceError.self) { try ledger.context.performAndWait { try ledger.context.save() } }
    try ledger.close()
    let after = try Ledger(type: .sqlite, at: directory.store)
    if !isReplaced { #expect(try after.audit() == 9) }
    #expect(try after.complaints() == ["ok"])
  }

  @Test func `a process killed after its log was deleted has lost no later acknowledged save`()
    async throws
  {
    let directory = try TemporaryDirectory()
    await #expect(processExitsWith: .failure) { [store = directory.store as URL] in
      let ledger = try Ledger(type: .sqlite, at: store)
      for _ in 0..<9 { try ledger.save() }
      try FileManager.default.removeItem(atPath: store.path(percentEncoded: false) + "-wal")
      #expect(throws: CoherenceError.self) { try ledger.save() }
      // Ends like a crash, without closing the store.
      abort()
    }
    #expect(try Ledger(type: .sqlite, at: directory.store).audit() == 9)
  }

  @Test(arguments: [false, true])
  func `a failed save after another process began another log keeps the save of that process, and so does a close`(
    isClosed: Bool
  ) async throws {
    let directory = try TemporaryDirectory()
    let former = try Ledger(type: .sqlite, at: directory.store)
    for _ in 0..<10 { try former.save() }
    // The last connection writes its log into the database.
    try former.close()
    let ledger = try Ledger(type: .sqlite, at: directory.store)
    // The saves add pages to the database, which the one save of the other process does not: pages of both would not
    // fit together.
    for _ in 0..<10 { try ledger.save() }

    await #expect(processExitsWith: .signal(SIGABRT)) { [store = directory.store as URL] in
      for suffix in ["-wal", "-shm"] {
        try FileManager.default.removeItem(atPath: store.path(percentEncoded: false) + suffix)
      }
      let other = try Ledger(type: .sqlite, at: store)
      try other.save()
      // Ends like a crash: the save is in the new log only.
      abort()
    }
    let error = #expect(throws: CoherenceError.self) { try ledger.save() }
    #expect(error?.code == .storeInaccessible)
    #expect(error?.outcome == .notApplied)
    #expect(error?.message.contains("moved or deleted") == true)

    if isClosed { try ledger.close() }

    // This process has the deleted log open, so that only another process finds the new one.
    await #expect(processExitsWith: .success) { [store = directory.store as URL] in
      let found = try Ledger(type: .sqlite, at: store)
      #expect(try found.audit() == 11)
      #expect(try found.complaints() == ["ok"])
      try found.close()
    }
    withExtendedLifetime(ledger) {}
  }

  @Test func `a full disk leaves no doubt about a save`() throws {
    let directory = try TemporaryDirectory()
    let disk = Disk(directory)
    let ledger = try Ledger(type: .sqlite, at: directory.store)
    for _ in 0..<7 { try ledger.save() }
    for number in 1...40 {
      disk.fail(Disk.Fault(call: .write, number: number, isLasting: true, code: 13))
      var failure: CoherenceError?
      do { try ledger.save() } catch let error as CoherenceError { failure = error }
      disk.fail(nil)
      guard let error = failure else {
        // The number is greater than the number of writes in a save.
        #expect(number > 2)
        break
      }
      #expect(error.code == .storeFull)
      var random = SplitMix64(seed: 1)
      let image = DiskImage(of: disk, after: disk.length, losing: .nothing, &random)
      let elsewhere = try TemporaryDirectory()
      try image.write(to: elsewhere)
      let found = try Ledger(type: .sqlite, at: elsewhere.store).audit()
      #expect(error.outcome == (found == 7 ? .notApplied : .unknown), "at write \(number)")
      ledger.context.performAndWait { ledger.context.rollback() }
    }
  }
}
