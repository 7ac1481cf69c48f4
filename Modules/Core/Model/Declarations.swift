// The declarations that describe a model: plain values, from which `ManagedObjectModel` builds descriptions.

/// Declares an entity of a model.
///
/// ```swift
/// Entity("Album", class: Album.self, uniqueness: [["barcode"]]) {
///   Attribute("title", .string)
///   Attribute("year", .int32, optional: true)
///   Relationship("artist", toOne: "Artist", inverse: "albums")
/// }
/// ```
public struct Entity: Sendable {
  /// The name, unique in the model.
  public var name: String
  /// The class of the entity's objects.
  public var objectClass: ManagedObject.Type
  /// The name of the entity from which this entity inherits.
  public var parent: String?
  /// Whether the entity is abstract: only its subentities have objects.
  public var isAbstract: Bool
  /// Lists of property names (attributes and to-one relationships) whose values together are unique in a store. Records
  /// with a missing value in the list are not compared.
  public var uniqueness: [[String]]
  /// Lists of property names. Stores keep an index for each list.
  public var indexes: [[String]]
  /// The names of the entity in earlier models, the latest first. A store with the entity under one of these names
  /// keeps its records, even if the store skipped some of the models. In a store that has an entity of the present name
  /// already, even one that a model left out, the former names have no effect.
  ///
  /// Programs with either model may have a store open at the same time: records keep the name that the entity had when
  /// its table was made. Texts of identifiers have the last of the former names, so that a rename changes no text:
  /// declare all former names for as long as such texts are kept.
  public var formerNames: [String]
  /// Texts of the application by key; ``EntityDescription/keySetting`` names the attributes of the key.
  public var userInfo: [String: String]
  /// The declared properties, in order. Inherited properties are not repeated.
  public var properties: [any PropertyDeclaration]

  /// Makes a declaration. The builder takes attributes, composites, relationships and fetched properties. The model
  /// checks the declaration, not the initializer.
  public init(
    _ name: String, class objectClass: ManagedObject.Type = ManagedObject.self, parent: String? = nil,
    isAbstract: Bool = false, uniqueness: [[String]] = [], indexes: [[String]] = [],
    renamingIdentifier: String? = nil, formerNames: [String] = [], userInfo: [String: String] = [:],
    @PropertiesBuilder properties: () -> [any PropertyDeclaration] = { [] }
  ) {
    self.name = name
    self.objectClass = objectClass
    self.parent = parent
    self.isAbstract = isAbstract
    self.uniqueness = uniqueness
    self.indexes = indexes
    self.formerNames = [renamingIdentifier].compactMap { $0 } + formerNames
    self.userInfo = userInfo
    self.properties = properties()
  }

  /// The latest of the ``formerNames``. Setting the identifier replaces all of them.
  public var renamingIdentifier: String? {
    get { formerNames.first }
    set { formerNames = [newValue].compactMap { $0 } }
  }
}

/// The declaration of a property: an ``Attribute``, a ``CompositeAttribute``, a ``Relationship`` or a
/// ``FetchedProperty``.
public protocol PropertyDeclaration: Sendable {
  /// The name, unique in the entity.
  var name: String { get }
}

/// Declares an attribute.
public struct Attribute: PropertyDeclaration {
  /// The name, unique in the entity. Parts of a composite are named by the composite and the part: `size.width`.
  public var name: String
  /// The type of the values.
  public var type: AttributeType
  /// Whether an object may be saved without a value.
  public var isOptional: Bool
  /// The value of a new object, and of existing records when the attribute is added to a store.
  public var defaultValue: AttributeValue
  /// The rule by which saves compute the value; `nil` for an assigned attribute.
  public var derived: Derivation?
  /// The rules that a save checks.
  public var validation: [ValidationRule]
  /// The names that the property had in earlier models, the latest first. A store with the property under one of these
  /// names keeps its values, even if the store skipped some of the models. A part of a composite needs the whole former
  /// name, `size.width`.
  public var formerNames: [String]
  /// Converts stored values of another type when the store is first opened with the model; `nil` for the conversion of
  /// numbers alone. See ``ValueConversion``.
  public var conversion: ValueConversion?
  /// Texts of the application by key.
  public var userInfo: [String: String]

  /// Makes a declaration of a required attribute; pass `optional: true` for an optional one.
  public init(
    _ name: String, _ type: AttributeType, optional: Bool = false,
    default defaultValue: (any AttributeConvertible)? = nil, derived: Derivation? = nil,
    validation: [ValidationRule] = [], renamingIdentifier: String? = nil, formerNames: [String] = [],
    converting conversion: ValueConversion? = nil, userInfo: [String: String] = [:]
  ) {
    self.name = name
    self.type = type
    self.isOptional = optional
    self.defaultValue = defaultValue?.attributeValue ?? .null
    self.derived = derived
    self.validation = validation
    self.formerNames = [renamingIdentifier].compactMap { $0 } + formerNames
    self.conversion = conversion
    self.userInfo = userInfo
  }

