import CoherenceCore
import Foundation

extension RandomCondition {
  /// A comparison of a calculation with a constant, with another calculation, or with null.
  mutating func arithmetic(_ path: [String], of owner: EntityDescription) -> FetchPredicate {
    let left = calculation(path, of: owner, depth: 2)
    switch random.number(0...9) {
    case 0: return .comparison(left, random.chance(50) ? .equal : .notEqual, .value(.null))
    case 1...2: return .comparison(left, ordering(), calculation(path, of: owner, depth: 1))
    case 3: return .between(left, .value(.int(Int64(random.number(-5...5)))), calculation(path, of: owner, depth: 1))
    case 4: return .membership(left, in: (0..<random.number(0...4)).map { _ in number() })
    default: return .comparison(left, ordering(), .value(number()))
    }
  }

  private mutating func calculation(_ path: [String], of owner: EntityDescription, depth: Int) -> FetchExpression {
    if depth == 0 || random.chance(15) { return operand(path, of: owner) }
    return .arithmetic(
      random.pick(ArithmeticOperator.allCases), calculation(path, of: owner, depth: depth - 1),
      calculation(path, of: owner, depth: depth - 1))
  }

  private mutating func operand(_ path: [String], of owner: EntityDescription) -> FetchExpression {
    let numbers = Self.attributes(of: owner).filter { $0.type.isNumber }
    let toManys = Self.relationships(of: owner, toMany: true)
    switch random.number(0...9) {
    case 0...2: return .value(number())
    case 3 where !toManys.isEmpty: return .count(PropertyPath(names: path + [random.pick(toManys).name]))
    case 4 where !toManys.isEmpty:
      let relationship = random.pick(toManys)
      let integers = Self.attributes(of: relationship.destination).filter { $0.type.isInteger }
      guard !integers.isEmpty else { return .value(number()) }
      return .path(PropertyPath(names: path + [relationship.name, "@sum", random.pick(integers).name]))
    default:
      return numbers.isEmpty
        ? .value(number()) : .path(PropertyPath(names: path + [random.pick(numbers).name]))
    }
  }

  /// A number, mostly small, sometimes at the end of the range of integers.
  private mutating func number() -> AttributeValue {
    switch random.number(0...19) {
    case 0: .int(random.chance(50) ? .max : .min)
    case 1: .double(Double(random.number(-6...6)) / 4)
    case 2: .int(Int64(random.number(1...9)) * 1_000_000_007)
    default: .int(Int64(random.number(-3...9)))
    }
  }
}

extension AttributeType {
  fileprivate var isInteger: Bool { [.int16, .int32, .int64].contains(storage) }
  fileprivate var isNumber: Bool { isInteger || [.float, .double, .decimal].contains(storage) }
}
