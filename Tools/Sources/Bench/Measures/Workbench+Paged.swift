import Coherence
import Foundation

extension Workbench {
  /// A list of all rows by their age, of which the first fifty and the last fifty are read. Each side opens its file
  /// anew, outside of the sample.
  func pagedMeasure() -> Measure {
    Measure(
      name: "paged", title: "Open a list of everything, and read the first and the last 50 rows", items: 1,
      item: "list",
      sides: [
        Side(name: "SQLite C", role: .raw, run: rawPages),
        Side(name: "Coherence", role: .ours, run: objectPages),
        Side(name: "Coherence, fetch of everything", role: .ours, run: sortedFetch),
      ],
      goals: [.between("Coherence", and: "SQLite C", atMost: 2)])
  }

  private static let page = 50

  private func rawPages() throws -> Sample {
    let connection = try RawSQLite(path: rawFile().path)
    return try Stopwatch.sample {
      try connection.transaction("DEFERRED") {
        let ids = try connection.idsByAge()
        let people =
          try connection.fetchTogether(Array(ids.prefix(Self.page)))
          + connection.fetchTogether(Array(ids.suffix(Self.page)))
        return (people.checksum, (ids, people))
      }
    }
  }

  private func objectPages() throws -> Sample {
    try ObjectStore.once(ObjectStore(file: objectLibrary().file)) { context in
      try Stopwatch.sample {
        let list = try context.list(FetchRequest(PersonObject.self).sort("age"), batchSize: Self.page)
        let people =
          try list.objects(in: 0..<min(Self.page, list.count))
          + list.objects(in: max(0, list.count - Self.page)..<list.count)
        return (people.checksum, (list, people))
      }
    }
  }

  private func sortedFetch() throws -> Sample {
    try ObjectStore.once(ObjectStore(file: objectLibrary().file)) { context in
      try Stopwatch.sample {
        let all = try context.fetch(FetchRequest(PersonObject.self).sort("age"))
        let people = Array(all.prefix(Self.page)) + Array(all.suffix(Self.page))
        return (people.checksum, (all, people))
      }
    }
  }
}

extension RawSQLite {
  /// The keys of all rows, by age.
  fileprivate func idsByAge() throws -> [Int64] {
    let statement = try prepare("SELECT id FROM person ORDER BY age, id")
    var ids: [Int64] = []
    while try statement.step() { ids.append(statement.integer(0)) }
    return ids
  }

  /// Reads records by key with one statement.
  fileprivate func fetchTogether(_ ids: [Int64]) throws -> [Person] {
    let places = ids.map { _ in "?" }.joined(separator: ", ")
    let statement = try prepare("SELECT \(Self.columns) FROM person WHERE id IN (\(places))")
    for (index, id) in ids.enumerated() { statement.bind(id, at: Int32(index + 1)) }
    var people: [Person] = []
    while try statement.step() { people.append(statement.person()) }
    return people
  }
}
