import CoherenceActions
import CoherenceCore
import Foundation
import TestSupport
import Testing

@Suite("Merges into entities with derived attributes")
struct DerivedMergeTests {
  /// A stack with the album 1 and its two tracks.
  private func stack(_ backend: Backend) throws -> MergeStack {
    let model = try ManagedObjectModel {
      Entity("Album", userInfo: ["uniquenessAttributes": "id"]) {
        Attribute("id", .int64)
        Attribute("title", .string, optional: true)
        Attribute("titleFold", .string, derived: .canonical("title"))
        Attribute("trackCount", .int64, derived: .count("tracks"))
        Relationship("tracks", toMany: "Track", inverse: "album")
      }
      Entity("Track", userInfo: ["uniquenessAttributes": "id"]) {
        Attribute("id", .int64)
        Relationship("album", toOne: "Album", inverse: "tracks")
      }
    }
    let stack = try MergeStack(backend, model)
    try stack.merge([MergeRecord(["id": 1, "title": "Éclat"])], into: "Album")
    try stack.merge([MergeRecord(["id": 1, "album": 1]), MergeRecord(["id": 2, "album": 1])], into: "Track")
    return stack
  }

  private func titles(_ stack: MergeStack) throws -> [Int64: String?] {
    try stack.values(of: "Album", "titleFold", by: "id")
  }

  private func counts(_ stack: MergeStack) throws -> [Int64: Int64?] {
    try stack.values(of: "Album", "trackCount", by: "id")
  }

  @Test(arguments: Backend.available)
  func `a merge of objects keeps derived values, and an equal object changes nothing`(backend: Backend) throws {
    let stack = try stack(backend)
    let entity = try stack.entity("Album")
    func merge(_ title: String) throws -> MergeResult {
      let album = ManagedObject(entity: entity, insertInto: nil)
      try album.setValue(Int64(1), for: "id")
      try album.setValue(title, for: "title")
      return try stack.connect.newActionContext().merge(objects: [album], for: entity)
    }
    #expect(try merge("Éclat").unchanged == 1)
    #expect(try titles(stack) == [1: "eclat"])
    #expect(try counts(stack) == [1: 2])
    #expect(try merge("Été").updated == 1)
    #expect(try titles(stack) == [1: "ete"])
    #expect(try counts(stack) == [1: 2])
  }

  @Test(arguments: Backend.available)
  func `a record with a derived value is refused, unless the attribute is ignored`(backend: Backend) throws {
    let stack = try stack(backend)
    for id in 1...2 {
      let record = MergeRecord(["id": id, "trackCount": 9])
      #expect { try stack.merge([record], into: "Album", options: MergeOptions()) } throws: {
        ErrorCode.invalidValue ~= $0
      }
      #expect(try counts(stack) == [1: 2])
    }
    let record = MergeRecord(["id": 1, "title": "Été", "trackCount": 9])
    #expect(try stack.merge([record], into: "Album", ignoring: ["trackCount"]).updated == 1)
    #expect(try titles(stack) == [1: "ete"])
    #expect(try counts(stack) == [1: 2])
  }

  @Test(arguments: Backend.available)
  func `a decoded record leaves out the derived values of its source`(backend: Backend) throws {
    let stack = try stack(backend)
    let json = #"[{"id": 1, "title": "Éclat", "titleFold": "x", "trackCount": 9}]"#
    let records = try JSONDecoder().decode(
      [MergeRecord].self, from: Data(json.utf8), configuration: try stack.entity("Album"))
    #expect(try stack.merge(records, into: "Album").unchanged == 1)
    #expect(try titles(stack) == [1: "eclat"])
    #expect(try counts(stack) == [1: 2])
  }
}
