import CoherenceCore
import TestSupport
import Testing

/// The statements that count members in a context with unsaved deletes of members, in the logs of SQL stores.
@Suite struct LeftOutMemberTests {
  final class Record: ManagedObject {
    static let genresKey = ToManyKey<Genre>("genres")
    static let creditsKey = ToManyKey<Genre>("credits")
    var genres: ToMany<Genre> { self[Self.genresKey] }
    var credits: ToMany<Genre> { self[Self.creditsKey] }
  }
  final class Genre: ManagedObject {}

  private static func model() throws -> ManagedObjectModel {
    try ManagedObjectModel {
      Entity("Record", class: Record.self) {
        Relationship("genres", toMany: "Genre", inverse: "records")
        Relationship("credits", toMany: "Genre", inverse: nil)
      }
      Entity("Genre", class: Genre.self) { Relationship("records", toMany: "Record", inverse: "genres") }
    }
  }

  /// Returns the number of reads that count the members of records: five members each, of which the context has deleted
  /// three.
  private func readCount(forCountsOf recordCount: Int, in backend: Backend) throws -> Int {
    let stack = try LoggedStore(backend, Self.model())
    defer { stack.close() }
    try stack.write { context in
      let genres = try (0..<5).map { _ in try Genre(context: context) }
      for _ in 0..<recordCount {
        let record = try Record(context: context)
        try record.setObjects(genres, for: "genres")
        try record.setObjects(genres, for: "credits")
      }
    }
    let context = stack.context()
    return try context.performAndWait {
      for genre in try context.fetch(FetchRequest(Genre.self).limit(3)) { context.delete(genre) }
      try context.processPendingChanges()
      // Afterwards other writers may have added the deleted genres to any list.
      context.refreshAll()
      let records = try context.fetch(FetchRequest(Record.self))
      #expect(records.count == recordCount)
      stack.log.removeAll()
      for record in records {
        #expect(record.genres.count == 2 && record.credits.count == 2)
        #expect(!record.genres.isEmpty && !record.credits.isEmpty)
      }
      return stack.log.reads.count
    }
  }

  @Test(arguments: Backend.availableSQL)
  func `beside unsaved deletes, the members of all owners of a fetch are counted together`(backend: Backend) throws {
    let few = try readCount(forCountsOf: 10, in: backend)
    let many = try readCount(forCountsOf: 300, in: backend)
    #expect(many <= few + 4, "\(few) \(many)")
  }
}
