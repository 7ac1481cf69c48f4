import CoherenceCore
import TestSupport
import Testing

/// The statements of saves in a model with values derived from other records.
@Suite(.needsServer) struct DerivationStatementTests {
  private let stack: LoggedStore
  private let context: ManagedObjectContext

  private var log: MessageLog { stack.log }

  init() throws {
    let model = try ManagedObjectModel {
      Entity("Album") {
        Attribute("trackCount", .int64, derived: .count("tracks"))
        Relationship("tracks", toMany: "Track", inverse: "album")
      }
      Entity("Track") {
        Attribute("title", .string, optional: true)
        Relationship("album", toOne: "Album", inverse: "tracks")
      }
    }
    stack = try LoggedStore(.postgreSQL, model)
    context = stack.context()
  }

  /// The number of pipelines that a save sends before it commits.
  private func pipelineCount(_ change: (ManagedObjectContext) throws -> Void) throws -> Int {
    try context.performAndWait {
      try change(context)
      log.removeAll()
      try context.save()
    }
    return log.messages.count { $0.hasPrefix("save, ") }
  }

  @Test func `a save that changes counts sends one pipeline, as a save without derived values does`() throws {
    #expect(try pipelineCount { _ = try $0.insertNewObject(forEntityName: "Album") } == 1)
    for count in [1, 20] {
      let pipelines = try pipelineCount { context in
        let album = try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Album")).first)
        for _ in 0..<count {
          try context.insertNewObject(forEntityName: "Track").setObject(album, for: "album")
        }
      }
      #expect(pipelines == 1)
    }
    let album = try context.performAndWait {
      try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Album")).first).value(for: "trackCount")
    }
    #expect(album == .int(21))
  }
}
