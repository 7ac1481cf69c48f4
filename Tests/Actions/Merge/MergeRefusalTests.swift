import CoherenceActions
import CoherenceCore
import CoherenceStrategies
import Foundation
import TestSupport
import Testing

/// Input and arguments that a merge refuses, with the error of each.
@Suite("Refusals of merges")
struct MergeRefusalTests {
  private func artist(_ id: Int, _ links: [String: MergeLink] = [:]) -> MergeRecord {
    MergeRecord(["id": id], links: links)
  }

  private func refusal(of body: () throws -> Void) -> CoherenceError? {
    do {
      try body()
      return nil
    } catch {
      return error as? CoherenceError
    }
  }

  // MARK: Arguments

  @Test func `a merge into an entity of another model with a managed name is refused, and inserts nothing`() throws {
    let stack = try MergeStack(.inMemory)
    let other = try ManagedObjectModel {
      Entity("Artist", userInfo: ["uniquenessAttributes": "id"]) { Attribute("id", .int32, optional: true) }
    }
    let entity = try other.entity(named: "Artist")
    #expect { try stack.connect.newActionContext().merge(records: [artist(1)], for: entity) } throws: {
      ErrorCode.unmanagedEntity ~= $0
    }
    #expect(try stack.names().isEmpty)
  }

  @Test func `a merge without changes is refused too for a detached store of new records`() throws {
    let stack = try MergeStack(.inMemory)
    let other = try stack.connect.attachPersistentStore(for: Backend.inMemory.newConfiguration())
    try stack.connect.detach(persistentStore: other)
    #expect { try stack.merge([], into: "Artist", options: MergeOptions(store: other.identifier)) } throws: {
      ErrorCode.storeDetached ~= $0
    }
  }

  @Test func `an invalid condition is refused without stored records and without saving`() throws {
    let stack = try MergeStack(.inMemory)
    for format in ["existing.age == 1", "incoming.age == 1"] {
      let condition = try FetchPredicate(format: format)
      #expect {
        try stack.merge([artist(1)], into: "Artist", if: condition, options: MergeOptions(saves: false))
      } throws: {
        ErrorCode.unknownProperty ~= $0
      }
    }
  }

  @Test func `an object of another entity is refused with the names of both entities`() throws {
    let stack = try MergeStack(.inMemory)
    let genre = ManagedObject(entity: try stack.entity("Genre"), insertInto: nil)
    let artist = try stack.entity("Artist")
    let refused = refusal { try stack.connect.newActionContext().merge(objects: [genre], for: artist) }
    #expect(refused?.code == .wrongType)
    #expect(refused?.message.contains("'Genre'") == true && refused?.message.contains("'Artist'") == true)
    #expect(try stack.versions(of: "Genre").isEmpty)
  }

  @Test func `an object that has ignored an assignment is refused, and nothing is merged`() throws {
    let stack = try MergeStack(.inMemory)
    let artist = try stack.entity("Artist")
    let object = ManagedObject(entity: artist, insertInto: nil)
    object[AttributeKey<String>("name")] = "a\u{0}"
    let refused = refusal { try stack.connect.newActionContext().merge(objects: [object], for: artist) }
    #expect(refused?.code == .invalidValue)
    #expect(try stack.names().isEmpty)
  }

  @Test func `the error of a value, a key or a missing link has the index of the input record`() throws {
    let stack = try MergeStack(.inMemory)
    let records = [
      MergeRecord(["id": 2, "born": "never"]), MergeRecord(["id": "two"]), MergeRecord(["name": "nobody"]), artist(1),
      artist(2, ["mentor": .one(9)]),
    ]
    for record in records {
      let refused = refusal { try stack.merge([artist(1), record, artist(3)], into: "Artist") }
      #expect(refused?.message.lowercased().contains("input record 1") == true, "\(refused?.message ?? "")")
    }
    #expect(try stack.names().isEmpty)
  }

  // MARK: Links

  @Test(arguments: Backend.available)
  func `a link by a key without a value is refused, and is no link to a missing record`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    for options in [MergeOptions(), MergeOptions(missingTargets: .leaveOut)] {
      let refused = refusal {
        try stack.merge([artist(1, ["mentor": .one(MergeKey(Int?.none))])], into: "Artist", options: options)
      }
      #expect(refused?.code == .invalidMergeKey)
      #expect(refused?.message.contains("'Artist.mentor' is incomplete") == true)
    }
    #expect(try stack.names().isEmpty)
  }

  @Test func `a link to an entity without a key is refused with both names`() throws {
    let model = try ManagedObjectModel {
      Entity("Track", userInfo: ["uniquenessAttributes": "id"]) {
        Attribute("id", .int64)
        Relationship("cover", toOne: "Cover", inverse: "tracks")
      }
      Entity("Cover") {
        Attribute("id", .int64)
        Relationship("tracks", toMany: "Track", inverse: "cover")
      }
    }
    let stack = try MergeStack(.inMemory, model)
    let refused = refusal { try stack.merge([MergeRecord(["id": 1, "cover": 1])], into: "Track") }
    #expect(refused?.code == .invalidMergeKey)
    #expect(refused?.message.contains("'Track.cover'") == true && refused?.message.contains("'Cover'") == true)
  }

  @Test func `a link of the wrong form is refused with the form that the relationship takes`() throws {
    let stack = try MergeStack(.inMemory)
    let one = refusal { try stack.merge([artist(1, ["pupils": .one(2)])], into: "Artist") }
    #expect(one?.code == .wrongType)
    #expect(one?.message == "'Artist.pupils' is a to-many relationship; link it by `.many`.")
    let many = refusal { try stack.merge([artist(1, ["mentor": .many([2])])], into: "Artist") }
    #expect(many?.code == .wrongType)
    #expect(many?.message == "'Artist.mentor' is a to-one relationship; link it by `.one`.")
  }

  @Test func `a link under the name of an attribute is refused, and a link under an unknown name is unknown`() throws {
    let stack = try MergeStack(.inMemory)
    let attribute = refusal { try stack.merge([artist(1, ["note": .one(2)])], into: "Artist") }
    #expect(attribute?.code == .wrongType && attribute?.message.contains("'Artist.note' is an attribute") == true)
    let unknown = refusal { try stack.merge([artist(1, ["mentr": .one(2)])], into: "Artist") }
    #expect(unknown?.code == .unknownProperty)
    #expect(try stack.names().isEmpty)
  }

  @Test(arguments: Backend.available)
  func `an input record is no destination of a link to another entity with its key`(backend: Backend) throws {
    let model = try ManagedObjectModel {
      Entity("Room", userInfo: ["uniquenessAttributes": "id"]) {
        Attribute("id", .int64)
        Relationship("chairs", toMany: "Chair", inverse: "room")
      }
      Entity("Chair", userInfo: ["uniquenessAttributes": "id"]) {
        Attribute("id", .int64)
        Relationship("room", toOne: "Room", inverse: "chairs")
      }
    }
    let stack = try MergeStack(backend, model)
    let page = [MergeRecord(["id": 9, "room": 9])]
    #expect { try stack.merge(page, into: "Chair") } throws: { ErrorCode.objectNotFound ~= $0 }
    let result = try stack.merge(page, into: "Chair", options: MergeOptions(missingTargets: .leaveOut))
    #expect(result.inserted == 1 && result.missingLinks == 1)
  }
}
