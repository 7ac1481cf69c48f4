import CoherenceCore
import Foundation

// Snapshots of the classes of `Music`, and of each attribute type.

struct PerformerValues: EntitySnapshot {
  typealias Object = Performer
  var objectID: ManagedObjectID?
  var name: String
  var rating: Double?

  static var fields: [SnapshotField] { [SnapshotField(Performer.nameKey), SnapshotField(Performer.ratingKey)] }

  init(reading values: inout SnapshotReader) {
    objectID = values.objectID
    name = values.read()
    rating = values.read()
  }

  func write(to values: inout SnapshotWriter) {
    values.write(name)
    values.write(rating)
  }
}

extension Performer: SnapshotProviding {
  typealias Snapshot = PerformerValues
}

struct TrackValues: EntitySnapshot {
  typealias Object = Track
  var objectID: ManagedObjectID?
  var title: String
  var length: Int32
  var album: ManagedObjectID?

  static var fields: [SnapshotField] {
    [SnapshotField(Track.titleKey), SnapshotField(Track.lengthKey), SnapshotField(Track.albumKey)]
  }

  init(reading values: inout SnapshotReader) {
    objectID = values.objectID
    title = values.read()
    length = values.read()
    album = values.read()
  }

  func write(to values: inout SnapshotWriter) {
    values.write(title)
    values.write(length)
    values.write(album)
  }
}

extension Track: SnapshotProviding {
  typealias Snapshot = TrackValues
}

/// The snapshot of a subentity, with its parent's within.
@dynamicMemberLookup
struct ArtistValues: EntitySnapshot {
  typealias Object = Artist
  var inherited: PerformerValues
  var born: Date?
  var mentor: ManagedObjectID?

  var objectID: ManagedObjectID? {
    get { inherited.objectID }
    set { inherited.objectID = newValue }
  }
  subscript<Value>(dynamicMember keyPath: WritableKeyPath<PerformerValues, Value>) -> Value {
    get { inherited[keyPath: keyPath] }
    set { inherited[keyPath: keyPath] = newValue }
  }

  static var fields: [SnapshotField] {
    PerformerValues.fields + [SnapshotField(Artist.bornKey), SnapshotField(Artist.mentorKey)]
  }

  init(reading values: inout SnapshotReader) {
    inherited = PerformerValues(reading: &values)
    born = values.read()
    mentor = values.read()
  }

  func write(to values: inout SnapshotWriter) {
    inherited.write(to: &values)
    values.write(born)
    values.write(mentor)
  }
}

struct AlbumValues: EntitySnapshot {
  typealias Object = Album
  var objectID: ManagedObjectID?
  var title: String
  var year: Int32?
  var price: Decimal?
  var isLive: Bool
  var format: AlbumFormat
  var artist: ManagedObjectID?

  init(objectID: ManagedObjectID? = nil, title: String, year: Int32? = nil, artist: ManagedObjectID? = nil) {
    self.objectID = objectID
    self.title = title
    self.year = year
    price = nil
    isLive = false
    format = .vinyl
    self.artist = artist
  }

  static var fields: [SnapshotField] {
    [
      SnapshotField(Album.titleKey), SnapshotField(Album.yearKey), SnapshotField(Album.priceKey),
      SnapshotField(Album.isLiveKey), SnapshotField(Album.formatKey), SnapshotField(Album.artistKey),
    ]
  }

  init(reading values: inout SnapshotReader) {
    objectID = values.objectID
    title = values.read()
    year = values.read()
    price = values.read()
    isLive = values.read()
    format = values.read()
    artist = values.read()
  }

  func write(to values: inout SnapshotWriter) {
    values.write(title)
    values.write(year)
    values.write(price)
    values.write(isLive)
    values.write(format)
    values.write(artist)
  }

  init(from decoder: any Decoder) throws {
    let values = try SnapshotDecoder(decoder)
    objectID = try values.decodeObjectID()
    title = try values.decode(Album.titleKey)
    year = try values.decode(Album.yearKey)
    price = try values.decode(Album.priceKey)
    isLive = try values.decode(Album.isLiveKey)
    format = try values.decode(Album.formatKey)
    artist = try values.decode(Album.artistKey)
  }

  func encode(to encoder: any Encoder) throws {
    var values = SnapshotEncoder(encoder)
    try values.encode(objectID: objectID)
    try values.encode(title, Album.titleKey)
    try values.encode(year, Album.yearKey)
    try values.encode(price, Album.priceKey)
    try values.encode(isLive, Album.isLiveKey)
    try values.encode(format, Album.formatKey)
    try values.encode(artist, Album.artistKey)
  }
}

extension Album: SnapshotProviding {
  typealias Snapshot = AlbumValues
}
