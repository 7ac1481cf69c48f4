import CoherenceCore
import Testing

/// A disjunction of sixteen comparisons or more is searched for lists.
@Suite("Lists in disjunctions")
struct QueryListTests {
  private let entity: EntityDescription

  init() throws {
    let model = try ManagedObjectModel {
      Entity("Thing") {
        Attribute("name", .string)
        Attribute("code", .string)
      }
    }
    entity = try model.entity(named: "Thing")
  }

  private func equal(_ name: String, _ value: Int, _ options: StringOptions = []) -> FetchPredicate {
    .comparison(.path(PropertyPath(name)), .equal, .value(.string("\(value)")), options)
  }

  private func list(_ name: String, _ values: some Sequence<Int>, _ options: StringOptions = []) -> FetchPredicate {
    .membership(.path(PropertyPath(name)), in: values.map { .string("\($0)") }, options)
  }

  @Test func `fifteen comparisons stay and sixteen of one property become a list`() throws {
    let few = FetchPredicate.or((1...15).map { equal("name", $0) })
    #expect(try few.checked(for: entity) == few)
    #expect(try FetchPredicate.or((1...16).map { equal("name", $0) }).checked(for: entity) == list("name", 1...16))
  }

  @Test func `each property and each option gets its own list at the position of its first comparison`() throws {
    let parts =
      [equal("code", 0)] + (1...10).map { equal("name", $0) } + (1...5).map { equal("name", $0, .caseInsensitive) }
      + [equal("code", 1)]
    #expect(
      try FetchPredicate.or(parts).checked(for: entity)
        == .or([list("code", 0...1), list("name", 1...10), list("name", 1...5, .caseInsensitive)]))
  }

  @Test func `other conditions and single comparisons stay unchanged`() throws {
    let different = FetchPredicate.comparison(.path(PropertyPath("name")), .notEqual, .value(.string("x")))
    let alone = equal("code", 7)
    let parts = [different] + (1...16).map { equal("name", $0) } + [alone]
    #expect(try FetchPredicate.or(parts).checked(for: entity) == .or([different, list("name", 1...16), alone]))
  }

  @Test func `a conjunction of many comparisons is not a list`() throws {
    let all = FetchPredicate.and((1...20).map { equal("name", $0) })
    #expect(try all.checked(for: entity) == all)
  }
}
