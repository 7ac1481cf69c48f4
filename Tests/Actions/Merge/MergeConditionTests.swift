import CoherenceActions
import CoherenceCore
import Testing
import TestSupport

@Suite("Conditions of merges")
struct MergeConditionTests {
  private func page(_ revisions: [Int: Int]) -> [MergeRecord] {
    revisions.sorted { $0.key < $1.key }.map { MergeRecord(["id": $0, "name": "\($0).\($1)", "revision": $1]) }
  }

  private static let isNewer = "existing.revision < incoming.revision"

  @Test(arguments: Backend.available)
  func `a condition on versions keeps the newest state when pages come twice or out of order`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    let options = MergeOptions(mode: .upsertOnly)
    let condition = try FetchPredicate(format: Self.isNewer)
    func merge(_ revisions: [Int: Int]) throws -> [String: Int] {
      try stack.merge(page(revisions), into: "Artist", if: condition, options: options).counts
    }
    #expect(try merge([1: 1, 2: 1]) == MergeResult.with(inserted: 2))
    #expect(try merge([2: 3, 3: 3]) == MergeResult.with(inserted: 1, updated: 1))
    #expect(try merge([2: 3, 3: 3]) == MergeResult.with(unchanged: 2))
    #expect(try merge([1: 2, 2: 2]) == MergeResult.with(updated: 1, skipped: 1))
    #expect(try stack.names() == [1: "1.2", 2: "2.3", 3: "3.3"])
  }

  @Test(arguments: Backend.available)
  func `for a record without an input record, every incoming value is missing`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    try stack.merge(page([1: 1, 2: 1, 3: 1]), into: "Artist")
    let guarded = try FetchPredicate(format: Self.isNewer)
    #expect(
      try stack.merge(page([1: 2]), into: "Artist", if: guarded).counts == MergeResult.with(updated: 1, skipped: 2))
    let open = try FetchPredicate(format: "incoming.id == NIL OR \(Self.isNewer)")
    #expect(try stack.merge(page([1: 1]), into: "Artist", if: open).counts == MergeResult.with(deleted: 2, skipped: 1))
  }

  @Test(arguments: Backend.available)
  func `plain names in a condition read the stored record`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    try stack.merge(page([1: 1, 2: 2, 3: 3]), into: "Artist")
    let condition = try FetchPredicate(format: "revision != 2")
    let result = try stack.merge(page([1: 9, 2: 9]), into: "Artist", if: condition)
    #expect(result.counts == MergeResult.with(updated: 1, deleted: 1, skipped: 1))
  }

  @Test(arguments: Backend.available)
  func `a condition can read related records`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    try stack.merge(page([1: 1, 2: 2]), into: "Artist")
    let albums = [1, 2].map { MergeRecord(["label": "L", "number": $0, "title": "old", "artist": $0]) }
    try stack.merge(albums, into: "Album")
    let fresh = [1, 2].map { MergeRecord(["label": "L", "number": $0, "title": "new"]) }
    for format in ["artist.revision == 2", "existing.artist.revision == 2 AND incoming.title == 'new'"] {
      let result = try stack.merge(fresh, into: "Album", if: try FetchPredicate(format: format))
      #expect(result.skipped == 1 && result.updated + result.unchanged == 1)
    }
    #expect(try stack.values(of: "Album", "title", by: "number") == [1: "old", 2: "new"] as [Int: String])
  }

  @Test func `a condition protects relationships too`() throws {
    let stack = try MergeStack(.inMemory)
    try stack.merge(["jazz", "rock"].map { MergeRecord(["name": $0]) }, into: "Genre")
    let record = MergeRecord(["label": "L", "number": 1], links: ["genres": .many(["jazz"])])
    try stack.merge([record], into: "Album")
    let other = MergeRecord(["label": "L", "number": 1], links: ["genres": .many(["rock"])])
    let result = try stack.merge([other], into: "Album", if: .constant(false))
    #expect(result.counts == MergeResult.with(skipped: 1))
    #expect(try stack.merge([record], into: "Album").counts == MergeResult.with(unchanged: 1))
  }

  @Test func `an invalid condition is refused before the merge reads rows`() throws {
    let stack = try MergeStack(.inMemory)
    try stack.merge(page([1: 1]), into: "Artist")
    func refusal(_ format: String) throws -> ErrorCode? {
      let condition = try FetchPredicate(format: format)
      do {
        try stack.merge(page([1: 2]), into: "Artist", if: condition)
        return nil
      } catch let error as CoherenceError {
        return error.code
      }
    }
    #expect(try refusal("incoming.age == 1") == .unknownProperty)
    #expect(try refusal("existing.age == 1") == .unknownProperty)
    #expect(try refusal("incoming.mentor == NIL") == .invalidPredicate)
    #expect(try stack.names() == [1: "1.1"])
  }

  @Test(arguments: Backend.available)
  func `attributes with the names of both sides are read by these names alone`(backend: Backend) throws {
    let model = try ManagedObjectModel {
      Entity("Parcel", userInfo: ["uniquenessAttributes": "id"]) {
        Attribute("id", .int64)
        Attribute("existing", .int64)
        Attribute("incoming", .int64)
      }
    }
    let stack = try MergeStack(backend, model)
    func parcel(_ id: Int, _ existing: Int, _ incoming: Int) -> MergeRecord {
      MergeRecord(["id": id, "existing": existing, "incoming": incoming])
    }
    try stack.merge([parcel(1, 1, 5), parcel(2, 2, 6)], into: "Parcel")
    for (format, number) in [("existing == 1", 10), ("incoming == 6", 20), ("existing.existing == incoming.id", 30)] {
      let page = [parcel(1, 1, 5 + number), parcel(2, 2, 6)]
      let result = try stack.merge(page, into: "Parcel", if: try FetchPredicate(format: format))
      let isChanged = format != "incoming == 6"
      #expect(result.updated == (isChanged ? 1 : 0) && result.skipped == (isChanged ? 0 : 1), "\(format)")
    }
    let values: [Int64: Int64] = try stack.values(of: "Parcel", "incoming", by: "id")
    #expect(values == [1: 35, 2: 6])
  }
}
