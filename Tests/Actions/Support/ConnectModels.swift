import CoherenceCore
import Foundation

final class ConnectEntity1: ManagedObject {
  static let idKey = AttributeKey<Int64>("id")
  static let boolKey = AttributeKey<Bool?>("boolAttribute")
  static let stringKey = AttributeKey<String>("stringAttribute")
  static let binaryKey = AttributeKey<Data?>("binaryAttribute")

  var id: Int64 {
    get { self[Self.idKey] }
    set { self[Self.idKey] = newValue }
  }
  var bool: Bool? {
    get { self[Self.boolKey] }
    set { self[Self.boolKey] = newValue }
  }
  var string: String {
    get { self[Self.stringKey] }
    set { self[Self.stringKey] = newValue }
  }
  var binary: Data? {
    get { self[Self.binaryKey] }
    set { self[Self.binaryKey] = newValue }
  }

  /// Makes an object without a context.
  static func make(_ id: Int64, _ string: String) -> ConnectEntity1 {
    let object = ConnectEntity1(entity: ConnectModels.main.entitiesByName["ConnectEntity1"]!, insertInto: nil)
    object.id = id
    object.string = string
    object.bool = id % 2 == 0
    object.binary = Data("\(id)".utf8)
    return object
  }
}

final class ConnectEntity2: ManagedObject {}
final class ConnectEntity3Unmanaged: ManagedObject {}
final class ConnectEntity4MissingUniquenessAttribute: ManagedObject {}

/// The models of the tests of Connect.
enum ConnectModels {
  static let main = model("ConnectTestModel", main: true)
  static let empty = model("ConnectTestModelEmpty", main: false)

  private static func model(_ name: String, main: Bool) -> ManagedObjectModel {
    do {
      return try ManagedObjectModel(name: name, entities: main ? entities : [])
    } catch {
      preconditionFailure("The test model '\(name)' is not sound: \(error)")
    }
  }

  private static let entities: [Entity] = [
    Entity("ConnectEntity1", class: ConnectEntity1.self, userInfo: ["uniquenessAttributes": "id"]) {
      Attribute("binaryAttribute", .data, optional: true)
      Attribute("boolAttribute", .bool, optional: true)
      Attribute("id", .int64, default: 0)
      Attribute("stringAttribute", .string)
      Attribute("transformableAttribute", .transformable("archiver"), optional: true)
    },
    Entity("ConnectEntity2", class: ConnectEntity2.self, userInfo: ["uniquenessAttributes": "id"]) {
      Attribute("id", .int64, default: 0)
      Attribute("stringAttribute", .string, optional: true)
    },
    Entity("ConnectEntity3Unmanaged", class: ConnectEntity3Unmanaged.self) { Attribute("id", .int64, default: 0) },
    Entity(
      "ConnectEntity4MissingUniquenessAttribute", class: ConnectEntity4MissingUniquenessAttribute.self,
      userInfo: ["uniquenessAttributes": "id,missingAttribute"]
    ) { Attribute("id", .int64, default: 0) },
  ]
}
