import Coherence
import Foundation

extension Workbench {
  /// Measures four workers of one process that claim, run and complete no-op actions, and keep them in the history.
  func persistedActionMeasure() -> Measure {
    let count = 40_000
    let name = "Coherence, four workers"
    return Measure(
      name: "persisted-actions", title: "Persisted no-op actions on SQLite, claimed and completed", items: count,
      item: "action",
      sides: [
        Side(name: name, role: .ours) {
          try self.scratch.with { file in
            try PersistedActionBench(StoreConfiguration(type: .sqlite, location: file)).throughput(count)
          }
        }
      ],
      // 20,000 in a second.
      goals: [.each(of: name, atMost: 50e-6)])
  }

  /// The same on PostgreSQL.
  func persistedActionMeasure(_ server: PostgreSQLServer) -> Measure {
    let count = 20_000
    let name = "Coherence, four workers"
    return Measure(
      name: "postgresql-persisted-actions", title: "Persisted no-op actions on PostgreSQL, claimed and completed",
      items: count, item: "action",
      sides: [
        Side(name: name, role: .ours) {
          try server.withSchema { try PersistedActionBench(server, schema: $0).throughput(count) }
        }
      ],
      // 8,000 in a second.
      goals: [.each(of: name, atMost: 125e-6)])
  }

  /// Measures the time from the beginning of a save with a new action to the start of the action by an idle worker.
  func persistedActionLatencyMeasure() -> Measure {
    let count = 200
    let name = "Coherence, from save to start"
    return Measure(
      name: "persisted-actions-latency", title: "Latency of persisted actions on SQLite, slowest of a hundred",
      items: 1, item: "start",
      sides: [
        Side(name: name, role: .ours) {
          try self.scratch.with { file in
            try PersistedActionBench(StoreConfiguration(type: .sqlite, location: file)).latency(count)
          }
        }
      ],
      goals: [.each(of: name, atMost: 20e-3)])
  }

  /// The same on PostgreSQL.
  func persistedActionLatencyMeasure(_ server: PostgreSQLServer) -> Measure {
    let count = 200
    let name = "Coherence, from save to start"
    return Measure(
      name: "postgresql-persisted-actions-latency",
      title: "Latency of persisted actions on PostgreSQL, slowest of a hundred", items: 1, item: "start",
      sides: [
        Side(name: name, role: .ours) {
          try server.withSchema { try PersistedActionBench(server, schema: $0).latency(count) }
        }
      ],
      goals: [.each(of: name, atMost: 20e-3)])
  }
}
