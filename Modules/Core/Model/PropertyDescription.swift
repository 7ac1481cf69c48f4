/// A property of an entity: an attribute or a relationship. Immutable, and alive as long as the process.
public class PropertyDescription: @unchecked Sendable, Hashable {
  // Sendable: linked by the model before it is shared, immutable afterwards.

  /// The name, unique in the entity.
  public let name: String
  /// Whether an object may be saved without a value.
  public let isOptional: Bool
  /// Texts of the application by key.
  public let userInfo: [String: String]
  /// The entity that declares the property. Subentities inherit the same description object.
  public internal(set) unowned var entity: EntityDescription
  /// The position in ``EntityDescription/properties``, the same in every subentity.
  public internal(set) var index = 0

  /// The names that the property had in earlier models, the latest first.
  public let formerNames: [String]
  /// The name that the property had in the model before; the first of ``formerNames``.
  public var renamingIdentifier: String? { formerNames.first }

  init(
    name: String, isOptional: Bool, formerNames: [String], userInfo: [String: String], entity: EntityDescription
  ) {
    self.name = name
    self.formerNames = formerNames
    self.isOptional = isOptional
    self.userInfo = userInfo
    self.entity = entity
  }

  /// Whether both are the same instance. Descriptions of two models differ, even for equal declarations.
  public static func == (left: PropertyDescription, right: PropertyDescription) -> Bool { left === right }
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// An attribute of an entity.
public final class AttributeDescription: PropertyDescription, @unchecked Sendable {
  // Sendable: as its superclass.

  /// The type of the values.
  public let type: AttributeType
  /// The value of a new object.
  public let defaultValue: AttributeValue
  /// The rule by which saves compute the value; `nil` for an assigned attribute. See ``Derivation``.
  public let derivation: Derivation?
  /// The rules that a save checks.
  public let validation: [ValidationRule]
  /// Converts stored values of another type; `nil` for the conversion of numbers alone.
  public let conversion: ValueConversion?
  /// The attribute's slot in a row.
  public internal(set) var slot = 0

  init(_ declaration: Attribute, name: String, entity: EntityDescription) {
    type = declaration.type
    // The check converts the value to the form of the type: `default: 1` of a double is declared as an integer. The
    // validation of the model has already refused other values.
    defaultValue = (try? declaration.type.checked(declaration.defaultValue)) ?? declaration.defaultValue
    derivation = declaration.derived
    validation = declaration.validation
    conversion = declaration.conversion
    super.init(
      name: name, isOptional: declaration.isOptional || declaration.derived != nil,
      formerNames: declaration.formerNames, userInfo: declaration.userInfo, entity: entity)
  }
}

/// A relationship of an entity.
public final class RelationshipDescription: PropertyDescription, @unchecked Sendable {
  // Sendable: as its superclass.

  /// Whether the relationship has any number of members instead of one target.
  public let isToMany: Bool
  /// Whether the members of a to-many relationship have an order.
  public let isOrdered: Bool
  /// The effect of a delete of the source on the destinations.
  public let deleteRule: DeleteRule
  /// The least number of members of a to-many relationship, checked at save.
  public let minimumCount: Int
  /// The greatest number of members of a to-many relationship, checked at save; `nil` for any number.
  public let maximumCount: Int?
  let destinationName: String
  let inverseName: String?
  /// The destination entity.
  public internal(set) unowned var destination: EntityDescription
  /// The inverse relationship; `nil` without an inverse.
  ///
  /// A to-one relationship without an inverse keeps its reference when the target is deleted; see ``isConstrained``.
  public internal(set) unowned var inverse: RelationshipDescription?
  /// The storage of the relationship in stores.
  public internal(set) var storage: RelationshipStorage = .column(slot: 0)

  init(_ declaration: Relationship, entity: EntityDescription) {
    isToMany = declaration.isToMany
    isOrdered = declaration.isOrdered
    deleteRule = declaration.deleteRule
    minimumCount = declaration.minimumCount
    maximumCount = declaration.maximumCount
    destinationName = declaration.destination
    inverseName = declaration.inverse
    destination = entity
    super.init(
      name: declaration.name, isOptional: declaration.isOptional, formerNames: declaration.formerNames,
      userInfo: declaration.userInfo, entity: entity)
  }

  /// The slot of a to-one relationship; `nil` for a to-many relationship.
  public var slot: Int? {
    if case .column(let slot) = storage { return slot }
    return nil
  }

  /// Whether stores keep the members as links beside the rows.
  var isLinked: Bool { if case .links = storage { true } else { false } }

  /// Whether the target of a reference may be missing: a to-one relationship that is not ``isConstrained``.
  var mayDangle: Bool { !isToMany && !isConstrained }

  /// Whether stores can rely on the target's existence: a delete rule clears the reference when the target is deleted.
  ///
  /// `false` for a to-one relationship without an inverse, or with an inverse whose delete rule is
  /// ``DeleteRule/noAction``. Such a reference may dangle: a delete leaves the reference as it is, and a store saves a
  /// reference to a deleted record. In conditions the reference has a value, and the properties of its target have
  /// none. The accessor returns a fault, and loading the fault throws ``ErrorCode/objectNotFound``. Also `false` for
  /// to-many relationships, whose members always exist.
  public var isConstrained: Bool {
    guard !isToMany, let inverse else { return false }
    return inverse.deleteRule != .noAction
  }
}

/// The storage of a relationship in stores.
public enum RelationshipStorage: Sendable {
  /// A to-one relationship: the record's row has the target in the slot.
  case column(slot: Int)
  /// A to-many relationship whose inverse is to-one: the members' rows have the owner. For an ordered relationship the
  /// rows also have the position, in the position slot.
  case inverseColumn(RelationshipDescription, positionSlot: Int?)
  /// A to-many relationship kept as links beside the rows. `isForward`: whether the owner is the link's source.
  case links(LinkTable, isForward: Bool)
}

/// The links of a many-to-many relationship, or of a to-many relationship without inverse.
///
/// A relationship with itself as its inverse has a link in each direction.
public final class LinkTable: @unchecked Sendable, Hashable {
  // Sendable: immutable once its model is in use.

  /// The relationship whose owner is a link's source.
  public internal(set) unowned var forward: RelationshipDescription
  /// The inverse, whose owner is a link's target. `nil` without an inverse, and for a relationship that is its own
  /// inverse.
  public internal(set) unowned var backward: RelationshipDescription?

  init(forward: RelationshipDescription, backward: RelationshipDescription?) {
    self.forward = forward
    self.backward = backward
  }

  /// A name unique in the model, the same for every order of declaration.
  public var name: String {
    guard let backward else { return "\(forward.entity.name).\(forward.name)" }
    return "\(forward.entity.name).\(forward.name)-\(backward.entity.name).\(backward.name)"
  }
  /// The hierarchy of the sources.
  public var sourceRoot: EntityDescription { forward.entity.root }
  /// The hierarchy of the targets.
  public var targetRoot: EntityDescription { forward.destination.root }

  /// Whether both are the same instance.
  public static func == (left: LinkTable, right: LinkTable) -> Bool { left === right }
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
