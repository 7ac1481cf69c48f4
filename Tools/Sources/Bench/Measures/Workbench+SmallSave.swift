import Coherence
import Foundation

extension Workbench {
  /// Measures successive saves of ten changed objects, without the sync of the commit. Runs with few and with many
  /// registered objects, because the cost must not depend on their number.
  func smallSaveMeasure() -> Measure {
    let few = min(1000, people.count)
    let names = [few, people.count].map { "Coherence, \($0.formatted()) registered" }
    return Measure(
      name: "small-save", title: "Save ten changed objects, synchronous off", items: Self.saves, item: "save",
      sides: [
        Side(name: "SQLite C", role: .raw) { try self.rawSaves() },
        Side(name: "GRDB", role: .grdb) { try self.grdbSaves() },
        Side(name: names[0], role: .ours) { try self.objectSaves(registered: few) },
        Side(name: names[1], role: .ours) { try self.objectSaves(registered: self.people.count) },
      ],
      goals: [.each(of: names[1], atMost: 100e-6), .between(names[1], and: names[0], atMost: 1.25)])
  }

  private static let saves = 100
  private static let changes = 10

  /// The indexes of the changed rows, all among the first thousand.
  private func batches() -> [[Int]] {
    let indexes = shuffledIndexes(Self.saves * Self.changes, among: min(1000, people.count))
    return (0..<Self.saves).map { save in
      (0..<Self.changes).map { indexes[(save * Self.changes + $0) % indexes.count] }
    }
  }

  private func rawSaves() throws -> Sample {
    try scratch.with(copyOf: rawFile()) { file in
      let connection = try RawSQLite(path: file.path, synchronous: "OFF")
      _ = try connection.fetchAll()
      let batches = batches().map { $0.map { people[$0].id } }
      let statement = try connection.prepareUpdate()
      let seconds = try Stopwatch.seconds {
        for (age, ids) in batches.enumerated() { try connection.update(ids, age: age, with: statement) }
      }
      return Sample(amount: seconds, checksum: try connection.fetchAll().checksum)
    }
  }

  private func grdbSaves() throws -> Sample {
    try scratch.with(copyOf: rawFile()) { file in
      let database = try GRDBDatabase(path: file.path, synchronous: "OFF")
      _ = try database.fetchAll()
      var batches = batches().map { $0.map { people[$0] } }
      let seconds = try Stopwatch.seconds {
        for age in batches.indices { try database.update(&batches[age], age: age) }
      }
      return Sample(amount: seconds, checksum: try database.fetchAll().checksum)
    }
  }

  private func objectSaves(registered count: Int) throws -> Sample {
    let library = try objectLibrary()
    return try scratch.with(copyOf: library.file) { file in
      let store = try ObjectStore(file: file, synchronous: "off")
      let context = store.makeContext()
      let seconds = try context.performAndWait {
        let all = try context.fetchPeople(limit: count)
        let batches = try batches().map { try context.people(with: $0.map { library.ids[$0] }) }
        return try withExtendedLifetime(all) {
          try Stopwatch.seconds {
            for (age, people) in batches.enumerated() {
              for person in people { person.age = age }
              try context.save()
            }
          }
        }
      }
      return Sample(amount: seconds, checksum: try store.readBack())
    }
  }
}
