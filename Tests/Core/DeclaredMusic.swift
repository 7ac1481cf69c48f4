import CoherenceCore
import Foundation

/// A model of declared classes with a hierarchy of three levels.
enum DeclaredMusic {
  static func makeModel() throws -> ManagedObjectModel {
    try ManagedObjectModel(
      Track.self, Release.self, Single.self, Maxi.self, name: "Declared", configurations: ["Tracks": [Track.self]],
      versionIdentifiers: ["1"])
  }

  final class Track: ManagedObject, DeclaredEntity {
    var title: String {
      get { self[Properties.table.title] }
      set { self[Properties.table.title] = newValue }
    }
    var length: Int? {
      get { self[Properties.table.length] }
      set { self[Properties.table.length] = newValue }
    }
    var release: Release? {
      get { self[Properties.table.release] }
      set { self[Properties.table.release] = newValue }
    }

    struct Properties: EntityProperties {
      static let table = Properties()
      let title = AttributeKey<String>("title")
      let length = AttributeKey<Int?>("length")
      let release = ToOneKey<Release>("release")
    }
    static var entityName: String { "Track" }
    static var entityDeclaration: Entity {
      Entity(entityName, class: Track.self) {
        Attribute("title", .string)
        Attribute("length", .int64, optional: true)
        Relationship("release", toOne: Release.entityName, inverse: "tracks")
      }
    }
    static var propertyNames: [AnyKeyPath: String] {
      [\Track.title: "title", \Track.length: "length", \Track.release: "release"]
    }
  }

  class Release: ManagedObject, DeclaredEntity {
    var name: String {
      get { self[Properties.table.name] }
      set { self[Properties.table.name] = newValue }
    }
    var tracks: OrderedToMany<Track> { self[Properties.table.tracks] }

    struct Properties: EntityProperties {
      static let table = Properties()
      let name = AttributeKey<String>("name")
      let tracks = OrderedToManyKey<Track>("tracks")
    }
    class var entityName: String { "Release" }
    class var entityDeclaration: Entity {
      Entity(Release.entityName, class: Release.self) {
        Attribute("name", .string)
        Relationship("tracks", toMany: Track.entityName, ordered: true, deleteRule: .cascade)
      }
    }
    class var propertyNames: [AnyKeyPath: String] { propertyNames(from: Release.self) }
    static func propertyNames<Root: Release>(from root: Root.Type) -> [AnyKeyPath: String] {
      [\Root.name: "name", \Root.tracks: "tracks"]
    }
  }

  class Single: Release {
    var chart: Int {
      get { self[Properties.table.chart] }
      set { self[Properties.table.chart] = newValue }
    }
    var cover: Single? {
      get { self[Properties.table.cover] }
      set { self[Properties.table.cover] = newValue }
    }
    var covers: ToMany<Single> { self[Properties.table.covers] }
    /// No stored property.
    var rank: Int {
      get { -chart }
      set { chart = -newValue }
    }

    @dynamicMemberLookup
    struct Properties: EntityProperties {
      static let table = Properties()
      let chart = AttributeKey<Int>("chart")
      let cover = ToOneKey<Single>("cover")
      let covers = ToManyKey<Single>("covers")
      subscript<Key>(dynamicMember keyPath: KeyPath<Release.Properties, Key>) -> Key {
        Release.Properties.table[keyPath: keyPath]
      }
    }
    override class var entityName: String { "Single" }
    override class var entityDeclaration: Entity {
      Entity(Single.entityName, class: Single.self, parent: Release.entityName) {
        Attribute("chart", .int64)
        Relationship("cover", toOne: Single.entityName, inverse: "covers")
        Relationship("covers", toMany: Single.entityName)
      }
    }
    override class var propertyNames: [AnyKeyPath: String] { propertyNames(from: Single.self) }
    static func propertyNames<Root: Single>(from root: Root.Type) -> [AnyKeyPath: String] {
      let own: [AnyKeyPath: String] = [\Root.chart: "chart", \Root.cover: "cover", \Root.covers: "covers"]
      return Release.propertyNames(from: root).merging(own) { name, _ in name }
    }
  }

  final class Maxi: Single {
    var inches: Int {
      get { self[Properties.table.inches] }
      set { self[Properties.table.inches] = newValue }
    }

    @dynamicMemberLookup
    struct Properties: EntityProperties {
      static let table = Properties()
      let inches = AttributeKey<Int>("inches")
      subscript<Key>(dynamicMember keyPath: KeyPath<Single.Properties, Key>) -> Key {
        Single.Properties.table[keyPath: keyPath]
      }
    }
    override class var entityName: String { "Maxi" }
    override class var entityDeclaration: Entity {
      Entity(Maxi.entityName, class: Maxi.self, parent: Single.entityName) { Attribute("inches", .int64) }
    }
    override class var propertyNames: [AnyKeyPath: String] {
      Single.propertyNames(from: Maxi.self).merging([\Maxi.inches: "inches"]) { name, _ in name }
    }
  }
}

extension DeclaredMusic.Single: DeclaredSubentity {}
