public import CoherenceCore

extension ModelFile {
  /// The type of an attribute by its name in the file. A type that a later editor adds has a name of its own.
  public struct AttributeKind: RawRepresentable, Sendable, Hashable, ExpressibleByStringLiteral {
    /// The text of `attributeType`.
    public var rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public init(stringLiteral value: String) { rawValue = value }

    public static let int16: AttributeKind = "Integer 16"
    public static let int32: AttributeKind = "Integer 32"
    public static let int64: AttributeKind = "Integer 64"
    public static let decimal: AttributeKind = "Decimal"
    public static let double: AttributeKind = "Double"
    public static let float: AttributeKind = "Float"
    public static let string: AttributeKind = "String"
    public static let bool: AttributeKind = "Boolean"
    public static let date: AttributeKind = "Date"
    public static let data: AttributeKind = "Binary"
    public static let uuid: AttributeKind = "UUID"
    public static let url: AttributeKind = "URI"
    public static let transformable: AttributeKind = "Transformable"
    /// A composite; ``ModelFile/Attribute/compositeName`` names its type, or ``ModelFile/Attribute/parts`` are its own.
    public static let composite: AttributeKind = "Composite"
  }

  /// An attribute of an entity or a composite type, with the texts of the file.
  public struct Attribute: Sendable, Hashable {
    /// The name, unique in the entity.
    public var name: String
    /// The type of the values.
    public var kind: AttributeKind
    /// Whether an object may be saved without a value.
    public var isOptional: Bool
    /// Whether the attribute is never stored.
    public var isTransient: Bool
    /// Whether generated code has a number in place of an object; `nil` without the flag.
    public var usesScalarValueType: Bool?
    /// The default: a number, `YES` or `NO`, a text, a UUID or a URL. Dates have seconds since 2001-01-01 00:00:00 UTC.
    public var defaultValue: String?
    /// The smallest number, the earliest date in the form of ``defaultValue``, or the least number of characters.
    public var minimum: String?
    /// The largest number, the latest date in the form of ``defaultValue``, or the greatest number of characters.
    public var maximum: String?
    /// A regular expression that the whole text must match.
    public var pattern: String?
    /// The expression from which the value is derived, such as `canonical:(name)`; `nil` for a stored attribute.
    public var derivation: String?
    /// The name of the transformer of a transformable attribute.
    public var transformerName: String?
    /// The name of the class of a transformable attribute's values.
    public var customClassName: String?
    /// The name of the composite type.
    public var compositeName: String?
    /// The parts of a composite that the file declares at the attribute itself.
    public var parts: [Attribute]
    /// The name that the attribute had in the version before; the editor's renaming identifier.
    public var renamingIdentifier: String?
    /// Texts of the application by key.
    public var userInfo: [String: String]
    /// The other attributes of the element, by name.
    public var otherAttributes: [String: String]
    /// The other elements in the element.
    public var otherElements: [Markup]
    /// The user info as the file has it, if ``userInfo`` does not represent all of it.
    var userInfoSource: SourceElements<[String: String]>?

    /// Makes an attribute.
    public init(
      _ name: String, _ kind: AttributeKind, optional: Bool = false, isTransient: Bool = false,
      usesScalarValueType: Bool? = nil, default defaultValue: String? = nil, minimum: String? = nil,
      maximum: String? = nil, pattern: String? = nil, derivation: String? = nil, transformerName: String? = nil,
      customClassName: String? = nil, compositeName: String? = nil, parts: [Attribute] = [],
      renamingIdentifier: String? = nil, userInfo: [String: String] = [:], otherAttributes: [String: String] = [:],
      otherElements: [Markup] = []
    ) {
      self.name = name
      self.kind = kind
      isOptional = optional
      self.isTransient = isTransient
      self.usesScalarValueType = usesScalarValueType
      self.defaultValue = defaultValue
      self.minimum = minimum
      self.maximum = maximum
      self.pattern = pattern
      self.derivation = derivation
      self.transformerName = transformerName
      self.customClassName = customClassName
      self.compositeName = compositeName
      self.parts = parts
      self.renamingIdentifier = renamingIdentifier
      self.userInfo = userInfo
      self.otherAttributes = otherAttributes
      self.otherElements = otherElements
    }

    /// The name of the transformer, by default that of Core Data.
    package var effectiveTransformerName: String { transformerName ?? "NSSecureUnarchiveFromData" }
  }

  /// A relationship of an entity.
  public struct Relationship: Sendable, Hashable {
    /// The name, unique in the entity.
    public var name: String
    /// The name of the entity that the relationship leads to.
    public var destination: String
    /// Whether the relationship has any number of members instead of one target.
    public var isToMany: Bool
    /// Whether the members of a to-many relationship have an order.
    public var isOrdered: Bool
    /// Whether an object may be saved without a target or member.
    public var isOptional: Bool
    /// Whether the relationship is never stored.
    public var isTransient: Bool
    /// The name of the inverse relationship; `nil` for none.
    public var inverse: String?
    /// The name of the entity that the file gives for the inverse.
    public var inverseEntity: String?
    /// The effect of a delete.
    public var deleteRule: DeleteRule
    /// The least number of members; `nil` without a bound.
    public var minimumCount: Int?
    /// The greatest number of members; `nil` without a bound. The editor writes 1 for to-one relationships.
    public var maximumCount: Int?
    /// Whether the relationship has members: by the editor's flag, or by a greatest number above one.
    package var isEffectivelyToMany: Bool { isToMany || (maximumCount ?? 1) > 1 }
    /// The name that the relationship had in the version before; the editor's renaming identifier.
    public var renamingIdentifier: String?
    /// Texts of the application by key.
    public var userInfo: [String: String]
    /// The other attributes of the element, by name.
    public var otherAttributes: [String: String]
    /// The other elements in the element.
    public var otherElements: [Markup]
    /// The user info as the file has it, if ``userInfo`` does not represent all of it.
    var userInfoSource: SourceElements<[String: String]>?

