package import CoherenceCore

/// The rows of artists, albums and tags in a new store, for conditions that the store evaluates.
package struct TaggedAlbums: Sendable {
  private let stack: LoggedStore
  package let artists: [Row]
  package let albums: [Row]

  package var store: any PersistentStore { stack.store }

  package init(_ backend: Backend, target: String = #fileID) throws {
    stack = try LoggedStore(backend, Self.model(), target: target)
    let store = stack.store
    artists = try ["Nina", "Abbey", nil].map { name in
      try store.insert("Artist", ["name": name.map(AttributeValue.string) ?? .null])
    }
    let first = AttributeValue.reference(artists[0].id)
    let third = AttributeValue.reference(artists[2].id)
    albums = [
      try store.insert("Album", ["title": .string("Pastel Blues"), "year": .int(1965), "artist": first]),
      try store.insert(
        "Album", ["title": .string("100%_Ä"), "year": .int(1970), "first": .int(1970), "artist": first]),
      try store.insert("Album", ["title": .string("blues"), "artist": third]),
      try store.insert("Album", ["year": .int(1965)]),
    ]
    let tags = try ["jazz", "soul"].map { try store.insert("Tag", ["name": .string($0)]) }
    let links = [
      Link(source: albums[0].key, target: tags[1].key, sourcePosition: 1),
      Link(source: albums[0].key, target: tags[0].key, sourcePosition: 2),
      Link(source: albums[2].key, target: tags[1].key),
    ]
    try store.save(.link(tagLinks, links))
  }

  private static func model() throws -> ManagedObjectModel {
    try ManagedObjectModel {
      Entity("Artist") {
        Attribute("name", .string, optional: true)
        Relationship("albums", toMany: "Album", inverse: "artist")
      }
      Entity("Album") {
        Attribute("title", .string, optional: true)
        Attribute("year", .int32, optional: true)
        Attribute("first", .int16, optional: true)
        Relationship("artist", toOne: "Artist", inverse: "albums")
        Relationship("tags", toMany: "Tag", inverse: "albums", ordered: true)
      }
      Entity("Tag") {
        Attribute("name", .string)
        Relationship("albums", toMany: "Album", inverse: "tags")
      }
    }
  }

  /// The links of albums to their tags.
  package var tagLinks: LinkTable {
    guard case .links(let table, _)? = store.entity("Album").relationship(named: "tags")?.storage else {
      preconditionFailure("The tags of albums are links.")
    }
    return table
  }

  /// Returns the indexes in ``albums`` of the records that a predicate finds; -1 for a record of another album.
  ///
  /// - Throws: ``InexactCondition`` when the store leaves a part of the predicate to the context, or counts other
  ///   records than it finds.
  package func find(_ predicate: FetchPredicate) throws -> [Int] {
    let query = StoreQuery(entity: store.entity("Album"), predicate: predicate)
    let isExact = try store.reading { try $0.fetch(query).isPredicateExact }
    let count = try store.reading { try $0.count(query) }
    let rows = try store.fetch(query)
    guard isExact, count == rows.count else {
      throw InexactCondition(predicate: "\(predicate)", count: count, found: rows.count)
    }
    return rows.map { row in albums.firstIndex { $0.id == row.id } ?? -1 }
  }

  /// A condition that a store does not evaluate exactly by itself.
  package struct InexactCondition: Error {
    let predicate: String
    let count: Int?
    let found: Int
  }
}
