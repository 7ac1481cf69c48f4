import CoherenceCore
import CoherencePostgreSQL
import Foundation
import TestSupport
import Testing

/// Six writers, while their server and their links fail again and again. After each fault the store contains every
/// acknowledged change and no change of a save with the outcome `notApplied`.
///
/// `COHERENCE_CRASHES` is the number of faults, 50 unless given; `COHERENCE_FAULTS=20` multiplies it by twenty.
@Suite(.enabled(if: LedgerPlace.server != nil, "Set COHERENCE_POSTGRESQL_URL; `Tools/postgres start DIR` prints one."))
struct CrashLoopTests {
  private static let writerCount = 6

  @Test func `saves acknowledged while servers crash and links break are stored, and saves that failed are not`()
    async throws
  {
    let seed = Effort.seed()
    let faults = Effort.rounds(Effort.crashes)
    let tally = try await onOwnThread { try Self.run(faults: faults, seed: seed) }
    // The loop must have failed saves, or the test proves nothing.
    #expect(tally.acknowledged > faults)
    #expect(tally.notApplied + tally.unknown > 0)
  }

  private static func run(faults: Int, seed: UInt64) throws -> CrashLoopWriter.Tally {
    let cluster = try Cluster()
    try cluster.startFaster()
    let proxy = try SocketProxy(to: cluster.url)
    // Makes the tables, which may take longer than the writers' time limit for a statement.
    _ = try CrashLoopStore(at: cluster.url)
    let gate = CrashLoopGate(writers: writerCount)
    // The first store waits for a stopped server. The second store soon reports an unknown outcome instead.
    let stores = try [10, 0.5].map { poolTimeout in
      try CrashLoopStore(
        at: proxy.url,
        options: [PostgreSQLOption.statementTimeout: 0.2, PostgreSQLOption.poolTimeout: .double(poolTimeout)])
    }
    let writers = (0..<writerCount).map {
      CrashLoopWriter($0, in: stores[$0 % stores.count], at: gate, seed: seed)
    }
    for writer in writers { writer.start() }
    do {
      try inject(faults, FaultInjector(cluster, proxy, gate, seed: seed), among: writers, at: gate, of: cluster)
      try gate.end()
    } catch {
      // The test does not wait for writers that never end.
      try? gate.end()
      throw error
    }
    try check(writers, of: cluster)
    return writers.map(\.tally).reduce(CrashLoopWriter.Tally(), +)
  }

  private static func inject(
    _ faults: Int, _ injector: FaultInjector, among writers: [CrashLoopWriter], at gate: CrashLoopGate,
    of cluster: Cluster
  ) throws {
    try gate.awaitAcknowledgements(beyond: gate.acknowledgements)
    for number in 1...faults {
      let fault = injector.draw()
      do {
        try injector.inject(fault)
        // While no save runs, the expected content is known exactly.
        try gate.close()
        try check(writers, of: cluster)
        gate.open()
      } catch {
        throw Cluster.Failure(description: "After fault \(number), \(fault.rawValue): \(error)")
      }
    }
  }

  /// Reads the store through a new connection and compares it with the outcomes that the writers recorded.
  private static func check(_ writers: [CrashLoopWriter], of cluster: Cluster) throws {
    var found = try CrashLoopStore(at: cluster.url).numbers()
    var complaints = writers.flatMap { $0.expected.complaints(removingFrom: &found) }
    complaints += found.keys.sorted().map { "'\($0)' is there, and no save that wrote it was acknowledged." }
    guard complaints.isEmpty else { throw Cluster.Failure(description: complaints.joined(separator: "\n")) }
  }
}
