import CBench
import Coherence
import Foundation
import Synchronization

extension Workbench {
  /// Streams all rows, and reads every attribute without keeping the rows.
  func streamMeasure() -> Measure {
    Measure(
      name: "stream", title: "Stream everything as snapshots and read every attribute", items: people.count,
      item: "row",
      sides: [
        Side(name: "SQLite C", role: .raw) {
          let connection = try RawSQLite(path: self.rawFile().path)
          return try Self.sample { try connection.forEach($0) }
        },
        Side(name: "GRDB, cursor", role: .grdb) {
          let database = try GRDBDatabase(path: self.rawFile().path)
          return try Self.sample { try database.forEach($0) }
        },
        Side(name: "Coherence", role: .ours) { try Self.stream(ObjectStore(file: self.objectLibrary().file)) },
      ],
      goals: [.ratio(to: .raw, atMost: 1.6)])
  }

  /// The same from PostgreSQL.
  func streamMeasure(_ server: PostgreSQLServer) -> Measure {
    Measure(
      name: "postgresql-stream", title: "PostgreSQL: stream everything as snapshots and read every attribute",
      items: people.count, item: "row",
      sides: [
        Side(name: "libpq, COPY", role: .raw) {
          let connection = try RawPostgreSQL(url: server.url, schema: server.rawSchema(self.people))
          return try Self.sample { try connection.forEachByCopy($0) }
        },
        Side(name: "Coherence", role: .ours) {
          try Self.stream(ObjectStore(url: server.url, schema: server.objectSchema(self.people)))
        },
      ],
      goals: [.ratio(to: .raw, atMost: 1.6)])
  }

  /// Measures the greatest growth of the allocated memory during a stream. The result must not depend on the number of
  /// rows.
  func streamMemoryMeasure() -> Measure {
    Measure(
      name: "stream-memory", title: "Memory of a stream of everything", unit: .bytes, items: 1, item: "stream",
      sides: [
        Side(name: "Coherence, snapshots", role: .ours) {
          let store = try ObjectStore(file: self.objectLibrary().file)
          let context = store.makeContext()
          let most = try OutboxStore.wait {
            var peak = PeakMemory()
            for try await _ in context.stream(FetchRequest(PersonObject.self), as: PersonSnapshot.self) {
              peak.count(1)
            }
            return peak.bytes
          }
          try store.close()
          return Sample(amount: most, checksum: nil)
        },
        Side(name: "Coherence, batches of objects", role: .ours) {
          let store = try ObjectStore(file: self.objectLibrary().file)
          let context = store.makeContext()
          let peak = SharedPeak()
          try OutboxStore.wait {
            try await context.forEachBatch(of: FetchRequest(PersonObject.self)) { peak.count($0.count) }
          }
          try store.close()
          return Sample(amount: peak.bytes, checksum: nil)
        },
      ],
      goals: [.each(of: "Coherence, snapshots", atMost: 64 * 1_048_576)])
  }

  private static func sample(_ read: (_ body: (Person) -> Void) throws -> Void) throws -> Sample {
    try Stopwatch.sample {
      var sum: UInt64 = 0
      try read { sum &+= $0.checksum }
      return (sum, ())
    }
  }

  private static func stream(_ store: ObjectStore) throws -> Sample {
    let context = store.makeContext()
    let sample = try Stopwatch.sample {
      let sum = try OutboxStore.wait {
        var sum: UInt64 = 0
        for try await person in context.stream(FetchRequest(PersonObject.self), as: PersonSnapshot.self) {
          sum &+= person.checksum
        }
        return sum
      }
      return (sum, ())
    }
    try store.close()
    return sample
  }
}

/// The greatest growth of the allocated memory in bytes, sampled every 10,000 records.
private struct PeakMemory {
  private let first = Double(benchAllocatedBytes())
  private var most = 0.0
  /// The number of records since the last sample.
  private var rest = 0

  /// The greatest growth so far.
  var bytes: Double { most }

  mutating func count(_ records: Int) {
    rest += records
    guard rest >= 10_000 else { return }
    rest = 0
    most = max(most, Double(benchAllocatedBytes()) - first)
  }
}

/// A ``PeakMemory`` for the concurrent blocks of a stream.
private final class SharedPeak: Sendable {
  private let peak = Mutex(PeakMemory())

  var bytes: Double { peak.withLock { $0.bytes } }

  func count(_ records: Int) { peak.withLock { $0.count(records) } }
}
