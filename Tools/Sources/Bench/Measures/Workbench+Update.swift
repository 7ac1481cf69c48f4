import Coherence
import Foundation

extension Workbench {
  /// Updates one attribute of some registered objects, and saves. Each run works on a copy of the file.
  func updateMeasure() -> Measure {
    let indexes = shuffledIndexes(min(10_000, people.count))
    return Measure(
      name: "update", title: "Change one attribute of 10,000 among all registered objects and save",
      items: indexes.count, item: "change",
      sides: [
        Side(name: "SQLite C", role: .raw) {
          try self.scratch.with(copyOf: self.rawFile()) { try self.rawUpdate($0, indexes) }
        },
        Side(name: "GRDB", role: .grdb) {
          try self.scratch.with(copyOf: self.rawFile()) { try self.grdbUpdate($0, indexes) }
        },
        Side(name: "Coherence", role: .ours) {
          try self.scratch.with(copyOf: self.objectLibrary().file) { try self.objectUpdate($0, indexes) }
        },
      ],
      goals: [.ratio(to: .raw, atMost: 1.6)])
  }

  /// An age that no generated row has.
  private static let newAge = 100

  private func rawUpdate(_ file: URL, _ indexes: [Int]) throws -> Sample {
    let connection = try RawSQLite(path: file.path)
    // Coherence's side has read all rows before, so this connection fills its page cache too.
    _ = try connection.fetchAll()
    let ids = indexes.map { people[$0].id }
    let seconds = try Stopwatch.seconds {
      let statement = try connection.prepareUpdate()
      try connection.update(ids, age: Self.newAge, with: statement)
    }
    return Sample(amount: seconds, checksum: try connection.fetchAll().checksum)
  }

  private func grdbUpdate(_ file: URL, _ indexes: [Int]) throws -> Sample {
    let database = try GRDBDatabase(path: file.path)
    _ = try database.fetchAll()
    var changed = indexes.map { people[$0] }
    let seconds = try Stopwatch.seconds { try database.update(&changed, age: Self.newAge) }
    return Sample(amount: seconds, checksum: try database.fetchAll().checksum)
  }

  private func objectUpdate(_ file: URL, _ indexes: [Int]) throws -> Sample {
    let ids = try indexes.map { index in try objectLibrary().ids[index] }
    let store = try ObjectStore(file: file)
    let context = store.makeContext()
    let seconds = try context.performAndWait {
      let all = try context.fetchPeople()
      let chosen = try context.people(with: ids)
      return try withExtendedLifetime(all) {
        try Stopwatch.seconds {
          for person in chosen { person.age = Self.newAge }
          try context.save()
        }
      }
    }
    return Sample(amount: seconds, checksum: try store.readBack())
  }
}
