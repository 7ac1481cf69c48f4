import CoherenceCore
import CoherenceInMemory
import Testing

/// Fetches by an indexed attribute must find the same records as a scan of all records.
@Suite("Lookups of the in-memory store")
struct InMemoryLookupTests {
  /// Songs by a key of two attributes, with an indexed and a plain attribute; covers are a subentity.
  private static func makeModel() throws -> ManagedObjectModel {
    try ManagedObjectModel {
      Entity("Song", indexes: [["genre"]], userInfo: ["uniquenessAttributes": "label, number"]) {
        Attribute("label", .string, optional: true)
        Attribute("number", .int64, optional: true)
        Attribute("genre", .string, optional: true)
        Attribute("rating", .int64, optional: true)
      }
      Entity("Cover", parent: "Song", uniqueness: [["singer", "year"]]) {
        Attribute("singer", .string, optional: true)
        Attribute("year", .int64, optional: true)
      }
    }
  }

  private static func change(_ song: ManagedObject) throws {
    let labels: [String?] = ["L", "M", nil]
    let genres: [String?] = ["jazz", "rock", "", nil]
    try song.setValue(labels.randomElement().flatMap { $0 }, for: "label")
    try song.setValue(Int64.random(in: 0..<5), for: "number")
    try song.setValue(genres.randomElement().flatMap { $0 }, for: "genre")
    try song.setValue(Int64.random(in: 0..<5), for: "rating")
    if song.entity.name == "Cover" { try song.setValue(labels.randomElement().flatMap { $0 }, for: "singer") }
  }

  @Test func `fetches by keys and indexes return the same records as a filter over all records after any change`()
    throws
  {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: try Self.makeModel())
    try coordinator.addPersistentStore(type: .inMemory, options: [StoreOption.allowsDuplicateKeys: true])
    let context = ManagedObjectContext(coordinator: coordinator)
    let formats = [
      "label == 'L'", "label == 'L' AND number == 3", "number IN {1, 2, 9}", "genre == ''", "genre == NIL",
      "genre IN {'jazz', 'rock'} AND rating > 2", "label == 'M' OR number == 1", "NOT (genre == 'jazz')",
    ]
    try context.performAndWait {
      for round in 0..<30 {
        for _ in 0..<5 {
          try Self.change(context.insertNewObject(forEntityName: Bool.random() ? "Song" : "Cover"))
        }
        let songs = try context.fetch(FetchRequest<ManagedObject>(entityName: "Song"))
        for song in songs.shuffled().prefix(4) { try Self.change(song) }
        for song in songs.shuffled().prefix(3) { context.delete(song) }
        if round % 5 == 4 { context.rollback() } else { try context.save() }
        try check(formats, in: coordinator)
      }
    }
  }

  private func check(_ formats: [String], in coordinator: PersistentStoreCoordinator) throws {
    let reader = ManagedObjectContext(coordinator: coordinator)
    func keys(_ name: String, _ predicate: FetchPredicate) throws -> Set<ManagedObjectID> {
      var request = FetchRequest<ManagedObject>(entityName: name)
      request.predicate = predicate
      return try reader.performAndWait { Set(try reader.fetch(request).map(\.objectID)) }
    }
    for name in ["Song", "Cover"] {
      for format in formats {
        let predicate = try FetchPredicate(format: format)
        let found = try keys(name, predicate)
        // No index serves an alternative: the store looks at every record.
        let expected = try keys(name, .or([predicate, .constant(false)]))
        #expect(found == expected, "\(name): \(format)")
      }
    }
  }
}
