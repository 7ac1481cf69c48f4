package import CoherenceCore
import Foundation

/// The state that a SQL store records of itself in its metadata table.
package struct StoreState: Sendable, Hashable {
  package var metadata: StoreMetadata
  package var schema: StoredSchema

  // Format 2 may describe tables and columns that the present model lacks; versions of the framework that read format 1
  // alone would drop them. Format 3 may describe reversed links and former names of entities, which earlier versions
  // would misread. Format 4 has names of entities in records that differ from the names in the model. Only stores with
  // such a name have it, so that earlier versions of the framework still open all other stores.
  private static let readableFormats: Set = ["1", "2", "3", "4"]
  /// The format in which the state is written.
  private var format: String {
    schema.tables.contains { $0.entities.contains { $0.recordName != nil } } ? "4" : "3"
  }

  package init(metadata: StoreMetadata, schema: StoredSchema) {
    self.metadata = metadata
    self.schema = schema
  }

  /// Reads a state.
  ///
  /// - Parameters:
  ///   - entries: The metadata table's texts by key.
  ///   - location: The location of the store, for messages.
  /// - Throws: ``ErrorCode/incompatibleModel`` for the state of a later version of the framework,
  ///   ``ErrorCode/storeCorrupt`` for an unreadable one.
  package init(entries: [String: String], location: String) throws {
    if let format = entries["format"], !Self.readableFormats.contains(format) {
      throw CoherenceError(
        .incompatibleModel, "\(location) was made by a later version of the framework; open it with that version.")
    }
    do {
      metadata = try JSONDecoder().decode(StoreMetadata.self, from: Data((entries["metadata"] ?? "").utf8))
      schema = try JSONDecoder().decode(StoredSchema.self, from: Data((entries["schema"] ?? "").utf8))
    } catch {
      throw Self.unreadable(at: location, underlying: error)
    }
    if schema.hasCircularHierarchy { throw Self.unreadable(at: location) }
  }

  private static func unreadable(at location: String, underlying: (any Error)? = nil) -> CoherenceError {
    CoherenceError(
      .storeCorrupt, "The metadata of \(location) cannot be read; restore the store from a backup.",
      underlying: underlying)
  }

  /// The metadata table's texts by key.
  private var entries: [String: String] {
    get throws {
      let encoder = JSONEncoder()
      encoder.outputFormatting = .sortedKeys
      return [
        "format": format,
        "metadata": String(decoding: try encoder.encode(metadata), as: UTF8.self),
        "schema": String(decoding: try encoder.encode(schema), as: UTF8.self),
      ]
    }
  }

  /// The statements that write the state into the metadata table.
  package var statements: [SQLFragment] {
    get throws {
      try entries.sorted { $0.key < $1.key }.map { key, value in
        """
        INSERT INTO \(name: SQLSchema.metadataTable) (\(name: "key"), \(name: "value")) \
        VALUES (\(text: key), \(text: value)) \
        ON CONFLICT (\(name: "key")) DO UPDATE SET \(name: "value") = \(name: "excluded").\(name: "value")
        """ as SQLFragment
      }
    }
  }
}
