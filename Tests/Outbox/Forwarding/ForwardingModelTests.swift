import CoherenceOutbox
import Foundation
import TestRandom
import TestSupport
import Testing

/// Random edits of several clients and of their server, with lost requests and crashes. At the end, all clients and the
/// server have the same records.
///
/// Settings of the environment:
///
/// - `COHERENCE_SEED` runs one seed again.
/// - `COHERENCE_SEQUENCES` is the number of sequences in memory, 20 by default; the other stores run a tenth.
@Suite("Random forwarding")
struct ForwardingModelTests {
  private static let environment = ProcessInfo.processInfo.environment
  private static let sequences = environment["COHERENCE_SEQUENCES"].flatMap(Int.init) ?? 20

  @Test(arguments: Backend.available)
  func `clients and their server have the same records after cuts and crashes`(_ backend: Backend) async throws {
    let count = backend == .inMemory ? Self.sequences : max(1, Self.sequences / 10)
    let seeds =
      Self.environment["COHERENCE_SEED"].flatMap(UInt64.init).map { [$0] }
      ?? (0..<count).map { _ in UInt64.random(in: 0..<1_000_000_000) }
    for seed in seeds {
      do {
        let differences = try await ForwardingModel(backend, seed: seed).run()
        if !differences.isEmpty {
          Issue.record("COHERENCE_SEED=\(seed) on \(backend): \(differences.joined(separator: "; "))")
        }
      } catch {
        Issue.record("COHERENCE_SEED=\(seed) on \(backend): \(error)")
      }
    }
  }
}
