import CoherenceCore
import CoherenceOutbox
import Foundation

/// The model of the tests: a list with items, tags, people with a subentity, and an entity that no outbox forwards.
enum OutboxModels {
  static let main = model()

  /// The model of another version of the program, which declares the items differently, or has other entities too.
  static func model(item: Entity? = TestItem.entityDescription(), others: [Entity] = []) -> ManagedObjectModel {
    let items = item.map { [$0] } ?? []
    do {
      return try ManagedObjectModel(
        name: "OutboxTests",
        entities: [TestList.entityDescription(items: item?.name), tag(items: item?.name), person, employee, note]
          + items + others,
        configurations: [
          "Main": ["TestList", "TestTag"] + items.map(\.name) + others.map(\.name),
          "Other": ["TestPerson", "TestNote"],
        ]
      ).addingOutbox()
    } catch {
      preconditionFailure("The test model is not sound: \(error)")
    }
  }

  private static func tag(items: String?) -> Entity {
    Entity("TestTag", uniqueness: [["name"]]) {
      Attribute("name", .string)
      if let items { Relationship("items", toMany: items, inverse: "tags") }
    }
  }
  private static let person = Entity("TestPerson", userInfo: ["logTransactions": "true"]) {
    Attribute("name", .string)
  }
  private static let employee = Entity("TestEmployee", parent: "TestPerson") {
    Attribute("salary", .int64, optional: true)
  }
  private static let note = Entity("TestNote") { Attribute("text", .string, optional: true) }
}

/// A list of items.
final class TestList: ManagedObject {
  static let nameKey = AttributeKey<String>("name")
  static let itemsKey = ToManyKey<TestItem>("items")

  var name: String {
    get { self[Self.nameKey] }
    set { self[Self.nameKey] = newValue }
  }
  var items: ToMany<TestItem> { self[Self.itemsKey] }

  /// - Parameter items: The name of the entity of the items; `nil` for a model without items.
  static func entityDescription(items: String?) -> Entity {
    Entity("TestList", class: TestList.self, userInfo: [EntityDescription.keySetting: "name"]) {
      Attribute("name", .string)
      if let items { Relationship("items", toMany: items, inverse: "list", deleteRule: .cascade) }
    }
  }
}

/// An item of a list.
final class TestItem: ManagedObject {
  static let titleKey = AttributeKey<String>("title")
  static let countKey = AttributeKey<Int64>("count")
  static let photoKey = AttributeKey<Data?>("photo")
  static let listKey = ToOneKey<TestList>("list")
  static let tagsKey = ToManyKey<ManagedObject>("tags")

  var title: String {
    get { self[Self.titleKey] }
    set { self[Self.titleKey] = newValue }
  }
  var count: Int64 {
    get { self[Self.countKey] }
    set { self[Self.countKey] = newValue }
  }
  var photo: Data? {
    get { self[Self.photoKey] }
    set { self[Self.photoKey] = newValue }
  }
  var list: TestList? {
    get { self[Self.listKey] }
    set { self[Self.listKey] = newValue }
  }
  var tags: ToMany<ManagedObject> { self[Self.tagsKey] }

  static func entityDescription(
    name: String = "TestItem", formerName: String? = nil,
    attributes: [Attribute] = [Attribute("title", .string), Attribute("count", .int64, default: Int64(0))]
  ) -> Entity {
    Entity(name, class: TestItem.self, renamingIdentifier: formerName) {
      for attribute in attributes { attribute }
      Attribute("photo", .data, optional: true)
      Relationship("list", toOne: "TestList", inverse: "items")
      Relationship("tags", toMany: "TestTag", inverse: "items")
    }
  }
}
