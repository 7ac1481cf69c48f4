import Coherence
import Foundation

/// The data of the measures: the rows, and stores that contain them.
final class Workbench {
  let people: [Person]
  let scratch: Scratch
  /// The server of the PostgreSQL measures.
  let postgreSQL: PostgreSQLServer?
  private var rawLibrary: URL?
  private var library: ObjectLibrary?
  private var personFile: URL?

  init(rows: Int, directory: URL, postgreSQL url: String?) throws {
    people = PersonGenerator.people(rows)
    scratch = try Scratch(in: directory)
    postgreSQL = try url.map { try PostgreSQLServer(url: $0) }
  }

  /// A SQLite file with all rows in a plain table.
  func rawFile() throws -> URL {
    if let rawLibrary { return rawLibrary }
    let file = scratch.fresh()
    let connection = try RawSQLite(path: file.path)
    try connection.execute(RawSQLite.table)
    try connection.insert(people)
    rawLibrary = file
    return file
  }

  /// A Coherence store in SQLite with all rows.
  func objectLibrary() throws -> ObjectLibrary {
    if let library { return library }
    let file = scratch.fresh()
    let ids = try ObjectStore.once(ObjectStore(file: file)) { try $0.insert(people).map(\.objectID) }
    let made = ObjectLibrary(file: file, ids: ids)
    library = made
    return made
  }

  /// A Coherence store in SQLite with all rows, written by a mapping.
  func personLibrary() throws -> URL {
    if let personFile { return personFile }
    let file = scratch.fresh()
    let store = try PersonStore(file: file)
    try store.insert(people)
    try store.close()
    personFile = file
    return file
  }

  /// The indexes of some rows, in a random order, which a fixed seed repeats in every run.
  func shuffledIndexes(_ count: Int, among limit: Int? = nil) -> [Int] {
    var random = SplitMix64(seed: 42)
    return Array((0..<(limit ?? people.count)).shuffled(using: &random).prefix(count))
  }
}

/// A Coherence store with all rows.
struct ObjectLibrary {
  let file: URL
  /// The identifiers, in the order of the rows.
  let ids: [ManagedObjectID]
}
