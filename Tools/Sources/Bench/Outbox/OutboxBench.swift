import Coherence
import CoherenceOutbox
import Foundation

/// The measures of the outbox: its share of a save, lists of many entries, and forwarding.
final class OutboxBench {
  private let workbench: Workbench
  /// A store with a million entries, and cursors at equal distances in its list.
  private var library: (store: OutboxStore, cursors: [OutboxCursor])?

  init(_ workbench: Workbench) { self.workbench = workbench }

  func measures() -> [Measure] {
    [
      saveMeasure("outbox-small-save", changes: 10, saves: 200),
      saveMeasure("outbox-save", changes: 100, saves: 50), pageMeasure(), forwardMeasure(),
    ]
  }

  // MARK: Saves

  private func saveMeasure(_ name: String, changes: Int, saves: Int) -> Measure {
    let ours = SidePair("Coherence, with outbox", over: "Coherence, without outbox")
    let raw = SidePair("SQLite C, with a second row", over: "SQLite C, the changes alone")
    return Measure(
      name: name, title: "Save \(changes) changed objects, synchronous off", items: saves, item: "save",
      sides: [
        Side(name: raw.without, role: .raw) { try self.saveInC(changes, times: saves, false) },
        Side(name: raw.with, role: .raw) { try self.saveInC(changes, times: saves, true) },
        Side(name: ours.without, role: .ours) { try self.save(changes, times: saves, false) },
        Side(name: ours.with, role: .ours) { try self.save(changes, times: saves, true) },
      ],
      goals: [.betweenRatios(ours, and: raw, atMost: 1.15)])
  }

  /// Makes the same changes by SQLite's C interface, with the row that an outbox adds to each save.
  private func saveInC(_ changes: Int, times: Int, _ isRecording: Bool) throws -> Sample {
    try workbench.scratch.with { file in
      let database = try RawSQLite(path: file.path, synchronous: "OFF")
      try database.execute(RawSQLite.table)
      try database.insert(Array(workbench.people.prefix(1000)))
      let log = try RawLog(in: database, changes: changes)
      let update = try database.prepareUpdate()
      let ids = workbench.people.prefix(1000).map(\.id)
      let seconds = try Stopwatch.seconds {
        for round in 0..<times {
          try database.transaction {
            for index in 0..<changes {
              try update.run(Int64(round + 1000), ids[(round * changes + index) % ids.count])
            }
            if isRecording { try log.append() }
          }
        }
      }
      return Sample(amount: seconds)
    }
  }

  private func save(_ changes: Int, times: Int, _ isRecording: Bool) throws -> Sample {
    try workbench.scratch.with { file in
      // The people are inserted without entries, so that both sides change the same store.
      let setup = try OutboxStore(file: file, records: false)
      try setup.insert(workbench.people.prefix(1000), perSave: 1000)
      try setup.close()
      let store = try OutboxStore(file: file, records: isRecording)
      let context = store.container.newBackgroundContext()
      let seconds = try context.performAndWait {
        let people = try context.fetchPeople()
        return try Stopwatch.seconds {
          for round in 0..<times {
            for index in 0..<changes { people[(round * changes + index) % people.count].age = round + 1000 }
            try context.save()
          }
        }
      }
      let sum = try context.performAndWait { try context.fetchPeople().checksum }
      try store.close()
      return Sample(amount: seconds, checksum: sum)
    }
  }

  // MARK: Lists

  private static let entryCount = 1_000_000
  private static let pageDistance = 50_000

  private func pageMeasure() -> Measure {
    let count = Self.entryCount / Self.pageDistance
    let name = "Coherence, pages of 100"
    return Measure(
      name: "outbox-pages", title: "Pages of an outbox with a million entries", items: count, item: "page",
      sides: [Side(name: name, role: .ours) { try self.listPages() }], goals: [.each(of: name, atMost: 0.05)])
  }

  private func listPages() throws -> Sample {
    let library = try madeLibrary()
    guard let outbox = library.store.outbox else { throw BenchError("The store has no outbox.") }
    let cursors = library.cursors
    return try Stopwatch.sample {
      let pages = try OutboxStore.wait { () async throws -> [[OutboxEntry]] in
        var pages = [try await outbox.entries(limit: 100)]
        for cursor in cursors { pages.append(try await outbox.entries(limit: 100, after: cursor)) }
        return pages
      }
      return (UInt64(pages.joined().count), pages)
    }
  }

  private func madeLibrary() throws -> (store: OutboxStore, cursors: [OutboxCursor]) {
    if let library { return library }
    let store = try OutboxStore(file: workbench.scratch.fresh(), records: true)
    var rest = Self.entryCount
    while rest > 0 {
      let part = workbench.people.prefix(min(rest, 10_000))
      try store.insert(part, perSave: 10_000)
      rest -= part.count
    }
    guard let outbox = store.outbox else { throw BenchError("The store has no outbox.") }
    let cursors = try OutboxStore.wait { () async throws -> [OutboxCursor] in
      var cursors: [OutboxCursor] = []
      while cursors.count < Self.entryCount / Self.pageDistance - 1 {
        let page = try await outbox.entries(limit: Self.pageDistance, after: cursors.last)
        guard let last = page.last else { break }
        cursors.append(last.cursor)
      }
      return cursors
    }
    library = (store, cursors)
    return (store, cursors)
  }

  // MARK: Forwarding

  private func forwardMeasure() -> Measure {
    let count = min(20_000, workbench.people.count)
    return Measure(
      name: "outbox-forward", title: "Forward inserts to a handler without work", items: count, item: "edit",
      sides: [
        Side(name: "Coherence, single edits", role: .ours) { try self.forward(count, isBatch: false) },
        Side(name: "Coherence, batches of 100", role: .ours) { try self.forward(count, isBatch: true) },
      ],
      goals: [])
  }

  private func forward(_ count: Int, isBatch: Bool) throws -> Sample {
    try workbench.scratch.with { file in
      let store = try OutboxStore(file: file, records: true)
      try store.insert(workbench.people.prefix(count), perSave: 1000)
      guard let outbox = store.outbox else { throw BenchError("The store has no outbox.") }
      try outbox.forward("Person") { handlers in
        handlers.insert { _ in .accepted }
        guard isBatch else { return }
        handlers.batch(limit: 100) { requests in
          Dictionary(requests.map { ($0.idempotencyKey, .accepted) }) { first, _ in first }
        }
      }
      let seconds = try Stopwatch.seconds {
        let rest = try OutboxStore.wait { () async throws -> Int in
          try outbox.start(ForwardOptions(concurrency: 16, lookahead: 240))
          let rest = try await outbox.flush()
          await outbox.stop()
          return rest
        }
        guard rest == 0 else { throw BenchError("\(rest) edits were not sent.") }
      }
      let accepted = UInt64(outbox.statistics.accepted)
      try store.close()
      return Sample(amount: seconds, checksum: accepted)
    }
  }
}
