import Coherence
import Foundation

/// The content of a library as plain values, calculated from the number of artists.
///
/// Every fourth artist has no album, and each other artist has four albums of five to nine tracks.
struct MusicCollection: Sendable {
  struct ArtistValues: Sendable {
    var name: String
    var country: String?
    var albums: [AlbumValues]
  }

  struct AlbumValues: Sendable {
    var title: String
    var year: Int
    var genres: [String]
    var tracks: [TrackValues]
  }

  struct TrackValues: Sendable {
    var title: String
    var seconds: Int
    var plays: Int
    var rating: Double?
  }

  static let genres = ["Blues", "Jazz", "Morna", "Soul"]

  let artists: [ArtistValues]

  init(artistCount: Int) {
    artists = (0..<artistCount).map { number in
      ArtistValues(
        name: number == 7 ? "Cesária Évora" : "Artist \(number)", country: number % 5 == 0 ? nil : "C\(number % 5)",
        albums: number % 4 == 3 && number != 7 ? [] : (0..<4).map { Self.album(number, $0) })
    }
  }

  private static func album(_ artist: Int, _ number: Int) -> AlbumValues {
    AlbumValues(
      title: "Album \(artist)-\(number)", year: 1950 + (artist * 7 + number * 11) % 60,
      genres: Set([genres[artist % 4], genres[number % 4]]).sorted(),
      tracks: (0..<(5 + (artist + number) % 5)).map { position in
        TrackValues(
          title: "Track \(artist)-\(number)-\(position)",
          seconds: 100 + (artist * 31 + number * 17 + position * 13) % 400,
          plays: (artist + position) % 6, rating: position % 3 == 0 ? nil : Double((artist + position) % 11) / 2)
      })
  }

  var albums: [(artist: ArtistValues, album: AlbumValues)] {
    artists.flatMap { artist in artist.albums.map { (artist, $0) } }
  }
  var tracks: [TrackValues] { albums.flatMap(\.album.tracks) }

  /// Inserts the content, and saves.
  func insert(into context: ManagedObjectContext) throws {
    var genres: [String: Genre] = [:]
    for name in Self.genres {
      let genre = try Genre(context: context)
      genre.name = name
      genres[name] = genre
    }
    for artist in artists {
      let record = try Artist(context: context)
      record.name = artist.name
      record.country = artist.country
      for album in artist.albums { try insert(album, of: record, genres) }
    }
    try context.save()
  }

  private func insert(_ album: AlbumValues, of artist: Artist, _ genres: [String: Genre]) throws {
    guard let context = artist.managedObjectContext else { return }
    let record = try Album(context: context)
    record.title = album.title
    record.year = album.year
    record.artist = artist
    for name in album.genres { if let genre = genres[name] { record.genres.insert(genre) } }
    for track in album.tracks {
      let object = try Track(context: context)
      object.title = track.title
      object.length = .seconds(track.seconds)
      object.plays = track.plays
      object.rating = track.rating
      record.tracks.append(object)
    }
  }
}