  /// The latest of the ``formerNames``. Setting the identifier replaces all of them.
  public var renamingIdentifier: String? {
    get { formerNames.first }
    set { formerNames = [newValue].compactMap { $0 } }
  }
}

/// Converts a stored value of another type to the attribute's type. Receives missing values too, as `null`.
///
/// An attribute without a conversion takes the numbers of another numeric type when all of them keep their exact
/// values: integers become wider integers, doubles and decimals, floats doubles, and booleans integers; a narrower type
/// is refused when a stored number does not fit it. A conversion replaces that rule and converts any type to any other:
///
/// ```swift
/// Attribute(
///   "price", .decimal, optional: true,
///   converting: { old in
///     guard case .string(let text) = old else { return .null }
///     return .decimal(try Price(parsing: text).amount)
///   })
/// ```
///
/// The conversion runs when a store is opened whose values have another type than the attribute, once for each record,
/// on the thread that attaches the store, in the transaction that changes the store. If it throws, or returns a value
/// that the attribute does not accept, attaching throws ``ErrorCode/incompatibleModel`` and the store stays as it is. A
/// store with values of the attribute's own type is never converted: a change of meaning that leaves the type as it is
/// needs another attribute. A program with the earlier type cannot open the store afterwards. If it has the store open
/// already, its reads and inserts throw ``ErrorCode/schemaChanged``.
public typealias ValueConversion = @Sendable (AttributeValue) throws -> AttributeValue

/// Declares an attribute composed of parts, each with a slot and a column of its own.
///
/// The parts are attributes of the entity by the names `composite.part`, for fetches and dynamic access; a typed
/// accessor reads and writes the whole as a ``CompositeValue``.
public struct CompositeAttribute: PropertyDeclaration {
  /// The name, unique in the entity.
  public var name: String
  /// The parts, whose names are relative to the composite.
  public var parts: [Attribute]

  /// Makes a declaration of a composite from its parts.
  public init(_ name: String, parts: [Attribute]) {
    self.name = name
    self.parts = parts
  }
}

/// Declares a relationship.
public struct Relationship: PropertyDeclaration {
  /// The name, unique in the entity.
  public var name: String
  /// The name of the destination entity.
  public var destination: String
  /// Whether the relationship has any number of members instead of one target.
  public var isToMany: Bool
  /// Whether the members of a to-many relationship have an order.
  public var isOrdered: Bool
  /// Whether an object may be saved without a target.
  public var isOptional: Bool
  /// The name of the inverse relationship at the destination; `nil` for none.
  ///
  /// A to-one relationship without an inverse keeps its reference when the target is deleted; see
  /// ``RelationshipDescription/isConstrained``.
  public var inverse: String?
  /// Whether the model finds the inverse when ``inverse`` is `nil`.
  ///
  /// The inverse is the relationship of the destination that names this relationship, or else the only one that leads
  /// back and whose inverse is left to the model too. A model with several such relationships is refused. Of
  /// the relationships of an entity to itself, only a to-one and a to-many relationship are inverses. Otherwise the
  /// inverse stays `nil`.
  public var infersInverse = false
  /// The effect of a delete of the source on the destinations.
  public var deleteRule: DeleteRule
  /// The least number of members of a to-many relationship, checked at save.
  public var minimumCount: Int
  /// The greatest number of members of a to-many relationship, checked at save; `nil` for any number.
  public var maximumCount: Int?
  /// The names that the property had in earlier models, the latest first. A store with the property under one of these
  /// names keeps its references and links, even if the store skipped some of the models.
  public var formerNames: [String]
  /// Texts of the application by key.
  public var userInfo: [String: String]

  /// Makes the declaration of a relationship to at most one object.
  ///
  /// - Parameter inverse: The name of the inverse at the destination; `nil` for none. A declaration without the
  ///   parameter leaves the inverse to the model, see ``infersInverse``.
  public init(
    _ name: String, toOne destination: String, inverse: String?, optional: Bool = true,
    deleteRule: DeleteRule = .nullify, renamingIdentifier: String? = nil, formerNames: [String] = [],
    userInfo: [String: String] = [:]
  ) {
    self.name = name
    self.formerNames = [renamingIdentifier].compactMap { $0 } + formerNames
    self.destination = destination
    self.isToMany = false
    self.isOrdered = false
    self.isOptional = optional
    self.inverse = inverse
    self.deleteRule = deleteRule
    self.minimumCount = 0
    self.maximumCount = 1
    self.userInfo = userInfo
  }

