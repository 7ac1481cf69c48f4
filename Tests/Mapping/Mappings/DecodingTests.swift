import CoherenceCore
import CoherenceMapping
import Foundation
import Synchronization
import Testing
import TestSupport

/// Making models from fetched values.
@Suite("Making models")
struct DecodingTests {
  private func roundTrip<Model: Codable & Sendable & Hashable>(
    _ mapping: Mapping<Model>, _ models: [Model], sort: [SortKey] = []
  ) throws -> [Model] {
    let stack = try MappingStack(.sqlite, model: ManagedObjectModel { mapping })
    try stack.manager.save(mapping, models: models, shouldOverwrite: true)
    let again = try stack.manager.save(mapping, models: models, shouldOverwrite: true)
    #expect(again.unchanged == models.count)
    return try stack.manager.fetchModels(mapping, sort: sort)
  }

  @Test func `a structure of fields alone is decoded for the first records, and assembled in memory afterwards`() throws
  {
    let mapping = Mapping<Plain>("Plain", uid: \.id) {
      // The order differs from that of the properties.
      Field("text", \.text)
      Field("id", \.id)
      Field("more", \.more)
    }
    let counter = Counter()
    let models = (0..<99).map { Plain(id: $0, text: "text number \($0) of many", more: $0 % 2 == 0 ? nil : "more") }
    let fetched = try Counter.$current.withValue(counter) { try roundTrip(mapping, models) }
    #expect(fetched == models && counter.count == 32)
    // The mapping keeps the profile for later fetches.
    let again = try Counter.$current.withValue(counter) { try roundTrip(mapping, models) }
    #expect(again == models && counter.count == 33)
  }

  @Test func `a structure with a property without a field is always decoded`() throws {
    let mapping = Mapping<Plain>("Plain", uid: \.id) {
      Field("id", \.id)
      Field("text", \.text)
    }
    let counter = Counter()
    let models = (0..<50).map { Plain(id: $0, text: "text number \($0) of fifty", more: nil) }
    let fetched = try Counter.$current.withValue(counter) { try roundTrip(mapping, models) }
    #expect(fetched == models && counter.count == 50)
  }

  @Test func `a type with custom decoding is always decoded`() throws {
    let mapping = Mapping<Shouting>("Shouting", uid: \.id) {
      Field("id", \.id)
      Field("text", \.text)
    }
    let fetched = try roundTrip(mapping, [Shouting(id: 1, text: "a"), Shouting(id: 2, text: "b")])
    #expect(fetched.map(\.text) == ["A!", "B!"])
  }

  @Test func `a mapping with alwaysDecodes decodes every record`() throws {
    let mapping = Mapping<Bounded>("Bounded", uid: \.id, alwaysDecodes: true) {
      Field("id", \.id)
      Field("level", \.level)
    }
    let models = (0..<99).map { Bounded(id: $0, level: $0 == 98 ? 1_000 : $0) }
    #expect(try roundTrip(mapping, models).last?.level == 100)
  }

  @Test(arguments: [0, 1, 40, 98])
  func `custom decoding is detected by the first records, or by a record that does not fit`(
    place: Int
  ) throws {
    let loose = Mapping<Loose>("Loose", uid: \.id) {
      Field("id", \.id)
      Field("level", \.level)
    }
    let lenient = Mapping<Lenient>("Loose", uid: \.id) {
      Field("id", \.id)
      Field("level", \.level)
    }
    let stack = try MappingStack(.sqlite, model: ManagedObjectModel { loose })
    let models = (0..<99).map { Loose(id: $0, level: $0 == place ? nil : $0) }
    try stack.manager.save(loose, models: models, shouldOverwrite: true)
    for _ in 0..<2 {
      let fetched = try stack.manager.fetchModels(lenient, sort: [lenient.order(\.id)])
      #expect(fetched.map(\.level) == (0..<99).map { $0 == place ? -1 : $0 })
      #expect(try stack.manager.fetchModels(lenient, uids: Array(0..<99)).count == 99)
    }
  }

  @Test func `properties of nested structures are fields with a path of coding keys`() throws {
    let mapping = Mapping<House>("House", uid: \.id) {
      Field("id", \.id)
      Field("street", \.address.street, codingKey: "address.street")
      Field("town", \.address.town, codingKey: "address.city")
      Field("ownerName", \.owner?.name, codingKey: "owner.name")
    }
    let houses = [
      House(id: 1, address: House.Address(street: "A", town: "B"), owner: nil),
      House(id: 2, address: House.Address(street: "C", town: "D"), owner: House.Owner(name: "E")),
    ]
    #expect(try roundTrip(mapping, houses) == houses)
  }

  @Test func `a nested property as large as its structure does not count as the structure`() throws {
    let mapping = Mapping<Wrapped>("Wrapped", uid: \.id.value) {
      Field("id", \.id.value, codingKey: "id.value")
      Field("text", \.text)
    }
    let models = [Wrapped(id: Wrapped.ID(value: 1), text: "a"), Wrapped(id: Wrapped.ID(value: 2), text: "b")]
    #expect(try roundTrip(mapping, models) == models)
  }

  @Test func `a structure with two fields of one property is always decoded`() throws {
    // An assembled model would have no value for the property without a field.
    let mapping = Mapping<Twin>("Twin", uid: \.id) {
      Field("id", \.id)
      Field("name", \.name)
      Field("copy", \.name)
    }
    let models = (0..<99).map { Twin(id: $0, name: "the name of number \($0)", copy: "the name of number \($0)") }
    #expect(try roundTrip(mapping, models, sort: [mapping.order(\.id)]) == models)
  }

