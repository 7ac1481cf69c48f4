import CoherenceActions
import CoherenceCore
import CoherenceStrategies
import Foundation
import Testing
import TestSupport

/// Merges into an entity that several attached stores hold.
@Suite("Merges beside other stores")
struct MergeBesideStoresTests {
  private func artist(_ id: Int, _ name: String) -> MergeRecord { MergeRecord(["id": id, "name": name]) }

  /// A stack with the artists 1, 2 and 7, beside a read-only store with other artists.
  private func stack(
    _ backend: Backend, archiving archived: [MergeRecord]
  ) throws -> (stack: MergeStack, archive: MergeStack) {
    let model = try MergeStack.library()
    let (archive, stack) = (try MergeStack(backend, model), try MergeStack(backend, model))
    try archive.merge(archived, into: "Artist")
    try stack.merge([artist(1, "Ada"), artist(2, "Bob"), artist(7, "Guy")], into: "Artist")
    var readOnly = archive.configuration
    readOnly.location = archive.store.url
    readOnly.options[StoreOption.readOnly] = true
    try stack.connect.attachPersistentStore(for: readOnly)
    return (stack, archive)
  }

  @Test(arguments: Backend.available)
  func `a replacing merge deletes the records of writable stores alone`(backend: Backend) async throws {
    let (stack, archive) = try stack(backend, archiving: [artist(8, "Hal"), artist(9, "Ida")])
    let result = try stack.merge([artist(1, "Ada"), artist(7, "Guy"), artist(8, "Hal")], into: "Artist")
    #expect(result.counts == MergeResult.with(unchanged: 3, deleted: 1))
    #expect(try stack.names() == [1: "Ada", 7: "Guy", 8: "Hal", 9: "Ida"])

    let entity = try stack.entity("Artist")
    let (pages, continuation) = AsyncStream.makeStream(of: [MergeRecord].self)
    continuation.yield([artist(7, "Guy")])
    continuation.finish()
    let paged = try await stack.connect.newActionContext().mergePages(pages, for: entity, options: .replaceAll)
    #expect(paged.counts == MergeResult.with(unchanged: 1, deleted: 1))
    #expect(try stack.names() == [7: "Guy", 8: "Hal", 9: "Ida"])
    #expect(try archive.names() == [8: "Hal", 9: "Ida"])
  }

  @Test(arguments: Backend.available, [MergeOptions.StoredDuplicatePolicy.keep, .delete])
  func `a record of a writable store gets the values rather than an older record of a read-only store`(
    backend: Backend, policy: MergeOptions.StoredDuplicatePolicy
  ) throws {
    let (stack, archive) = try stack(backend, archiving: [artist(7, "Guy")])
    let result = try stack.merge([artist(7, "Gus")], into: "Artist", options: MergeOptions(storedDuplicates: policy))
    #expect(result.counts == MergeResult.with(updated: 1))
    #expect(try archive.names() == [7: "Guy"])
    let found = try stack.read { context in
      try stack.objects("Artist", context).map { try $0.value(for: "name", as: String.self) }
    }
    #expect(found.sorted() == ["Ada", "Bob", "Gus", "Guy"])
  }

  @Test(arguments: Backend.available)
  func `links lead to the record of a writable store rather than to an older record of a read-only store`(
    backend: Backend
  ) throws {
    let (stack, archive) = try stack(backend, archiving: [artist(7, "Guy")])
    let album = MergeRecord(["label": "L", "number": 1], links: ["artist": .one(7)])
    let result = try stack.merge([album], into: "Album", options: MergeOptions())
    #expect(result.counts == MergeResult.with(inserted: 1))
    let stores = try stack.read { context in
      try stack.objects("Album", context).map { try $0.object(for: "artist")?.objectID.storeIdentifier }
    }
    #expect(stores == [stack.store.identifier])
    #expect(try stack.merge([album], into: "Album", options: MergeOptions()).counts == MergeResult.with(unchanged: 1))
    #expect(try archive.names() == [7: "Guy"])
  }

  @Test(arguments: Backend.available)
  func `a merge inserts its new records into the store of its options`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    try stack.merge([artist(1, "Ada")], into: "Artist")
    let other = try stack.connect.attachPersistentStore(
      for: backend.configuration(named: UUID().uuidString.filter(\.isHexDigit)))
    let result = try stack.merge(
      [artist(1, "Eve"), artist(2, "Bob")], into: "Artist", options: MergeOptions(store: other.identifier))
    #expect(result.counts == MergeResult.with(inserted: 1, updated: 1))
    let stores = try stack.read { context in
      try Dictionary(
        stack.objects("Artist", context).map {
          (try $0.value(for: "name", as: String.self), $0.objectID.storeIdentifier)
        }, uniquingKeysWith: { first, _ in first })
    }
    #expect(stores == ["Eve": stack.store.identifier, "Bob": other.identifier])

    try stack.connect.detach(persistentStore: other)
    #expect {
      try stack.merge([artist(3, "Cid")], into: "Artist", options: MergeOptions(store: other.identifier))
    } throws: {
      ErrorCode.storeDetached ~= $0
    }
    #expect(try stack.names() == [1: "Eve"])
  }
}
