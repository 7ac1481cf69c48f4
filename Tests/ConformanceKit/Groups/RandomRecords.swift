import CoherenceCore
import Foundation

/// Random records of ``Harbours``, and random changes of them. Many values are equal, missing, or at the limits of
/// their types.
struct RandomRecords {
  private var random: SplitMix64
  /// The records after all changes so far.
  private(set) var records = PlainRecords()
  private var changes: [PlainRecords.Change] = []

  init(_ random: SplitMix64) { self.random = random }

  /// Returns the inserts of the first records. Targets come before the records that refer to them.
  ///
  /// - Parameter hasCargoes: Whether records with attributes of every type are among them.
  mutating func inserts(hasCargoes: Bool) -> [PlainRecords.Change] {
    changes = []
    insert("Region", random.number(0...3))
    insert("Harbour", random.number(0...5))
    if hasCargoes {
      for _ in 0..<random.number(1...24) { insert(random.chance(25) ? "Livestock" : "Cargo", 1) }
    }
    insert("Crate", random.number(0...24))
    return changes
  }

  /// Returns further changes: inserts, new values, other targets, and deletes of the first records.
  mutating func moreChanges() -> [PlainRecords.Change] {
    changes = []
    let first = records
    for _ in 0..<random.number(6...14) {
      switch random.number(0...9) {
      case 0: insert(random.pick(["Harbour", "Region"]), 1)
      case 1: insert(random.pick(["Cargo", "Livestock"]), 1)
      case 2: insert("Crate", 1)
      case 3: delete(of: first)
      case 4, 5: moveRecord()
      default: setValue()
      }
    }
    return changes
  }

  private mutating func add(_ change: PlainRecords.Change) {
    records.apply([change])
    changes.append(change)
  }

  private static let entities = ["Region", "Harbour", "Cargo", "Livestock", "Crate"]

  private mutating func number(of entities: [String]) -> Int? {
    let numbers = entities.flatMap { records.numbers(of: $0, withSubentities: false) }
    return numbers.isEmpty ? nil : random.pick(numbers)
  }

  // MARK: Changes

  private mutating func insert(_ entity: String, _ count: Int) {
    for _ in 0..<count {
      var record = PlainRecords.Record(
        entity: entity, values: ["number": .int(Int64(records.records.count))])
      for name in PlainRecords.attributes[entity] ?? [] where name == "heads" || random.chance(80) {
        record.values[name] = value(of: name)
      }
      if random.chance(80), let (relationship, target) = target(of: entity) { record.targets[relationship] = target }
      add(.insert(record))
    }
  }

  /// The to-one relationship of an entity, and a random target; `nil` without a target.
  private mutating func target(of entity: String) -> (relationship: String, target: Int)? {
    let relationship = ["Harbour": "region", "Crate": "cargo"][entity] ?? "harbour"
    guard entity != "Region", let destination = PlainRecords.destinations[relationship] else { return nil }
    let entities = destination == "Cargo" ? ["Cargo", "Livestock"] : [destination]
    guard let number = number(of: entities) else { return nil }
    return (relationship, number)
  }

  private mutating func setValue() {
    guard let number = number(of: Self.entities) else { return }
    let name = random.pick(PlainRecords.attributes[records.records[number].entity] ?? [])
    let isMissing = name != "heads" && random.chance(20)
    add(.set(number, name, isMissing ? .null : value(of: name)))
  }

  private mutating func moveRecord() {
    guard let number = number(of: ["Harbour", "Cargo", "Livestock", "Crate"]),
      let (relationship, target) = target(of: records.records[number].entity)
    else { return }
    add(.move(number, relationship, to: random.chance(25) ? nil : target))
  }

  /// Deletes one of the first records.
  private mutating func delete(of first: PlainRecords) {
    let numbers = Self.entities.flatMap { records.numbers(of: $0, withSubentities: false) }
      .filter { $0 < first.records.count }
    if !numbers.isEmpty { add(.delete(random.pick(numbers))) }
  }

  // MARK: Values

  /// A value of an attribute. Only `serial`, `budget` and `reading` have sums that are out of range or inexact.
  private mutating func value(of name: String) -> AttributeValue {
    switch name {
    case "units", "grade": integer(-5...20, [Int64(Int16.min), Int64(Int16.max)])
    case "pieces": integer(-5...20, [Int64(Int32.min), Int64(Int32.max)])
    case "amount": integer(-5...20, [-1_000_000_000_000, 1_000_000_000_000])
    case "serial": integer(-5...20, Self.serials)
    case "heads", "mass": integer(-3...12, [])
    case "reading": .double(random.chance(50) ? random.pick(Self.readings) : quarter())
    case "weight", "draught", "depth", "load": .double(random.chance(5) ? -0.0 : quarter())
    case "price", "worth", "fee": .decimal(random.chance(20) ? random.pick(Self.prices) : decimalQuarter())
    case "budget": .decimal(random.chance(50) ? random.pick(Self.budgets) : decimalQuarter())
    case "isOpen", "isFragile": RandomValue.value(of: .bool, &random)
    case "landed", "packed": RandomValue.value(of: .date, &random)
    case "code": RandomValue.value(of: .uuid, &random)
    case "seal": RandomValue.value(of: .data, &random)
    default: RandomValue.value(of: .string, &random)
    }
  }

  private mutating func integer(_ small: ClosedRange<Int>, _ limits: [Int64]) -> AttributeValue {
    if !limits.isEmpty, random.chance(20) { return .int(random.pick(limits)) }
    return .int(Int64(random.number(small)))
  }

  private mutating func quarter() -> Double { Double(random.number(-20...80)) / 4 }

  private mutating func decimalQuarter() -> Decimal { Decimal(random.number(-20...80)) / 4 }

  private static let serials: [Int64] = [
    Int64.min, Int64.min + 1, Int64.max - 1, Int64.max, 4_611_686_018_427_387_904, -4_611_686_018_427_387_904,
  ]
  private static let readings: [Double] = [
    0.1, 0.2, 0.3, -0.1, -0.0, 1e16, -1e16, 9_007_199_254_740_992, 1e300, .leastNonzeroMagnitude, .infinity,
    -.infinity,
  ]
  private static let prices = ["0.1", "0.10", "-0.1", "9", "10", "9.99", "-12.125"].map { Decimal(string: $0) ?? 0 }
  /// Numbers of up to 36 digits before the point, so that some of their sums have more digits than a decimal.
  private static let budgets = [
    "123456789012345678901234567890123456", "-123456789012345678901234567890123456",
    "999999999999999999999999999999999999", "0.01", "-0.01", "0.001", "99999999999999999999.5",
    "0.00000000000000000001", "1e30",
  ].map { Decimal(string: $0) ?? 0 }
}
