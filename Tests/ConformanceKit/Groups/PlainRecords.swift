import CoherenceCore

/// The records of ``Harbours`` as plain values, outside of every context and store.
struct PlainRecords {
  /// A record. Its number is its index.
  struct Record {
    let entity: String
    /// The values by attribute; a missing value has no entry, or is null.
    var values: [String: AttributeValue]
    /// The numbers of the targets by to-one relationship.
    var targets: [String: Int] = [:]
    var isDeleted = false
  }

  /// A change of the records.
  enum Change {
    case insert(Record)
    case set(Int, String, AttributeValue)
    case move(Int, String, to: Int?)
    case delete(Int)
  }

  private(set) var records: [Record] = []
  /// The numbers of the members by to-many relationship and owner.
  private var members: [String: [Int: [Int]]] = [:]

  // MARK: Model

  /// The to-one relationship on the other side of each to-many relationship.
  private static let inverses = ["crates": "cargo", "cargoes": "harbour", "harbours": "region"]
  /// The names of the to-one relationships, each with its destination.
  static let destinations = ["cargo": "Cargo", "harbour": "Harbour", "region": "Region"]
  /// The attributes of each entity.
  static let attributes: [String: [String]] = [
    "Region": ["title"], "Harbour": ["name", "isOpen", "depth", "fee"], "Cargo": cargoAttributes,
    "Livestock": cargoAttributes + ["heads"], "Crate": ["mark", "mass", "amount", "load", "worth", "packed"],
  ]
  private static let cargoAttributes = [
    "label", "isFragile", "units", "pieces", "serial", "grade", "weight", "reading", "draught", "price", "budget",
    "landed", "code", "seal",
  ]
  private static let types: [String: PlainType] = [
    "title": .text, "name": .text, "label": .text, "mark": .text, "isOpen": .bool, "isFragile": .bool,
    "depth": .double, "weight": .double, "reading": .double, "draught": .double, "load": .double, "fee": .decimal,
    "price": .decimal, "budget": .decimal, "worth": .decimal, "landed": .date, "packed": .date, "code": .uuid,
    "seal": .data,
  ]

  /// The type of the values at the end of a path, also of a path that begins with a function.
  static func valueType(at path: ArraySlice<String>) -> PlainType {
    guard let index = path.firstIndex(where: { $0.hasPrefix("@") }) else {
      return path.last.flatMap { types[$0] } ?? .integer
    }
    let operand = valueType(at: path[(index + 1)...])
    return function(named: path[index]).map { operand.result(of: $0) } ?? operand
  }

  /// The function with a name in paths, such as `@sum`.
  static func function(named name: String) -> AggregateFunction? {
    AggregateFunction.allCases.first { $0.pathOperator == name }
  }

  // MARK: Changes

  mutating func apply(_ changes: [Change]) {
    for change in changes {
      switch change {
      case .insert(let record): records.append(record)
      case .set(let number, let name, let value): records[number].values[name] = value
      case .move(let number, let name, let target): records[number].targets[name] = target
      case .delete(let number): delete(number)
      }
    }
    findMembers()
  }

  /// Deletes a record, and clears the references to it.
  private mutating func delete(_ number: Int) {
    records[number].isDeleted = true
    for index in records.indices { records[index].targets = records[index].targets.filter { $0.value != number } }
  }

  private mutating func findMembers() {
    members = [:]
    for (number, record) in records.enumerated() where !record.isDeleted {
      for (relationship, inverse) in Self.inverses {
        guard let target = record.targets[inverse] else { continue }
        members[relationship, default: [:]][target, default: []].append(number)
      }
    }
  }

  // MARK: Reading

  /// The numbers of the existing records of an entity.
  func numbers(of entity: String, withSubentities: Bool = true) -> [Int] {
    let names = entity == "Cargo" && withSubentities ? ["Cargo", "Livestock"] : [entity]
    return records.indices.filter { !records[$0].isDeleted && names.contains(records[$0].entity) }
  }

  /// The value at the end of a path from a record: an attribute, the number of a target, or an aggregate of members.
  ///
  /// - Parameter number: The number of the record; `nil` for a missing record.
  func value(at path: ArraySlice<String>, of number: Int?) -> AttributeValue {
    guard let name = path.first else { return number.map { AttributeValue.int(Int64($0)) } ?? .null }
    let rest = path.dropFirst()
    if Self.inverses[name] != nil {
      return aggregate(rest, of: number.flatMap { members[name]?[$0] } ?? []).value
    }
    guard Self.destinations[name] == nil else {
      return value(at: rest, of: number.flatMap { records[$0].targets[name] })
    }
    return number.flatMap { records[$0].values[name] } ?? .null
  }

  /// The result of a path that begins with a function, over the records with some numbers.
  func aggregate(_ path: ArraySlice<String>, of numbers: [Int]) -> PlainResult {
    guard let name = path.first, let function = Self.function(named: name) else { return .value(.null) }
    let rest = path.dropFirst()
    // A function without a property counts records.
    let values = numbers.map { rest.isEmpty ? AttributeValue.bool(true) : value(at: rest, of: $0) }
    return PlainResult(function, of: values, Self.valueType(at: rest))
  }
}

// MARK: - Contexts

extension ManagedObjectContext {
  /// Applies changes to objects, each at the index of its number. Appends the inserted objects.
  func apply(_ changes: [PlainRecords.Change], to objects: inout [ManagedObject]) throws {
    for change in changes {
      switch change {
      case .insert(let record):
        let object = try insertNewObject(forEntityName: record.entity)
        for (name, value) in record.values { try object.setAttributeValue(value, for: name) }
        for (name, target) in record.targets { try object.setObject(objects[target], for: name) }
        objects.append(object)
      case .set(let number, let name, let value): try objects[number].setAttributeValue(value, for: name)
      case .move(let number, let name, let target):
        try objects[number].setObject(target.map { objects[$0] }, for: name)
      case .delete(let number): delete(objects[number])
      }
    }
  }

  /// The saved objects of ``Harbours`` by their numbers.
  func numberedObjects() throws -> [ManagedObject] {
    var objects: [(number: Int, object: ManagedObject)] = []
    for entity in ["Region", "Harbour", "Cargo", "Crate"] {
      for object in try all(entity) {
        let number = try object.value(for: "number", as: Int.self)
        objects.append((number, object))
      }
    }
    return objects.sorted { $0.number < $1.number }.map { $0.object }
  }
}
