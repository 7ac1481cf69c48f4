import CoherenceActions
import CoherenceCore
import Foundation
import TestSupport
import TestRandom

/// An item from a server. The outer `nil` of a property keeps the stored value, and the inner `nil` clears it.
struct FormItem: Decodable {
  struct Size: Codable, Equatable {
    var width: Double
    var height: Double
  }

  var id: Int32 = 1
  var name: String??
  var count: Int??
  var price: Double??
  var isActive: Bool??
  var token: UUID??
  var born: Date??
  var amount: Decimal??
  var picture: Data??
  var words: [String]??
  var size: Size??
  var owner: String??
  var tags: [String]??

  /// - Parameter objectClass: The class of the items' objects.
  static func model(of objectClass: ManagedObject.Type = ManagedObject.self) throws -> ManagedObjectModel {
    try ManagedObjectModel {
      Entity("Item", class: objectClass, userInfo: ["uniquenessAttributes": "id"]) {
        Attribute("id", .int32)
        Attribute("name", .string, optional: true)
        Attribute("count", .int64, optional: true)
        Attribute("price", .double, optional: true)
        Attribute("isActive", .bool, optional: true)
        Attribute("token", .uuid, optional: true)
        Attribute("born", .date, optional: true)
        Attribute("amount", .decimal, optional: true)
        Attribute("picture", .data, optional: true)
        Attribute("words", .codable, optional: true)
        CompositeAttribute(
          "size", parts: [Attribute("width", .double, optional: true), Attribute("height", .double, optional: true)])
        Relationship("owner", toOne: "Tag", inverse: "owned")
        Relationship("tags", toMany: "Tag", inverse: "items")
      }
      Entity("Tag", uniqueness: [["name"]]) {
        Attribute("name", .string)
        Relationship("owned", toMany: "Item", inverse: "owner")
        Relationship("items", toMany: "Item", inverse: "tags")
      }
    }
  }

  static let attributeNames = [
    "id", "name", "count", "price", "isActive", "token", "born", "amount", "picture", "words", "size.width",
    "size.height",
  ]

  /// An item whose properties keep, clear or set their values at random.
  static func random(using random: inout SeededRandom) -> FormItem {
    func choose<Value>(_ values: [Value]) -> Value?? {
      switch Int.random(in: 0...3, using: &random) {
      case 0: nil
      case 1: .some(nil)
      default: values.randomElement(using: &random).map { .some($0) }
      }
    }
    var item = FormItem()
    item.name = choose(["Ada", "", "Ä"])
    item.count = choose([0, 1, -7])
    item.price = choose([0, 0.5, 2])
    item.isActive = choose([true, false])
    item.token = choose([UUID(uuid: (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15))])
    // The last date has a fraction of a microsecond.
    item.born = choose([0, 86_400, 700_000_000.123_456_78].map { Date(timeIntervalSinceReferenceDate: $0) })
    item.amount = choose([Decimal(1), Decimal(5) / 4])
    item.picture = choose([Data(), Data([0, 255])])
    item.words = choose([[], ["a/b", "\"c\""]])
    item.size = choose([Size(width: 1, height: 2), Size(width: 0.5, height: 0)])
    item.owner = choose(["jazz", "rock"])
    item.tags = choose([[], ["jazz"], ["rock", "jazz"]])
    return item
  }

  /// The item after a merge of another item into it.
  func merged(with other: FormItem) -> FormItem {
    var item = self
    item.name = other.name ?? name
    item.count = other.count ?? count
    item.price = other.price ?? price
    item.isActive = other.isActive ?? isActive
    item.token = other.token ?? token
    item.born = other.born ?? born
    item.amount = other.amount ?? amount
    item.picture = other.picture ?? picture
    item.words = other.words ?? words
    item.size = other.size ?? size
    item.owner = other.owner ?? owner
    item.tags = other.tags ?? tags
    return item
  }
}

// MARK: - Forms

extension FormItem {
  /// The item as a dictionary of values, with links.
  func record() throws -> MergeRecord {
    var record = MergeRecord(["id": id])
    if let name { record.values.updateValue(name, forKey: "name") }
    if let count { record.values.updateValue(count, forKey: "count") }
    if let price { record.values.updateValue(price, forKey: "price") }
    if let isActive { record.values.updateValue(isActive, forKey: "isActive") }
    if let token { record.values.updateValue(token, forKey: "token") }
    if let born { record.values.updateValue(born, forKey: "born") }
    if let amount { record.values.updateValue(amount, forKey: "amount") }
    if let picture { record.values.updateValue(picture, forKey: "picture") }
    if let words {
      let text = try words.map { try Self.text($0) }
      record.values.updateValue(text, forKey: "words")
    }
    if let size {
      record.values.updateValue(size?.width, forKey: "size.width")
      record.values.updateValue(size?.height, forKey: "size.height")
    }
    if let owner {
      let link: MergeLink = if let owner { .one(MergeKey(owner)) } else { .none }
      record.links["owner"] = link
    }
    if let tags {
      let keys: [String] = tags ?? []
      record.links["tags"] = MergeLink.many(keys.map { MergeKey($0) })
    }
    return record
  }

  /// The item as a JSON object.
  func json() throws -> String {
    var parts = ["\"id\":\(id)"]
    func add<Value: Encodable>(_ name: String, _ value: Value??) throws {
      guard let value else { return }
      let text: String = if let value { try Self.text(value) } else { "null" }
      parts.append("\"\(name)\":\(text)")
    }
    try add("name", name)
    try add("count", count)
    try add("price", price)
    try add("isActive", isActive)
    try add("token", token)
    try add("born", born)
    try add("amount", amount)
    try add("picture", picture)
    try add("words", words)
    try add("size", size)
    try add("owner", owner)
    try add("tags", tags)
    return "{\(parts.joined(separator: ","))}"
  }

  /// The item's attributes as an object without a context, which has a value or null for every attribute.
  func object(_ entity: EntityDescription) throws -> ManagedObject {
    let object = ManagedObject(entity: entity, insertInto: nil)
    try object.setValue(id, for: "id")
    try object.setValue(Self.flat(name), for: "name")
    try object.setValue(Self.flat(count), for: "count")
    try object.setValue(Self.flat(price), for: "price")
    try object.setValue(Self.flat(isActive), for: "isActive")
    try object.setValue(Self.flat(token), for: "token")
    try object.setValue(Self.flat(born), for: "born")
    try object.setValue(Self.flat(amount), for: "amount")
    try object.setValue(Self.flat(picture), for: "picture")
    try object.setCodable(Self.flat(words), for: "words")
    try object.setCodable(Self.flat(size), for: "size")
    return object
  }

  /// The value of a property, with `nil` for both a missing property and a null.
  static func flat<Value>(_ value: Value??) -> Value? {
    guard let value else { return nil }
    return value
  }

  private static func text<Value: Encodable>(_ value: Value) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(value), as: UTF8.self)
  }
}
