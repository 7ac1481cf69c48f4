import SwiftSyntax

/// The members that `@Entity` writes.
///
/// The names of generic parameters begin with an underscore, because they hide classes: an entity may be called `Root`.
struct EntityText {
  private let entity: EntityClass
  private let properties: [StoredProperty]

  /// Whether the superclass is a subentity itself.
  private let superclassIsSubentity: Bool

  init(_ entity: EntityClass, superclassIsSubentity: Bool) {
    self.entity = entity
    self.superclassIsSubentity = superclassIsSubentity
    properties = entity.soundProperties
  }

  var members: [String] {
    [table, "\(entity.typeMember) entityName: String { \(entity.entityName) }", declaration]
      + propertyNames + [defaults, deletionHooks].compactMap { $0 }
      + SnapshotText(entity, superclassIsSubentity: superclassIsSubentity).declarations
  }

  /// The initialiser of the framework, for a class with a mistake that hides the inherited one.
  static let initializer = "public required init(_ birth: borrowing CoherenceCore.ObjectBirth) { super.init(birth) }"

  // MARK: - The property table

  private var table: String {
    let keys = properties.map { "\($0.keyAccess)let \($0.identifier) = \($0.key(in: entity.name))" }
    let lookup = entity.parent.map { parent in
      """
      \(entity.access)subscript<_Key>(dynamicMember keyPath: KeyPath<\(parent).Properties, _Key>) -> _Key {
      \(parent).Properties.table[keyPath: keyPath]
      }
      """
    }
    let lines =
      properties.compactMap(\.resolution) + ["\(entity.access)static let table = Properties()"] + keys
      + [lookup].compactMap { $0 }
    let attribute = entity.parent == nil ? "" : "@dynamicMemberLookup "
    return """
      \(attribute)\(entity.access)struct Properties: CoherenceCore.EntityProperties {
      \(lines.joined(separator: "\n"))
      }
      """
  }

  // MARK: - The declaration of the entity

  private var declaration: String {
    """
    \(entity.typeMember) entityDeclaration: CoherenceCore.Entity {
    CoherenceCore.Entity(\(arguments.joined(separator: ", "))) {
    \(properties.map(\.modelDeclaration).joined(separator: "\n"))
    }
    }
    """
  }

  private var arguments: [String] {
    let unique =
      properties.filter { $0.options.contains("unique") }.map { "[\"\($0.name)\"]" }
      + entity.lists("Unique").map(\.text)
    let indexes =
      properties.filter { $0.options.contains("indexed") }.map { "[\"\($0.name)\"]" }
      + entity.lists("Index").map(\.text)
    let isAbstract = entity.marker.argument("abstract")?.trimmedDescription
    return ["\(entity.name).entityName", "class: \(entity.name).self"]
      + [
        entity.parent.map { "parent: \($0).entityName" },
        isAbstract.flatMap { $0 == "false" ? nil : "isAbstract: \($0)" },
        unique.isEmpty ? nil : "uniqueness: [\(unique.joined(separator: ", "))]",
        indexes.isEmpty ? nil : "indexes: [\(indexes.joined(separator: ", "))]",
        entity.marker.argument("formerNames").map { "formerNames: \($0)" },
        entity.marker.argument("userInfo").map { "userInfo: \($0)" },
      ]
      .compactMap { $0 }
  }

  // MARK: - The names of key paths

  private var propertyNames: [String] {
    let head = "\(entity.typeMember) propertyNames: [AnyKeyPath: String]"
    if entity.isFinal { return ["\(head) {\n\(names(from: entity.name, type: "\(entity.name).self"))\n}"] }
    return [
      "\(head) { \(entity.name).propertyNames(from: \(entity.name).self) }",
      """
      \(entity.access)static func propertyNames<_Root: \(entity.name)>(from root: _Root.Type) -> [AnyKeyPath: String] {
      \(names(from: "_Root", type: "root"))
      }
      """,
    ]
  }

  /// The dictionary of the names by key path.
  ///
  /// - Parameters:
  ///   - root: The name of the class whose key paths have the names: this class, or a subclass as a generic parameter.
  ///   - type: The expression for the class, for the call that finds the inherited names.
  private func names(from root: String, type: String) -> String {
    let entries = properties.map { "\\\(root).\($0.identifier): \"\($0.name)\"" }
    let own = entries.isEmpty ? "[:]" : "[\(entries.joined(separator: ", "))]"
    guard let parent = entity.parent else { return own }
    let inherited = "\(parent).propertyNames(from: \(type))"
    return entries.isEmpty ? inherited : "\(inherited).merging(\(own)) { name, _ in name }"
  }

  // MARK: - The values of new objects

  private var defaults: String? {
    let assignments = properties.compactMap { property in
      property.objectDefault.map { "\(property.identifier) = \($0)" }
    }
    guard !assignments.isEmpty else { return nil }
    return """
      \(entity.overridable)override func initializeDefaults() {
      super.initializeDefaults()
      \(assignments.joined(separator: "\n"))
      }
      """
  }

  // MARK: - The hooks of deletes

  /// The declaration of the hooks that the class overrides. Without it, the class counts as one with all hooks.
  private var deletionHooks: String? {
    guard !entity.declaresDeletionHooks, let hooks = entity.overriddenDeletionHooks else { return nil }
    return """
      \(entity.overridable)override class var deletionHooks: CoherenceCore.DeletionHooks {
      CoherenceCore.DeletionHooks(of: \(entity.name).self, overriding: \(hooks))
      }
      """
  }
}
