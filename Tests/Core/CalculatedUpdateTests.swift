import Foundation
import Testing

@testable import CoherenceCore

/// The calculations of batch updates in Core, and the form in which a store may make them.
@Suite struct CalculatedUpdateTests {
  private let entity: EntityDescription
  private let space: IDSpace

  init() throws {
    let model = try ManagedObjectModel {
      Entity("Account") {
        Attribute("small", .int16)
        Attribute("large", .int64)
        Attribute("bonus", .int64, optional: true)
        Attribute("rate", .double, optional: true)
        Attribute("price", .decimal, optional: true)
        Attribute("name", .string, optional: true)
        Attribute("isOpen", .bool, optional: true)
      }
    }
    entity = try model.entity(named: "Account")
    space = IDSpaces(store: StoreIdentifier("accounts"), model: model)[entity]
  }

  private func attribute(_ name: String) throws -> AttributeDescription {
    try #require(entity.attribute(named: name))
  }

  private func calculation(_ expression: UpdateExpression, for name: String) throws -> BatchCalculation {
    try BatchCalculation(expression, for: try attribute(name), of: entity)
  }

  private func row(_ values: [String: AttributeValue]) throws -> Row {
    Row.make(
      id: ManagedObjectID(space: space, key: 1), entity: entity, version: 1,
      values: entity.slots.map { values[$0.name] ?? .null })
  }

  private func value(
    _ expression: UpdateExpression, for name: String, in values: [String: AttributeValue] = [:]
  ) throws -> AttributeValue { try calculation(expression, for: name).value(for: try row(values)) }

  private func code(of body: () throws -> Void) -> ErrorCode? {
    let error = #expect(throws: CoherenceError.self) { try body() }
    return error?.code
  }

  // MARK: Values

