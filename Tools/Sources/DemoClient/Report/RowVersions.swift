import Coherence

/// The version of every row of the catalog. Every write of a row changes its version.
package struct RowVersions: Sendable, Equatable {
  private let versions: [ManagedObjectID: Int64]

  /// Reads the store.
  package init(of stack: DemoStack) async throws {
    versions = try await stack.connect.performBackgroundTask { context in
      var versions: [ManagedObjectID: Int64] = [:]
      for name in ["Package", "Section", "Maintainer"] {
        for object in try context.fetch(FetchRequest<ManagedObject>(entityName: name)) {
          versions[object.objectID] = object.version
        }
      }
      return versions
    }
  }

  package var isEmpty: Bool { versions.isEmpty }
  package var count: Int { versions.count }

  /// A checksum of all versions (FNV-1a), which stays the same until a row is written.
  package var fingerprint: String {
    let lines = versions.map { "\($0.key) \($0.value)\n" }.sorted().joined()
    let hash = lines.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
    return String(hash, radix: 16)
  }

  /// The changes of the rows up to later versions.
  package func changes(to later: RowVersions) -> RowChanges {
    RowChanges(
      inserted: later.versions.keys.filter { versions[$0] == nil },
      updated: later.versions.compactMap { id, version in
        versions[id].flatMap { $0 == version ? nil : RowChange(id: id, from: $0, to: version) }
      },
      deleted: versions.keys.filter { later.versions[$0] == nil })
  }
}

/// The rows that differ between two reads of the store.
package struct RowChanges: Sendable {
  package let inserted: [ManagedObjectID]
  package let updated: [RowChange]
  package let deleted: [ManagedObjectID]

  package var isEmpty: Bool { inserted.isEmpty && updated.isEmpty && deleted.isEmpty }
}

/// A changed row.
package struct RowChange: Sendable {
  package let id: ManagedObjectID
  /// The versions of the row.
  package let from: Int64
  package let to: Int64
}
