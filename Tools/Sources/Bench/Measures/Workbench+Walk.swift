import CBench
import Coherence
import Foundation

extension Workbench {
  /// Walks over 2,000 albums, their 19,000 tracks and the tracks' artists in SQLite, compared with one join.
  func walkMeasure() -> Measure {
    let library = scratch.fresh()
    let filled = Result {
      let music = try MusicLibrary(type: .sqlite, location: library)
      try music.fill()
      try music.close()
    }
    func music() throws -> MusicLibrary {
      try filled.get()
      return try MusicLibrary(type: .sqlite, location: library)
    }
    return walkMeasure(
      "walk", "SQLite",
      join: Side(name: "SQLite C, one join", role: .raw) {
        try filled.get()
        return try self.rawWalk(library)
      }, music)
  }

  /// The same in PostgreSQL.
  func walkMeasure(_ server: PostgreSQLServer) -> Measure {
    let schema = Result {
      let schema = try server.makeSchema()
      let music = try MusicLibrary(server, schema: schema)
      try music.fill()
      try music.close()
      try server.finishBackgroundWork()
      return schema
    }
    return walkMeasure(
      "postgresql-walk", "PostgreSQL",
      join: Side(name: "libpq, one join", role: .raw) {
        try self.rawWalk(server, schema: try schema.get())
      }
    ) { try MusicLibrary(server, schema: try schema.get()) }
  }

  private func walkMeasure(
    _ name: String, _ database: String, join: Side, _ music: @escaping () throws -> MusicLibrary
  ) -> Measure {
    func side(_ title: String, _ paths: [String]) -> Side {
      Side(name: title, role: .ours) {
        let music = try music()
        let sample = try music.walk(prefetching: paths)
        try music.close()
        return sample
      }
    }
    return Measure(
      name: name, title: "\(database): walk over albums, tracks and artists", items: MusicLibrary.trackCount,
      item: "track",
      sides: [join, side("Coherence", []), side("Coherence, prefetched", ["tracks", "tracks.artist"])],
      goals: [
        .between("Coherence", and: join.name, atMost: 4),
        .between("Coherence, prefetched", and: join.name, atMost: 2.5),
      ])
  }

  /// A to-one relationship whose target was read before.
  func toOneMeasure() -> Measure {
    let reads = 1_000_000
    return Measure(
      name: "to-one-again", title: "Read a to-one relationship again", items: reads, item: "read",
      sides: [
        Side(name: "Coherence", role: .ours) {
          try self.scratch.with { file in
            let music = try MusicLibrary(type: .sqlite, location: file)
            try music.fill()
            let sample = try music.readAgain(reads)
            try music.close()
            return sample
          }
        }
      ],
      goals: [.each(of: "Coherence", atMost: 20e-9)])
  }

  // MARK: Joins

  private static let join = """
    SELECT a."title", t."title", r."name" FROM "Album" a JOIN "Track" t ON t."album" = a."$id"
    JOIN "Artist" r ON r."$id" = t."artist" ORDER BY a."$id", t."$id"
    """

  private struct Line {
    let album: String
    let track: String
    let artist: String
  }

  private static func checksum(_ lines: [Line]) -> UInt64 { UInt64(lines.reduce(0) { $0 + $1.artist.utf8.count }) }

  private func rawWalk(_ file: URL) throws -> Sample {
    let connection = try RawSQLite(path: file.path)
    return try Stopwatch.sample {
      let statement = try connection.prepare(Self.join)
      var lines: [Line] = []
      while try statement.step() {
        lines.append(Line(album: statement.text(0), track: statement.text(1), artist: statement.text(2)))
      }
      return (Self.checksum(lines), lines)
    }
  }

  private func rawWalk(_ server: PostgreSQLServer, schema: String) throws -> Sample {
    let connection = try RawPostgreSQL(url: server.url, schema: schema)
    return try Stopwatch.sample {
      let result = PQexecParams(connection.handle, Self.join, 0, nil, nil, nil, nil, 1)
      defer { PQclear(result) }
      try connection.check(result)
      func text(_ row: Int32, _ column: Int32) -> String {
        PQgetvalue(result, row, column).map { String(cString: $0) } ?? ""
      }
      let lines = (0..<PQntuples(result)).map { Line(album: text($0, 0), track: text($0, 1), artist: text($0, 2)) }
      return (Self.checksum(lines), lines)
    }
  }
}
