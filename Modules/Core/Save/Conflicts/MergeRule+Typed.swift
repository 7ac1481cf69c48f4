public import Foundation

extension MergeRule {
  /// Returns a rule for an attribute of a class.
  ///
  /// ```swift
  /// context.mergePolicy = .byProperty([.rule(\Track.plays, .sum)], otherwise: .objectTrumps)
  /// ```
  /// The rule is for records of subclasses too. A save under a policy with the rule throws
  /// ``ErrorCode/unknownProperty`` before it writes anything, when the key path is no stored property of the class's
  /// entities.
  ///
  /// - Parameters:
  ///   - attribute: An attribute of the class.
  ///   - choice: The value that the save writes.
  public static func rule<Root: DeclaredEntity, Value: AttributeConvertible>(
    _ attribute: KeyPath<Root, Value>, _ choice: MergeChoice<Value>
  ) -> MergeRule { make(Root.self, attribute, choice.decision) }

  /// Returns a rule for a to-one relationship of a class.
  ///
  /// - Parameters:
  ///   - relationship: A to-one relationship of the class.
  ///   - choice: The target that the save writes: ``MergeChoice/store`` or ``MergeChoice/context``.
  public static func rule<Root: DeclaredEntity, Target: ManagedObject>(
    _ relationship: KeyPath<Root, Target?>, _ choice: MergeChoice<Target?>
  ) -> MergeRule { make(Root.self, relationship, choice.decision) }

  private static func make<Root: DeclaredEntity>(
    _ type: Root.Type, _ property: AnyKeyPath, _ decision: Decision
  ) -> MergeRule {
    MergeRule(propertyName: Root.propertyName(of: property), decision: decision, scope: "\(type)") { entity in
      entity.objectClass is Root.Type
    }
  }
}

extension MergeChoice where Value: AttributeConvertible {
  /// The value that a closure computes from both edits and their base.
  ///
  /// The save calls the closure like the closure of ``MergePolicy/custom(_:)``, with the same restrictions and errors.
  /// It throws ``ErrorCode/validationFailed`` for a value that does not satisfy the model.
  ///
  /// - Parameter value: Returns the value to write. `base` is `nil` when the two records have no common state: an
  ///   inserted record became a stored one.
  public static func merging(
    _ value: @escaping @Sendable (_ base: Value?, _ mine: Value, _ stored: Value) throws -> Value
  ) -> MergeChoice {
    MergeChoice(
      .closure { base, mine, stored in
        func typed(_ value: AttributeValue) -> Value { Value(attributeValue: value) ?? .attributeDefault }
        return try value(base.map(typed), typed(mine), typed(stored)).attributeValue
      })
  }
}

extension MergeChoice where Value: AttributeConvertible, Value.NonOptional: Comparable {
  /// The larger of the two values. A missing value loses.
  public static var larger: MergeChoice { MergeChoice(.larger) }
  /// The smaller of the two values. A missing value loses.
  public static var smaller: MergeChoice { MergeChoice(.smaller) }
}

extension MergeChoice where Value: AttributeConvertible, Value.NonOptional == Date {
  /// The later of the two dates. A missing date loses.
  public static var newer: MergeChoice { MergeChoice(.larger) }
  /// The earlier of the two dates. A missing date loses.
  public static var older: MergeChoice { MergeChoice(.smaller) }
}

extension MergeChoice where Value: NumberAttribute {
  /// The stored number with the saver's change of the base added, so that no count is lost. A missing number counts as
  /// zero, and so does a missing base.
  ///
  /// A sum out of the attribute's range fails the save: ``ErrorCode/validationFailed`` for a smaller integer,
  /// ``ErrorCode/arithmeticOverflow`` beyond every number of the kind.
  public static var sum: MergeChoice { MergeChoice(.sum) }
}
