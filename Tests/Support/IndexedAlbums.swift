package import CoherenceCore

/// Albums with and without declared indexes, and the plans of an engine for queries of them.
package enum IndexedAlbums {
  package static let indexes = [["year"], ["genre", "title"]]

  package static func model(_ indexes: [[String]]) throws -> ManagedObjectModel {
    try ManagedObjectModel {
      Entity("Album", indexes: indexes) {
        Attribute("title", .string)
        Attribute("genre", .string)
        Attribute("year", .int32)
      }
    }
  }

  /// The steps of the engine's plan for a query of albums.
  package static func plan(
    _ store: any PersistentStore, where predicate: FetchPredicate? = nil, by sortKeys: [SortKey] = [],
    limit: Int? = nil
  ) throws -> [QueryStep] {
    let query = StoreQuery(
      entity: store.entity("Album"), predicate: predicate, sortKeys: sortKeys, limit: limit)
    return try store.reading { reader in
      guard let explaining = reader as? any QueryExplaining else {
        throw CoherenceError(.unsupported, "The store explains no queries.")
      }
      return try explaining.explain(query).steps
    }
  }
}
