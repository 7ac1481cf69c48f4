/// A song in the service's format; artist and genres are numbers.
struct SongRecord: Codable, Sendable, Hashable {
  var id: Int64
  var title: String
  var note: String?
  var artist: Int64
  /// In order.
  var genres: [Int64]
}

/// An artist or a genre.
struct NamedRecord: Codable, Sendable, Hashable {
  var id: Int64
  var name: String
}

struct Page<Record: Codable & Sendable>: Codable, Sendable {
  /// The cursor of the next page; `nil` in the last.
  var next: String?
  var records: [Record]
}

/// The content of the service, calculated from the number of songs.
struct Catalogue: Sendable {
  var songCount: Int

  let pageSize: Int
  let artists: [NamedRecord]
  let genres: [NamedRecord]

  init(songCount: Int) {
    self.songCount = songCount
    pageSize = max(songCount / 50, 1)
    artists = (1...max(songCount / 50, 1)).map { NamedRecord(id: Int64($0), name: "Artist \($0)") }
    genres = (1...11).map { NamedRecord(id: Int64($0), name: "Genre \($0)") }
  }

  var songs: [SongRecord] { (1...songCount).map { song($0) } }

  func song(_ number: Int) -> SongRecord {
    SongRecord(
      id: Int64(number), title: "Song \(number)", note: number % 3 == 0 ? nil : "Note \(number)",
      artist: artists[number % artists.count].id,
      genres: Set([number % 7, number % 11].map { genres[$0].id }).sorted())
  }
}
