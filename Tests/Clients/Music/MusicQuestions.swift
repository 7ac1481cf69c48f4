import Coherence
import Foundation

/// What a music library is asked every day. Each question is one request.
enum MusicQuestions {
  /// The albums with the most tracks, those with equal numbers by title.
  static func longestAlbums(_ limit: Int, in context: ManagedObjectContext) throws -> [String] {
    try context.fetch(FetchRequest(Album.self).sort(\.tracks.count, .reverse).sort(\.title).limit(limit)).map(\.title)
  }

  /// The time of all tracks of each artist, the longest first.
  static func playingTimes(in context: ManagedObjectContext) throws -> [(artist: String?, time: Duration)] {
    let request = FetchRequest(Track.self)
      .grouped { ($0.album.artist.name, $0.length.sum) }
      .sort(\.length.sum, .reverse).sort(\.album.artist.name)
    return try context.fetchRows(request).map { (artist: $0.0, time: $0.1) }
  }

  static func artistsWithoutAlbums(in context: ManagedObjectContext) throws -> Int {
    try context.count(for: FetchRequest(Artist.self).filter { $0.albums.count == 0 })
  }

  /// The albums whose tracks are all shorter than five minutes.
  static func albumsOfShortTracks(in context: ManagedObjectContext) throws -> Int {
    try context.count(for: FetchRequest(Album.self).filter { $0.tracks.all { $0.length < .seconds(300) } })
  }

  /// The years with at least so many albums, in order.
  static func fruitfulYears(_ count: Int, in context: ManagedObjectContext) throws -> [Int: Int] {
    let request = FetchRequest(Album.self).grouped { ($0.year, $0.count) }.having { $0.count >= count }.sort(\.year)
    return Dictionary(uniqueKeysWithValues: try context.fetchRows(request).map { ($0.0, $0.1) })
  }

  static func averageRating(of genre: String, in context: ManagedObjectContext) throws -> Double? {
    try context.average(
      of: \.rating, for: FetchRequest(Track.self).filter { $0.album.genres.any { $0.name == genre } })
  }

  /// The names of the artists with a text in their name, regardless of case and diacritics.
  static func artists(like text: String, in context: ManagedObjectContext) throws -> [String] {
    let options: StringOptions = [.caseInsensitive, .diacriticInsensitive]
    return try context.fetch(FetchRequest(Artist.self).filter { $0.name.contains(text, options: options) }.sort(\.name))
      .map(\.name)
  }

  /// The artists by their latest albums.
  static func artistsByLatestAlbum(_ limit: Int, in context: ManagedObjectContext) throws -> [String] {
    let request = FetchRequest(Artist.self).filter { $0.albums.count > 0 }
      .sort(.reverse) { $0.albums.maximum(\.year) }.sort(\.name).limit(limit)
    return try context.fetch(request).map(\.name)
  }

  /// A page of the unplayed tracks, in the order of artists, albums and titles.
  static func unplayedTracks(_ limit: Int, offset: Int, in context: ManagedObjectContext) throws -> [String] {
    let request = FetchRequest(Track.self).filter { $0.plays == 0 }
      .sort(\.album.artist.name).sort(\.album.title).sort(\.title).limit(limit, offset: offset)
    return try context.fetch(request).map(\.title)
  }

  static func countries(in context: ManagedObjectContext) throws -> [String?] {
    try context.distinctValues(of: \.country, for: FetchRequest(Artist.self).filter { $0.albums.count > 0 })
  }
}