  @Test func `sums, differences and products are calculated in the numbers of the attribute`() throws {
    let large = UpdateExpression.attribute("large")
    let rate = UpdateExpression.attribute("rate")
    let price = UpdateExpression.attribute("price")
    #expect(try value(.sum(large, .value(.int(2))), for: "large", in: ["large": .int(5)]) == .int(7))
    #expect(try value(.difference(.value(.int(2)), large), for: "large", in: ["large": .int(5)]) == .int(-3))
    #expect(try value(.product(large, .value(.int(2))), for: "large", in: ["large": .int(5)]) == .int(10))
    #expect(try value(.sum(rate, .value(.double(0.5))), for: "rate", in: ["rate": .double(2)]) == .double(2.5))
    #expect(try value(.difference(rate, .value(.double(0.5))), for: "rate", in: ["rate": .double(2)]) == .double(1.5))
    #expect(try value(.product(rate, .value(.double(0.5))), for: "rate", in: ["rate": .double(2)]) == .double(1))
    #expect(try value(.sum(price, .value(.decimal(3))), for: "price", in: ["price": .decimal(2)]) == .decimal(5))
    #expect(
      try value(.difference(price, .value(.decimal(3))), for: "price", in: ["price": .decimal(2)]) == .decimal(-1))
    #expect(try value(.product(price, .value(.decimal(3))), for: "price", in: ["price": .decimal(2)]) == .decimal(6))
    #expect(
      try value(.sum(.attribute("name"), .value(.string("!"))), for: "name", in: ["name": .string("A")])
        == .string("A!"))
  }

  @Test func `a missing operand makes the result missing, which a required attribute refuses`() throws {
    let sum = UpdateExpression.sum(.attribute("bonus"), .value(.int(1)))
    #expect(try value(sum, for: "bonus") == .null)
    #expect(try value(.sum(.value(.int(1)), .attribute("bonus")), for: "bonus") == .null)
    let error = #expect(throws: CoherenceError.self) { try value(sum, for: "large") }
    #expect(error?.code == .missingValue)
    #expect(error?.message.contains("'Account.large'") == true)
  }

  @Test func `a result out of the range of the attribute or of its kind is refused`() throws {
    let sum = UpdateExpression.sum(.attribute("large"), .value(.int(1)))
    #expect(code { _ = try value(sum, for: "small", in: ["large": .int(Int64(Int16.max))]) } == .invalidValue)
    #expect(try value(sum, for: "small", in: ["large": .int(Int64(Int16.max) - 1)]) == .int(Int64(Int16.max)))
    #expect(code { _ = try value(sum, for: "large", in: ["large": .int(.max)]) } == .invalidValue)
    let product = UpdateExpression.product(.attribute("large"), .value(.int(2)))
    #expect(code { _ = try value(product, for: "large", in: ["large": .int(.max)]) } == .invalidValue)
    let difference = UpdateExpression.difference(.attribute("large"), .value(.int(1)))
    #expect(code { _ = try value(difference, for: "large", in: ["large": .int(.min)]) } == .invalidValue)
    let twice = UpdateExpression.product(.attribute("rate"), .value(.double(2)))
    let largest = AttributeValue.double(.greatestFiniteMagnitude)
    #expect(code { _ = try value(twice, for: "rate", in: ["rate": largest]) } == .invalidValue)
  }

  // MARK: Wrong expressions

  @Test func `an expression of other types is refused with the names of the attributes`() throws {
    func refusal(_ expression: UpdateExpression, for name: String) -> CoherenceError? {
      #expect(throws: CoherenceError.self) { try calculation(expression, for: name) }
    }
    let ofTruth = refusal(.value(.bool(true)), for: "isOpen")
    #expect(ofTruth?.code == .wrongType)
    #expect(ofTruth?.message.contains("no number and no text") == true)
    let ofText = refusal(.product(.attribute("name"), .value(.string("A"))), for: "name")
    #expect(ofText?.code == .wrongType)
    #expect(ofText?.message.contains("joined by a sum") == true)
    let ofOther = refusal(.sum(.attribute("rate"), .value(.int(1))), for: "large")
    #expect(ofOther?.code == .wrongType)
    #expect(ofOther?.message.contains("'Account.rate'") == true)
    let ofConstant = refusal(.sum(.attribute("large"), .value(.string("A"))), for: "large")
    #expect(ofConstant?.code == .wrongType)
    #expect(ofConstant?.message.contains("A constant of the calculation of 'Account.large'") == true)
    #expect(ofConstant?.underlying != nil)
    #expect(refusal(.attribute("missing"), for: "large")?.code == .unknownProperty)
  }

  @Test func `an expression has as many levels as a condition, and no more`() throws {
    func sum(_ depth: Int) -> UpdateExpression {
      (0..<depth).reduce(UpdateExpression.attribute("large")) { left, _ in .sum(left, .value(.int(1))) }
    }
    #expect(try value(sum(200), for: "large", in: ["large": .int(5)]) == .int(205))
    for depth in [201, 10_000] {
      let error = #expect(throws: CoherenceError.self) { try calculation(sum(depth), for: "large") }
      #expect(error?.code == .limitExceeded)
      #expect(error?.message.contains("'Account.large' is nested more than 200 deep") == true)
    }
  }

  // MARK: In stores

  private func arithmetic(_ expression: UpdateExpression, for name: String = "large") throws -> SlotArithmetic? {
    try calculation(expression, for: name).arithmetic
  }

  @Test func `a store may calculate with one integer attribute and one constant`() throws {
    let slot = try attribute("large").slot
    let (large, two) = (UpdateExpression.attribute("large"), UpdateExpression.value(.int(2)))
    func expected(_ operation: SlotArithmetic.Operation, _ operand: Int64) -> SlotArithmetic {
      SlotArithmetic(source: slot, operation: operation, operand: operand, target: .min ... .max)
    }
    #expect(try arithmetic(.sum(large, two)) == expected(.add, 2))
    #expect(try arithmetic(.sum(two, large)) == expected(.add, 2))
    #expect(try arithmetic(.difference(large, two)) == expected(.add, -2))
    #expect(try arithmetic(.product(large, two)) == expected(.multiply, 2))
    #expect(try arithmetic(.product(two, large)) == expected(.multiply, 2))
    let small = SlotArithmetic(
      source: slot, operation: .add, operand: 2, target: Int64(Int16.min)...Int64(Int16.max))
    #expect(try arithmetic(.sum(large, two), for: "small") == small)
  }

  @Test func `every other calculation is made by Core`() throws {
    let (large, two) = (UpdateExpression.attribute("large"), UpdateExpression.value(.int(2)))
    #expect(try arithmetic(.difference(two, large)) == nil)
    #expect(try arithmetic(.difference(large, .value(.int(.min)))) == nil)
    #expect(try arithmetic(.sum(large, large)) == nil)
    #expect(try arithmetic(.sum(.sum(large, two), two)) == nil)
    #expect(try arithmetic(large) == nil)
    #expect(try arithmetic(.sum(.attribute("rate"), .value(.double(1))), for: "rate") == nil)
    // A missing operand would leave a required attribute without a value.
    #expect(try arithmetic(.sum(.attribute("bonus"), two)) == nil)
    #expect(try arithmetic(.sum(large, .value(.null))) == nil)
    #expect(try arithmetic(.sum(.attribute("bonus"), two), for: "bonus") != nil)
  }
}