  /// Makes the declaration of a relationship to any number of objects.
  ///
  /// - Parameter inverse: The name of the inverse at the destination; `nil` for none. A declaration without the
  ///   parameter leaves the inverse to the model, see ``infersInverse``.
  public init(
    _ name: String, toMany destination: String, inverse: String?, ordered: Bool = false, minimumCount: Int = 0,
    maximumCount: Int? = nil, deleteRule: DeleteRule = .nullify, renamingIdentifier: String? = nil,
    formerNames: [String] = [], userInfo: [String: String] = [:]
  ) {
    self.name = name
    self.formerNames = [renamingIdentifier].compactMap { $0 } + formerNames
    self.destination = destination
    self.isToMany = true
    self.isOrdered = ordered
    self.isOptional = true
    self.inverse = inverse
    self.deleteRule = deleteRule
    self.minimumCount = minimumCount
    self.maximumCount = maximumCount
    self.userInfo = userInfo
  }

  /// The latest of the ``formerNames``. Setting the identifier replaces all of them.
  public var renamingIdentifier: String? {
    get { formerNames.first }
    set { formerNames = [newValue].compactMap { $0 } }
  }
}

/// The effect of a delete on the destinations of a relationship.
public enum DeleteRule: String, Sendable, Hashable, CaseIterable {
  /// The reference from the destination to the deleted source is cleared.
  case nullify
  /// The destination is deleted too.
  case cascade
  /// The source cannot be deleted while a destination exists. A reference to a deleted record leads to no destination.
  case deny
  /// The delete clears no reference: the destination may keep its reference to a deleted record. Only its lists lose the
  /// record.
  case noAction
}

/// A condition on an attribute's value, checked at save. A missing value satisfies every rule.
///
/// A model with a rule that does not apply to the attribute's type, such as a length of a number, or with rules that no
/// value satisfies together, throws ``ErrorCode/invalidModel``.
public enum ValidationRule: Sendable, Hashable {
  /// The smallest valid number or date.
  case minimum(AttributeValue)
  /// The largest valid number or date.
  case maximum(AttributeValue)
  /// The least number of characters of a text, or of bytes of data.
  case minimumLength(Int)
  /// The greatest number of characters of a text, or of bytes of data.
  case maximumLength(Int)
  /// A regular expression that the whole text must match.
  case pattern(String)
}

/// Collects the properties of an ``Entity``, with `if` and `for`.
@resultBuilder
public enum PropertiesBuilder {
  /// A property declaration by itself.
  public static func buildExpression(_ property: any PropertyDeclaration) -> [any PropertyDeclaration] { [property] }
  /// The properties of several lines, in the order of the lines.
  public static func buildBlock(_ parts: [any PropertyDeclaration]...) -> [any PropertyDeclaration] {
    parts.flatMap { $0 }
  }
  /// The properties of all passes of a `for` loop.
  public static func buildArray(_ parts: [[any PropertyDeclaration]]) -> [any PropertyDeclaration] {
    parts.flatMap { $0 }
  }
  /// The properties of an `if` without an `else`; none for a false condition.
  public static func buildOptional(_ part: [any PropertyDeclaration]?) -> [any PropertyDeclaration] { part ?? [] }
  /// The properties after a true condition.
  public static func buildEither(first: [any PropertyDeclaration]) -> [any PropertyDeclaration] { first }
  /// The properties after `else`.
  public static func buildEither(second: [any PropertyDeclaration]) -> [any PropertyDeclaration] { second }
}

/// Collects the entities of a ``ManagedObjectModel``, with `if` and `for`.
@resultBuilder
public enum EntitiesBuilder {
  /// An entity by itself.
  public static func buildExpression(_ entity: Entity) -> [Entity] { [entity] }
  /// A list of entities in one expression.
  public static func buildExpression(_ entities: [Entity]) -> [Entity] { entities }
  /// The entities of several lines, in the order of the lines.
  public static func buildBlock(_ parts: [Entity]...) -> [Entity] { parts.flatMap { $0 } }
  /// The entities of all passes of a `for` loop.
  public static func buildArray(_ parts: [[Entity]]) -> [Entity] { parts.flatMap { $0 } }
  /// The entities of an `if` without an `else`; none for a false condition.
  public static func buildOptional(_ part: [Entity]?) -> [Entity] { part ?? [] }
  /// The entities after a true condition.
  public static func buildEither(first: [Entity]) -> [Entity] { first }
  /// The entities after `else`.
  public static func buildEither(second: [Entity]) -> [Entity] { second }
}
