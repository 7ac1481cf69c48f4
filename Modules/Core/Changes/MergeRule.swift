/// A rule of a merge policy for one property of an entity, see ``MergePolicy/byProperty(_:otherwise:)``.
///
/// A value: it may be passed to any thread, and used by any number of policies.
public struct MergeRule: Sendable {
  /// The decision about a property.
  enum Decision: Sendable {
    case store, context, larger, smaller, sum
    case closure(@Sendable (AttributeValue?, AttributeValue, AttributeValue) throws -> AttributeValue)

    var isClosure: Bool {
      if case .closure = self { true } else { false }
    }
  }

  /// The name of the property.
  let propertyName: String
  let decision: Decision
  /// The name of the entity or class, for messages.
  let scope: String
  /// Whether the rule is for records of an entity.
  let applies: @Sendable (EntityDescription) -> Bool

  /// Returns a rule for a property by name.
  ///
  /// A save under a policy with the rule throws ``ErrorCode/unknownEntity``, ``ErrorCode/unknownProperty`` or
  /// ``ErrorCode/wrongType`` before it writes anything, when the model has no such property, or when the property has
  /// no such values: a sum needs a number.
  ///
  /// - Parameters:
  ///   - propertyName: An attribute, a part of a composite such as `size.width`, or a to-one relationship. To-many
  ///     relationships have no rules, because their members are merged.
  ///   - entityName: The entity of the property. The rule is for records of its subentities too.
  ///   - choice: The value that the save writes.
  public static func rule(
    _ propertyName: String, of entityName: String, _ choice: MergeChoice<AttributeValue>
  ) -> MergeRule {
    MergeRule(propertyName: propertyName, decision: choice.decision, scope: entityName) { entity in
      var ancestor: EntityDescription? = entity
      while let current = ancestor {
        if current.name == entityName { return true }
        ancestor = current.superentity
      }
      return false
    }
  }

  init(
    propertyName: String, decision: Decision, scope: String, applies: @escaping @Sendable (EntityDescription) -> Bool
  ) {
    self.propertyName = propertyName
    self.decision = decision
    self.scope = scope
    self.applies = applies
  }
}

/// The value that a save writes for a property that two writers changed, see ``MergeRule``.
///
/// `base` is the value that both writers started from, `mine` the value of the saver, and `stored` the value in the
/// store.
public struct MergeChoice<Value>: Sendable {
  let decision: MergeRule.Decision

  init(_ decision: MergeRule.Decision) { self.decision = decision }

  /// The value in the store.
  public static var store: MergeChoice { MergeChoice(.store) }
  /// The value of the saver.
  public static var context: MergeChoice { MergeChoice(.context) }
}

extension MergeChoice where Value == AttributeValue {
  /// The larger of the two values, in the order of sorted requests. A missing value loses.
  public static var larger: MergeChoice { MergeChoice(.larger) }
  /// The smaller of the two values, in the order of sorted requests. A missing value loses.
  public static var smaller: MergeChoice { MergeChoice(.smaller) }
  /// The later of two dates. A missing date loses.
  public static var newer: MergeChoice { MergeChoice(.larger) }
  /// The earlier of two dates. A missing date loses.
  public static var older: MergeChoice { MergeChoice(.smaller) }
  /// The stored number with the saver's change of the base added, so that no count is lost. A missing number counts as
  /// zero, and so does a missing base.
  public static var sum: MergeChoice { MergeChoice(.sum) }

  /// The value that a closure computes from both edits and their base.
  ///
  /// The save calls the closure like the closure of ``MergePolicy/custom(_:)``, with the same restrictions and errors.
  /// It throws ``ErrorCode/validationFailed`` for a value that does not satisfy the model.
  ///
  /// - Parameter value: Returns the value to write. `base` is `nil` when the two records have no common state: an
  ///   inserted record became a stored one.
  public static func merging(
    _ value:
      @escaping @Sendable (_ base: AttributeValue?, _ mine: AttributeValue, _ stored: AttributeValue) throws ->
      AttributeValue
  ) -> MergeChoice { MergeChoice(.closure(value)) }
}
