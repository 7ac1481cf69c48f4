import CoherenceCore
import TestSupport
import Foundation
import Testing

/// The statements of predicates that calculate or read members, in the logs of SQL stores.
@Suite struct ExpressionStatementTests {
  /// A store of albums with ten tracks each: the track with the number n has n plays and nine skips.
  private struct Library {
    private let stack: LoggedStore

    init(_ backend: Backend, albums: Int) throws {
      let model = try ManagedObjectModel {
        Entity("Album") {
          Attribute("code", .int64)
          Relationship("tracks", toMany: "Track", inverse: "album")
        }
        Entity("Track") {
          Attribute("title", .string)
          Attribute("plays", .int64)
          Attribute("skips", .int64)
          Relationship("album", toOne: "Album", inverse: "tracks")
        }
      }
      stack = try LoggedStore(backend, model)
      try stack.write { context in
        for code in 0..<albums {
          let album = try context.insertNewObject(forEntityName: "Album")
          try album.setValue(code, for: "code")
          for number in 0..<10 {
            let track = try context.insertNewObject(forEntityName: "Track")
            try track.setValue("track \(number)", for: "title")
            try track.setValue(number, for: "plays")
            try track.setValue(9, for: "skips")
            try track.setObject(album, for: "album")
          }
        }
      }
    }

    /// Expects that the engine evaluates a whole predicate, and that a fetch and a count are one statement each.
    func expect(
      _ found: Int, _ entity: String, _ format: String, sort: [SortKey] = [],
      sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
      var request = FetchRequest<ManagedObject>(entityName: entity).filter(try FetchPredicate(format: format))
      request.sortKeys = sort
      let context = stack.context()
      let log = stack.log
      try context.performAndWait {
        let explanation = try context.explain(request)
        let residuals = explanation.stores.first?.query.residuals
        #expect(explanation.predicate == .store, "\(format)", sourceLocation: sourceLocation)
        #expect(residuals?.isEmpty == true, "\(format): \(residuals ?? [])", sourceLocation: sourceLocation)
        if !sort.isEmpty { #expect(explanation.order == .store, "\(format)", sourceLocation: sourceLocation) }
        log.removeAll()
        #expect(try context.fetch(request).count == found, "\(format)", sourceLocation: sourceLocation)
        #expect(log.reads.count == 1, "\(format): \(log.reads)", sourceLocation: sourceLocation)
        log.removeAll()
        #expect(try context.count(for: request) == found, "\(format)", sourceLocation: sourceLocation)
        #expect(log.reads.count == 1, "\(format): \(log.reads)", sourceLocation: sourceLocation)
      }
    }
  }

  @Test(arguments: Backend.availableSQL, [1, 100])
  func `a predicate with arithmetic or a subquery is one statement for any number of records`(
    backend: Backend, albums: Int
  ) throws {
    let library = try Library(backend, albums: albums)
    try library.expect(5 * albums, "Track", "plays * 2 + 1 > skips")
    try library.expect(5 * albums, "Track", "modulus:by:(plays, 2) == 1")
    try library.expect(albums, "Album", "SUBQUERY(tracks, $track, $track.plays > 5).@count == 4")
    try library.expect(0, "Album", "SUBQUERY(tracks, $t, $t.plays + $t.skips > 18).@count > 0")
    try library.expect(0, "Album", "SUBQUERY(tracks, $t, $t.plays + $t.skips > 17).@count > 1")
    try library.expect(albums, "Album", "SUBQUERY(tracks, $t, $t.plays + $t.skips > 17).@count > 0")
  }

  @Test(arguments: Backend.availableSQL, [1, 100])
  func `a condition on members is one statement for any number of owners`(backend: Backend, albums: Int) throws {
    let library = try Library(backend, albums: albums)
    try library.expect(albums, "Album", "ANY tracks.plays == 9")
    try library.expect(0, "Album", "ANY tracks.plays == 10")
    try library.expect(albums, "Album", "ALL tracks.plays < 10")
    try library.expect(0, "Album", "ALL tracks.plays < 9")
    try library.expect(albums, "Album", "NONE tracks.title == 'track 10'")
    try library.expect(albums, "Album", "tracks.@count == 10")
    try library.expect(0, "Album", "tracks.@count < 10")
    try library.expect(9 * albums, "Track", "ANY album.tracks.plays == 9 AND plays < 9")
  }

  @Test(arguments: Backend.availableSQL, [1, 100])
  func `an aggregate of members in a condition is one statement for any number of owners`(
    backend: Backend, albums: Int
  ) throws {
    let library = try Library(backend, albums: albums)
    try library.expect(albums, "Album", "tracks.@sum.plays == 45")
    try library.expect(0, "Album", "tracks.@sum.plays > 45")
    try library.expect(albums, "Album", "tracks.@avg.plays == 4.5")
    try library.expect(0, "Album", "tracks.@avg.plays > 4.5")
    try library.expect(albums, "Album", "tracks.@min.plays == 0 AND tracks.@max.plays == 9")
    try library.expect(albums, "Album", "tracks.@min.title == 'track 0' AND tracks.@max.title == 'track 9'")
    try library.expect(10 * albums, "Track", "album.tracks.@sum.skips == 90")
  }

  @Test(arguments: Backend.availableSQL)
  func `an order by an aggregate of members is the engine's`(backend: Backend) throws {
    let library = try Library(backend, albums: 3)
    let keys = ["tracks.@count", "tracks.@sum.plays", "tracks.@avg.plays", "tracks.@min.title", "tracks.@max.plays"]
    for key in keys { try library.expect(3, "Album", "code >= 0", sort: [SortKey(key, .reverse), SortKey("code")]) }
  }
}
