import CoherenceCore
import CoherenceSQLite
import Foundation
import Testing

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A process with a limit for the size of its files, which simulates a full disk.
@Suite struct FullDiskTests {
  @Test func `a save on a full disk fails, and passes once space is free again`() async throws {
    let directory = try TemporaryDirectory()
    await #expect(processExitsWith: .success) { [store = directory.store as URL] in
      let ledger = try Ledger(type: .sqlite, at: store)
      for _ in 0..<5 { try ledger.save() }
      try Self.limitFiles(to: 200_000)
      var acknowledged = 5
      var failure: CoherenceError?
      while failure == nil, acknowledged < 1000 {
        do { acknowledged = try ledger.save() } catch { failure = try #require(error as? CoherenceError) }
      }
      #expect(failure?.code == .storeFull)
      #expect(failure?.outcome == .notApplied)
      // The free space is too small for the failed save. Reading needs no space.
      #expect(try Ledger(type: .sqlite, at: store).audit() == acknowledged)
      #expect(ledger.context.performAndWait { ledger.context.hasChanges })
      #expect(throws: CoherenceError.self) { try ledger.context.performAndWait { try ledger.context.save() } }

      try Self.limitFiles(to: nil)
      try ledger.context.performAndWait { try ledger.context.save() }
      #expect(try Ledger(type: .sqlite, at: store).audit() == acknowledged + 1)
      #expect(try ledger.save() == acknowledged + 2)
    }
    #expect(try Ledger(type: .sqlite, at: directory.store).complaints() == ["ok"])
  }

  /// Limits the size of the files that this process writes.
  private static func limitFiles(to bytes: UInt?) throws {
    signal(SIGXFSZ, SIG_IGN)
    #if canImport(Glibc)
      let resource = __rlimit_resource_t(UInt32(RLIMIT_FSIZE.rawValue))
    #else
      let resource = RLIMIT_FSIZE
    #endif
    var limit = rlimit()
    try #require(getrlimit(resource, &limit) == 0)
    limit.rlim_cur = bytes.map { rlim_t($0) } ?? limit.rlim_max
    try #require(setrlimit(resource, &limit) == 0)
  }
}
