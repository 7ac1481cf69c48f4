import Testing

@testable import CoherenceCore

/// The revisions of the records of a live result after batch requests.
@Suite struct BatchRevisionTests {
  private final class Sink: ResultSink {
    func receive(_ delivery: ResultDelivery, in context: ManagedObjectContext) {}
    func end(_ error: (any Error)?) {}
  }

  @Test func `several batch requests of one turn give a listed record one new revision`() throws {
    let model = try ManagedObjectModel {
      Entity("Album") { Relationship("notes", toMany: "Note", inverse: "album") }
      Entity("Note") {
        Attribute("title", .string)
        Relationship("album", toOne: "Album", inverse: "notes")
      }
    }
    let coordinator = try PersistentStoreCoordinator(inMemory: model)
    let writer = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
    let reader = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
    let titles = ["a", "b", "c"]
    try writer.performAndWait {
      try writer.insertNewObject(forEntityName: "Album")
      for title in titles { try writer.insertNewObject(forEntityName: "Note").setValue(title, for: "title") }
      try writer.save()
    }
    let sink = Sink()
    let albums = try CheckedRequest(
      FetchRequest<ManagedObject>(entityName: "Album"), sectionKeyPath: nil, in: coordinator)
    let result = try reader.performAndWait {
      try #require(ContextLiveResults.of(reader)).add(albums, for: sink, in: reader)
    }
    let before = try #require(result.entriesByID.values.first).revision
    // The reader processes the three requests together, at the end of its block.
    try reader.performAndWait {
      try writer.performAndWait {
        for title in titles {
          let isNamed = FetchPredicate.comparison(
            .path(PropertyPath(names: ["title"])), .equal, .value(.string(title)), [])
          let deleted = try writer.execute(BatchDeleteRequest(entityName: "Note", predicate: isNamed))
          #expect(deleted.count == 1)
        }
      }
    }
    let after = try #require(result.entriesByID.values.first).revision
    #expect(after == before + 1)
    withExtendedLifetime(sink) {}
  }
}