    /// Makes a relationship.
    public init(
      _ name: String, to destination: String, isToMany: Bool = false, isOrdered: Bool = false, optional: Bool = true,
      isTransient: Bool = false, inverse: String? = nil, inverseEntity: String? = nil,
      deleteRule: DeleteRule = .nullify, minimumCount: Int? = nil, maximumCount: Int? = nil,
      renamingIdentifier: String? = nil, userInfo: [String: String] = [:], otherAttributes: [String: String] = [:],
      otherElements: [Markup] = []
    ) {
      self.name = name
      self.destination = destination
      self.isToMany = isToMany
      self.isOrdered = isOrdered
      isOptional = optional
      self.isTransient = isTransient
      self.inverse = inverse
      self.inverseEntity = inverseEntity
      self.deleteRule = deleteRule
      self.minimumCount = minimumCount
      self.maximumCount = maximumCount
      self.renamingIdentifier = renamingIdentifier
      self.userInfo = userInfo
      self.otherAttributes = otherAttributes
      self.otherElements = otherElements
    }
  }

  /// An index of an entity.
  public struct FetchIndex: Sendable, Hashable {
    /// The name, unique in the entity.
    public var name: String
    /// The indexed properties or expressions, in order.
    public var elements: [Element]
    /// The other attributes of the element, by name.
    public var otherAttributes: [String: String]
    /// The other elements in the element.
    public var otherElements: [Markup]

    /// Makes an index.
    public init(
      _ name: String, elements: [Element], otherAttributes: [String: String] = [:], otherElements: [Markup] = []
    ) {
      self.name = name
      self.elements = elements
      self.otherAttributes = otherAttributes
      self.otherElements = otherElements
    }

    /// An indexed property or expression.
    public struct Element: Sendable, Hashable {
      /// The name of the property; `nil` for an expression.
      public var property: String?
      /// The text of the expression; `nil` for a property.
      public var expression: String?
      /// The kind of the index: `Binary` or `RTree`.
      public var kind: String
      /// Whether the index has the values in ascending order.
      public var isAscending: Bool
      /// The other attributes of the element, by name.
      public var otherAttributes: [String: String]
      /// The other elements in the element.
      public var otherElements: [Markup]

      /// Makes an element of an index.
      public init(
        property: String? = nil, expression: String? = nil, kind: String = "Binary", isAscending: Bool = true,
        otherAttributes: [String: String] = [:], otherElements: [Markup] = []
      ) {
        self.property = property
        self.expression = expression
        self.kind = kind
        self.isAscending = isAscending
        self.otherAttributes = otherAttributes
        self.otherElements = otherElements
      }
    }
  }

  /// A fetch-request template of a model file; see ``ModelFile/fetchRequest(named:for:substituting:)``.
  public struct FetchTemplate: Sendable, Hashable {
    /// The name, unique in the file.
    public var name: String
    /// The name of the entity whose records are fetched.
    public var entity: String
    /// The predicate in format text; `nil` for all records. Variables begin with `$`.
    public var predicate: String?
    /// The greatest number of records; `nil` for all.
    public var fetchLimit: Int?
    /// Whether records of subentities are found too; `nil` without the flag, which means yes.
    public var includesSubentities: Bool?
    /// The other attributes of the element, by name.
    public var otherAttributes: [String: String]
    /// The other elements in the element, such as sort descriptors.
    public var otherElements: [Markup]

    /// Makes a template.
    public init(
      _ name: String, entity: String, predicate: String? = nil, fetchLimit: Int? = nil,
      includesSubentities: Bool? = nil, otherAttributes: [String: String] = [:], otherElements: [Markup] = []
    ) {
      self.name = name
      self.entity = entity
      self.predicate = predicate
      self.fetchLimit = fetchLimit
      self.includesSubentities = includesSubentities
      self.otherAttributes = otherAttributes
      self.otherElements = otherElements
    }
  }

  /// A fetched property of an entity.
  public struct FetchedProperty: Sendable, Hashable {
    /// The name, unique in the entity.
    public var name: String
    /// The request that finds the records; `nil` when the file has none.
    public var request: FetchTemplate?
    /// Texts of the application by key.
    public var userInfo: [String: String]
    /// The other attributes of the element, by name.
    public var otherAttributes: [String: String]
    /// The other elements in the element.
    public var otherElements: [Markup]
    /// The user info as the file has it, if ``userInfo`` does not represent all of it.
    var userInfoSource: SourceElements<[String: String]>?

    /// Makes a fetched property.
    public init(
      _ name: String, request: FetchTemplate?, userInfo: [String: String] = [:],
      otherAttributes: [String: String] = [:], otherElements: [Markup] = []
    ) {
      self.name = name
      self.request = request
      self.userInfo = userInfo
      self.otherAttributes = otherAttributes
      self.otherElements = otherElements
    }
  }
}