  @Test func `computed properties and wrapped properties can be fields`() throws {
    let mapping = Mapping<Computed>("Computed", uid: \.id) {
      Field("id", \.id)
      Field("celsius", \.celsius, codingKey: "celsius")
      Field("level", \.level)
    }
    var models = [Computed(id: 1, fahrenheit: 32), Computed(id: 2, fahrenheit: 212)]
    models[1].level = 300
    let fetched = try roundTrip(mapping, models)
    #expect(fetched == models && fetched[1].level == 100 && fetched[1].celsius == 100)
  }

  @Test func `instances of classes can be models`() throws {
    let mapping = Mapping<Node>("Node", uid: \.id) {
      Field("id", \.id)
      Field("name", \.name)
    }
    let fetched = try roundTrip(mapping, [Node(id: 1, name: "a"), Node(id: 2, name: "b")])
    #expect(fetched == [Node(id: 1, name: "a"), Node(id: 2, name: "b")] && fetched[0] !== fetched[1])
  }

  @Test func `numbers of every size, and enumerations with only Decodable conformance, are decoded`() throws {
    let mapping = Mapping<Sizes>("Sizes", uid: \.id) {
      Field("id", \.id)
      Field("small", \.stored.small, codingKey: "stored.small")
      Field("kind", \.stored.kindText, codingKey: "stored.kind")
      Field("on", \.stored.on, codingKey: "stored.on")
    }
    let models = [Sizes(id: 1, stored: .init(byte: 7, kind: .b, on: true))]
    #expect(try roundTrip(mapping, models) == models)
  }
}

private final class Counter: Sendable {
  @TaskLocal static var current: Counter?
  private let value = Mutex(0)
  var count: Int { value.withLock { $0 } }
  func add() { value.withLock { $0 += 1 } }
}

private struct Plain: Codable, Sendable, Hashable {
  let id: Int
  let text: String
  var more: String?

  init(id: Int, text: String, more: String?) {
    self.id = id
    self.text = text
    self.more = more
  }

  init(from decoder: any Decoder) throws {
    Counter.current?.add()
    let container = try decoder.container(keyedBy: CodingKeys.self)
    id = try container.decode(Int.self, forKey: .id)
    text = try container.decode(String.self, forKey: .text)
    more = try container.decodeIfPresent(String.self, forKey: .more)
  }
}

private struct Twin: Codable, Sendable, Hashable {
  var id: Int
  var name: String
  var copy: String
}

/// Refuses to decode a level above a bound.
private struct Bounded: Codable, Sendable, Hashable {
  var id: Int
  var level: Int

  init(id: Int, level: Int) {
    self.id = id
    self.level = level
  }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    id = try container.decode(Int.self, forKey: .id)
    level = min(try container.decode(Int.self, forKey: .level), 100)
  }
}

private struct Loose: Codable, Sendable, Hashable {
  var id: Int
  var level: Int?
}

/// Decodes a missing level as a default level.
private struct Lenient: Codable, Sendable, Hashable {
  var id: Int
  var level: Int

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    id = try container.decode(Int.self, forKey: .id)
    level = try container.decodeIfPresent(Int.self, forKey: .level) ?? -1
  }
}

private struct Shouting: Codable, Sendable, Hashable {
  var id: Int
  var text: String

  init(id: Int, text: String) {
    self.id = id
    self.text = text
  }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    id = try container.decode(Int.self, forKey: .id)
    text = try container.decode(String.self, forKey: .text).uppercased() + "!"
  }
}

private struct House: Codable, Sendable, Hashable {
  struct Address: Codable, Sendable, Hashable {
    var street: String
    var town: String
    enum CodingKeys: String, CodingKey {
      case street
      case town = "city"
    }
  }
  struct Owner: Codable, Sendable, Hashable { var name: String }
  var id: Int
  var address: Address
  var owner: Owner?
}

private struct Wrapped: Codable, Sendable, Hashable {
  struct ID: Codable, Sendable, Hashable { var value: Int }
  var id: ID
  var text: String
}

private struct Computed: Codable, Sendable, Hashable {
  @propertyWrapper struct Bounded: Codable, Sendable, Hashable {
    private var value = 0
    init() {}
    var wrappedValue: Int {
      get { value }
      set { value = min(newValue, 100) }
    }
    init(from decoder: any Decoder) throws { value = try decoder.singleValueContainer().decode(Int.self) }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(value)
    }
  }

  var id: Int
  var fahrenheit: Double
  @Bounded var level: Int

  var celsius: Double { (fahrenheit - 32) / 1.8 }

  init(id: Int, fahrenheit: Double) {
    self.id = id
    self.fahrenheit = fahrenheit
  }

  private enum CodingKeys: String, CodingKey { case id, celsius, level }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    id = try container.decode(Int.self, forKey: .id)
    fahrenheit = try container.decode(Double.self, forKey: .celsius) * 1.8 + 32
    _level = try container.decode(Bounded.self, forKey: .level)
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(id, forKey: .id)
    try container.encode(celsius, forKey: .celsius)
    try container.encode(_level, forKey: .level)
  }
}

private final class Node: Codable, Sendable, Hashable {
  let id: Int
  let name: String
  init(id: Int, name: String) {
    self.id = id
    self.name = name
  }
  static func == (left: Node, right: Node) -> Bool { left.id == right.id && left.name == right.name }
  func hash(into hasher: inout Hasher) { hasher.combine(id) }
}

private struct Sizes: Codable, Sendable, Hashable {
  enum Kind: String, Codable, Sendable { case a, b }
  struct Stored: Codable, Sendable, Hashable {
    var byte: UInt8
    var kind: Kind
    var on: Bool
    var small: Int16 { Int16(byte) }
    var kindText: String { kind.rawValue }
    enum CodingKeys: String, CodingKey {
      case byte = "small"
      case kind, on
    }
  }
  var id: Int
  var stored: Stored
}
