import CoherenceCore
import Foundation

// The typed classes of `Music`. Entities without one here are used by name.

class Performer: ManagedObject {
  static let nameKey = AttributeKey<String>("name")
  static let countryKey = AttributeKey<String?>("country")
  static let ratingKey = AttributeKey<Double?>("rating")
  static let albumsKey = ToManyKey<Album>("albums")

  var name: String {
    get { self[Self.nameKey] }
    set { self[Self.nameKey] = newValue }
  }
  var country: String? {
    get { self[Self.countryKey] }
    set { self[Self.countryKey] = newValue }
  }
  var rating: Double? {
    get { self[Self.ratingKey] }
    set { self[Self.ratingKey] = newValue }
  }
  var albums: ToMany<Album> { self[Self.albumsKey] }
}

class Artist: Performer {
  static let bornKey = AttributeKey<Date?>("born")
  static let spouseKey = ToOneKey<Artist>("spouse")
  static let mentorKey = ToOneKey<Artist>("mentor")
  static let pupilsKey = ToManyKey<Artist>("pupils")
  static let friendsKey = ToManyKey<Artist>("friends")
  static let influencesKey = ToManyKey<Artist>("influences")
  static let followersKey = ToManyKey<Artist>("followers")
  static let bandsKey = ToManyKey<Band>("bands")

  var born: Date? {
    get { self[Self.bornKey] }
    set { self[Self.bornKey] = newValue }
  }
  var spouse: Artist? {
    get { self[Self.spouseKey] }
    set { self[Self.spouseKey] = newValue }
  }
  var mentor: Artist? {
    get { self[Self.mentorKey] }
    set { self[Self.mentorKey] = newValue }
  }
  var pupils: ToMany<Artist> { self[Self.pupilsKey] }
  var friends: ToMany<Artist> { self[Self.friendsKey] }
  var influences: ToMany<Artist> { self[Self.influencesKey] }
  var followers: ToMany<Artist> { self[Self.followersKey] }
  var bands: ToMany<Band> { self[Self.bandsKey] }
}

final class Legend: Artist {
  static let honoursKey = AttributeKey<Int16>("honours")

  var honours: Int16 {
    get { self[Self.honoursKey] }
    set { self[Self.honoursKey] = newValue }
  }
}

final class Band: Performer {
  static let membersKey = OrderedToManyKey<Artist>("members")

  var members: OrderedToMany<Artist> { self[Self.membersKey] }
}

final class Album: ManagedObject {
  static let titleKey = AttributeKey<String>("title")
  static let yearKey = AttributeKey<Int32?>("year")
  static let priceKey = AttributeKey<Decimal?>("price")
  static let isLiveKey = AttributeKey<Bool>("isLive")
  static let formatKey = AttributeKey<AlbumFormat>("format")
  static let artistKey = ToOneKey<Performer>("artist")
  static let tracksKey = OrderedToManyKey<Track>("tracks")
  static let genresKey = ToManyKey<Genre>("genres")

  var title: String {
    get { self[Self.titleKey] }
    set { self[Self.titleKey] = newValue }
  }
  var year: Int32? {
    get { self[Self.yearKey] }
    set { self[Self.yearKey] = newValue }
  }
  var price: Decimal? {
    get { self[Self.priceKey] }
    set { self[Self.priceKey] = newValue }
  }
  var isLive: Bool {
    get { self[Self.isLiveKey] }
    set { self[Self.isLiveKey] = newValue }
  }
  var format: AlbumFormat {
    get { self[Self.formatKey] }
    set { self[Self.formatKey] = newValue }
  }
  var artist: Performer? {
    get { self[Self.artistKey] }
    set { self[Self.artistKey] = newValue }
  }
  var tracks: OrderedToMany<Track> { self[Self.tracksKey] }
  var genres: ToMany<Genre> { self[Self.genresKey] }
}

final class Track: ManagedObject {
  static let titleKey = AttributeKey<String>("title")
  static let lengthKey = AttributeKey<Int32>("length")
  static let albumKey = ToOneKey<Album>("album")

  var title: String {
    get { self[Self.titleKey] }
    set { self[Self.titleKey] = newValue }
  }
  var length: Int32 {
    get { self[Self.lengthKey] }
    set { self[Self.lengthKey] = newValue }
  }
  var album: Album? {
    get { self[Self.albumKey] }
    set { self[Self.albumKey] = newValue }
  }
}

final class Genre: ManagedObject {
  static let nameKey = AttributeKey<String>("name")
  static let albumsKey = ToManyKey<Album>("albums")

  var name: String {
    get { self[Self.nameKey] }
    set { self[Self.nameKey] = newValue }
  }
  var albums: ToMany<Album> { self[Self.albumsKey] }
}
