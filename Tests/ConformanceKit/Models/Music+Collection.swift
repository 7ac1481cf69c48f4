import CoherenceCore
import Foundation

extension Music {
  /// A small collection of records to fetch from.
  static func fill(_ context: ManagedObjectContext) throws {
    let performers = try makePerformers(context)
    var genres: [String: ManagedObject] = [:]
    for name in ["Jazz", "Modal", "Pop", "Rock"] { genres[name] = try context.make("Genre", ["name": name]) }
    try genres["Modal"]?.setObject(genres["Jazz"], for: "parent")
    for record in records {
      let album = try context.make("Album", ["title": record.title, "isLive": record.isLive])
      try album.setValue(record.year, for: "year")
      try album.setValue(record.price.flatMap { Decimal(string: $0) }, for: "price")
      try album.setObject(record.artist.flatMap { performers[$0] }, for: "artist")
      try album.setObjects(record.genres.compactMap { genres[$0] }, for: "genres")
      let tracks = try record.tracks.map { try context.make("Track", ["title": $0.0, "length": $0.1]) }
      try album.setObjects(tracks, for: "tracks")
    }
  }

  private static func makePerformers(_ context: ManagedObjectContext) throws -> [String: ManagedObject] {
    var performers: [String: ManagedObject] = [:]
    func add(_ entity: String, _ name: String, _ country: String?, _ rating: Double?) throws {
      let performer = try context.make(entity, ["name": name])
      try performer.setValue(country, for: "country")
      try performer.setValue(rating, for: "rating")
      performers[name] = performer
    }
    try add("Artist", "Miles", "US", 4.5)
    try add("Artist", "Bj\u{F6}rk", "IS", 4)
    try add("Artist", "nina", "US", nil)
    try add("Legend", "Ella", "US", 5)
    try add("Band", "Abba", "SE", 4)
    try add("Band", "Can", nil, nil)
    try performers["Ella"]?.setValue(3, for: "honours")
    try performers["Abba"]?.setValue(1972, for: "formed")
    try performers["nina"]?.setObject(performers["Ella"], for: "mentor")
    return performers
  }

  private struct Record {
    var title: String
    var year: Int32?
    var price: String?
    var artist: String?
    var genres: [String]
    var tracks: [(String, Int32)] = []
    var isLive = false
  }

  private static let records: [Record] = [
    Record(
      title: "Kind of Blue", year: 1959, price: "10.50", artist: "Miles", genres: ["Jazz", "Modal"],
      tracks: [("So What", 545), ("Freddie Freeloader", 586), ("Blue in Green", 337)]),
    Record(
      title: "Bitches Brew", year: 1970, price: "20", artist: "Miles", genres: ["Jazz", "Rock"],
      tracks: [("Pharaoh's Dance", 1206)]),
    Record(
      title: "Debut", year: 1993, price: "9.99", artist: "Bj\u{F6}rk", genres: ["Pop"],
      tracks: [("Human Behaviour", 252), ("Crying", 289)]),
    Record(title: "Arrival", year: 1976, artist: "Abba", genres: ["Pop"], tracks: [("Dancing Queen", 230)]),
    Record(title: "Tago Mago", year: 1971, price: "15.25", artist: "Can", genres: ["Rock"]),
    Record(
      title: "Live in Berlin", year: 1960, price: "12", artist: "Ella", genres: ["Jazz"],
      tracks: [("Mack the Knife", 282)], isLive: true),
    Record(title: "100% Pure_", year: 1993, price: "9.99", genres: ["Pop"], tracks: [("caf\u{E9}", 100)]),
    Record(title: "Untitled", genres: []),
  ]
}
