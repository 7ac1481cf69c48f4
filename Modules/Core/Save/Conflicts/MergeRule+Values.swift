import Foundation

extension MergePolicy {
  /// Refuses rules that do not fit a model.
  ///
  /// - Throws: ``ErrorCode/unknownEntity``, ``ErrorCode/unknownProperty``, ``ErrorCode/wrongType``.
  func checkRules(in model: ManagedObjectModel) throws {
    for rule in kind.rules { try rule.check(in: model) }
  }
}

extension MergeRule {
  /// Refuses a rule that does not fit a model.
  fileprivate func check(in model: ManagedObjectModel) throws {
    let entities = model.entities.filter(applies)
    guard !entities.isEmpty else {
      throw CoherenceError(
        .unknownEntity,
        "The model has no entity '\(scope)', which a merge rule names; name an entity of the model, or its class.")
    }
    for entity in entities {
      let property = try entity.property(named: propertyName)
      guard property.slotInRow >= 0 else {
        throw CoherenceError(
          .wrongType,
          "'\(entity.name).\(propertyName)' is no attribute and no to-one relationship; members of to-many relationships "
            + "are merged without a rule.")
      }
      guard fits(property) else {
        throw CoherenceError(
          .wrongType,
          "The merge rule of '\(entity.name).\(propertyName)' does not fit the type of the property; choose the value of "
            + "the store or of the context, or a closure.")
      }
    }
  }

  /// Whether the rule can decide about values of the property's type.
  private func fits(_ property: PropertyDescription) -> Bool {
    switch decision {
    case .store, .context, .closure: return true
    case .larger, .smaller: return property is AttributeDescription
    case .sum:
      guard let attribute = property as? AttributeDescription else { return false }
      return switch attribute.type {
      case .int16, .int32, .int64, .float, .double, .decimal: true
      default: false
      }
    }
  }

  /// The value to write for a property that both writers changed.
  ///
  /// - Parameter base: The value that both writers started from; `nil` for none.
  /// - Throws: ``ErrorCode/arithmeticOverflow``; errors of a closure.
  func value(
    _ base: AttributeValue?, _ mine: AttributeValue, _ stored: AttributeValue
  ) throws -> AttributeValue {
    switch decision {
    case .store: return stored
    case .context: return mine
    case .larger, .smaller:
      if mine.isNull || stored.isNull { return mine.isNull ? stored : mine }
      let isMineLarger = mine.order(to: stored) > 0
      return isMineLarger == decision.isLarger ? mine : stored
    case .sum: return try sum(base ?? .null, mine, stored)
    case .closure(let value): return try value(base, mine, stored)
    }
  }

  private func sum(
    _ base: AttributeValue, _ mine: AttributeValue, _ stored: AttributeValue
  ) throws -> AttributeValue {
    switch (mine, stored) {
    case (.null, .null): return .null
    case (.int, _), (_, .int): return .int(try sum(base.integer, mine.integer, stored.integer))
    case (.double, _), (_, .double):
      let result = stored.number + (mine.number - base.number)
      // The difference of two infinities is undefined. The saver's number wins then.
      return .double(result.isNaN ? mine.number : result)
    case (.decimal, _), (_, .decimal): return .decimal(try sum(base.decimal, mine.decimal, stored.decimal))
    default: return mine
    }
  }

  private func sum(_ base: Int64, _ mine: Int64, _ stored: Int64) throws -> Int64 {
    // The difference may be out of range although the result is not: the order of the operands is tried both ways.
    for (first, second) in [(mine, stored), (stored, mine)] {
      let (difference, overflows) = first.subtractingReportingOverflow(base)
      if overflows { continue }
      let (result, sumOverflows) = second.addingReportingOverflow(difference)
      if !sumOverflows { return result }
    }
    throw overflow
  }

  private func sum(_ base: Decimal, _ mine: Decimal, _ stored: Decimal) throws -> Decimal {
    guard let difference = Decimal.difference(mine, base), let result = Decimal.sum(stored, difference) else {
      throw overflow
    }
    return result
  }

  private var overflow: CoherenceError {
    CoherenceError(
      .arithmeticOverflow,
      "The sum of two writers' changes of '\(scope).\(propertyName)' is out of the range of numbers; save smaller numbers, "
        + "or choose another merge rule.")
  }
}

extension MergeRule.Decision {
  fileprivate var isLarger: Bool {
    if case .larger = self { true } else { false }
  }
}

extension AttributeValue {
  fileprivate var integer: Int64 { if case .int(let value) = self { value } else { 0 } }
  fileprivate var number: Double { if case .double(let value) = self { value } else { 0 } }
  fileprivate var decimal: Decimal { if case .decimal(let value) = self { value } else { 0 } }
}
