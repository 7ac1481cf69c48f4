/// One version of a Core Data model as the model editor of Xcode stores it: the `contents` of an `.xcdatamodel`
/// package.
///
/// A value that keeps everything that it reads, also the parts for which the framework has no counterpart, so that a
/// file is written back without a loss: `otherAttributes` and `otherElements` of a part have the XML attributes and
/// elements that no other property represents. ``model(classes:)`` builds the model that a stack works with;
/// ``warnings`` lists the parts that the model does without.
///
/// ```swift
/// let file = try ModelFile(contentsOf: url)
/// let model = try file.model(classes: [Track.self, Album.self])
/// ```
public struct ModelFile: Sendable, Hashable {
  /// The name of the model, from the name of the package; `nil` for a file without a package. Models are found under
  /// this name, and stores are named after it.
  public var name: String?
  /// The entities, in the file's order.
  public var entities: [Entity]
  /// The composite types that attributes of entities have by name.
  public var composites: [Composite]
  /// The configurations, in the file's order.
  public var configurations: [Configuration]
  /// The fetch-request templates, in the file's order.
  public var fetchRequests: [FetchTemplate]
  /// The version identifier that the author of the model gave to it; `nil` for none.
  public var versionIdentifier: String?
  /// The other attributes of the root element, such as the version of the tools, by name.
  public var otherAttributes: [String: String]
  /// The other elements below the root, such as the positions of entities in the editor.
  public var otherElements: [Markup]
  /// The location of the parts, and the former names in other versions of the package.
  var source = SourceMap()
  /// Sentences about parts of a model in code for which a file has no place; see ``init(_:)``. Empty for a file that
  /// was read.
  public internal(set) var omissions: [String] = []

  /// Makes a file from its parts.
  public init(
    name: String? = nil, entities: [Entity] = [], composites: [Composite] = [], configurations: [Configuration] = [],
    fetchRequests: [FetchTemplate] = [], versionIdentifier: String? = nil,
    otherAttributes: [String: String] = ModelFile.editorAttributes, otherElements: [Markup] = []
  ) {
    self.name = name
    self.entities = entities
    self.composites = composites
    self.configurations = configurations
    self.fetchRequests = fetchRequests
    self.versionIdentifier = versionIdentifier
    self.otherAttributes = otherAttributes
    self.otherElements = otherElements
  }

  /// The attributes of the root element without which Xcode does not open a file.
  public static let editorAttributes = [
    "type": "com.apple.IDECoreDataModeler.DataModel", "documentVersion": "1.0", "minimumToolsVersion": "Automatic",
    "sourceLanguage": "Swift",
  ]
}

extension ModelFile {
  /// An entity of a model file.
  public struct Entity: Sendable, Hashable {
    /// The name, unique in the file.
    public var name: String
    /// The name of the class of the objects as the file has it: `Track`, `.Track` or `Music.Track`; `nil` for none.
    public var className: String?
    /// The name of the entity that this one inherits from.
    public var parent: String?
    /// Whether only subentities have objects.
    public var isAbstract: Bool
    /// The name that the entity had in the version before; the editor's renaming identifier.
    public var renamingIdentifier: String?
    /// Whether and how Xcode generates code for the class: `class`, `category` or `nil` for no code.
    public var codeGeneration: String?
    /// The attributes in the file's order, without inherited ones.
    public var attributes: [Attribute]
    /// The relationships in the file's order, without inherited ones.
    public var relationships: [Relationship]
    /// The fetched properties, in the file's order.
    public var fetchedProperties: [FetchedProperty]
    /// The indexes, in the file's order.
    public var indexes: [FetchIndex]
    /// Lists of property names whose values together are unique.
    public var uniqueness: [[String]]
    /// Texts of the application by key.
    public var userInfo: [String: String]
    /// The other attributes of the element, by name.
    public var otherAttributes: [String: String]
    /// The other elements in the element.
    public var otherElements: [Markup]
    /// The constraints as the file has them, if ``uniqueness`` does not represent all of them.
    var uniquenessSource: SourceElements<[[String]]>?
    /// The user info as the file has it, if ``userInfo`` does not represent all of it.
    var userInfoSource: SourceElements<[String: String]>?

    /// Makes an entity from its parts.
    public init(
      _ name: String, className: String? = nil, parent: String? = nil, isAbstract: Bool = false,
      renamingIdentifier: String? = nil, codeGeneration: String? = nil, attributes: [Attribute] = [],
      relationships: [Relationship] = [], fetchedProperties: [FetchedProperty] = [], indexes: [FetchIndex] = [],
      uniqueness: [[String]] = [], userInfo: [String: String] = [:],
      otherAttributes: [String: String] = ["syncable": "YES"], otherElements: [Markup] = []
    ) {
      self.name = name
      self.className = className
      self.parent = parent
      self.isAbstract = isAbstract
      self.renamingIdentifier = renamingIdentifier
      self.codeGeneration = codeGeneration
      self.attributes = attributes
      self.relationships = relationships
      self.fetchedProperties = fetchedProperties
      self.indexes = indexes
      self.uniqueness = uniqueness
      self.userInfo = userInfo
      self.otherAttributes = otherAttributes
      self.otherElements = otherElements
    }
  }

  /// A composite type of a model file: a named list of parts.
  public struct Composite: Sendable, Hashable {
    /// The name, unique among the composite types of the file.
    public var name: String
    /// The parts, in the file's order. A part may be a composite again.
    public var parts: [Attribute]
    /// The other attributes of the element, by name.
    public var otherAttributes: [String: String]
    /// The other elements in the element.
    public var otherElements: [Markup]

    /// Makes a composite type from its parts.
    public init(
      _ name: String, parts: [Attribute], otherAttributes: [String: String] = [:], otherElements: [Markup] = []
    ) {
      self.name = name
      self.parts = parts
      self.otherAttributes = otherAttributes
      self.otherElements = otherElements
    }
  }

  /// A configuration of a model file: a named list of entities.
  public struct Configuration: Sendable, Hashable {
    /// The name, unique among the configurations of the file.
    public var name: String
    /// The names of the entities, in the file's order.
    public var entities: [String]
    /// The other attributes of the element, by name.
    public var otherAttributes: [String: String]
    /// The other elements in the element.
    public var otherElements: [Markup]
    /// The members as the file has them, if ``entities`` does not represent all of them.
    var entitiesSource: SourceElements<[String]>?

    /// Makes a configuration from the names of its entities.
    public init(
      _ name: String, entities: [String], otherAttributes: [String: String] = [:], otherElements: [Markup] = []
    ) {
      self.name = name
      self.entities = entities
      self.otherAttributes = otherAttributes
      self.otherElements = otherElements
    }
  }

  /// An element of a file that the framework keeps without an interpretation.
  public struct Markup: Sendable, Hashable {
    /// The name of the element.
    public var name: String
    /// The attributes by name.
    public var attributes: [String: String]
    /// The elements in this element, in order.
    public var children: [Markup]
    /// The text of the element without white space around it.
    public var text: String

    /// Makes an element.
    public init(_ name: String, attributes: [String: String] = [:], children: [Markup] = [], text: String = "") {
      self.name = name
      self.attributes = attributes
      self.children = children
      self.text = text
    }
  }
}
