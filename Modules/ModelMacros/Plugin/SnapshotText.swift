import SwiftSyntax

/// The structure of an entity's values that `@Entity` writes.
struct SnapshotText {
  private let entity: EntityClass
  private let members: [SnapshotMember]

  /// Whether the superclass is a subentity itself.
  private let superclassIsSubentity: Bool

  init(_ entity: EntityClass, superclassIsSubentity: Bool) {
    self.entity = entity
    self.superclassIsSubentity = superclassIsSubentity
    members = entity.soundProperties.filter { !entity.hidesInherited($0) }.compactMap { SnapshotMember($0, of: entity) }
  }

  private var access: String { entity.access }

  /// The snapshot of the superclass; `nil` for a class without a parent.
  private var inherited: String? { entity.parent.map { "\($0).Snapshot" } }

  /// The structure, and for a subentity the function that makes it.
  var declarations: [String] {
    let attribute = entity.parent == nil ? "" : "@dynamicMemberLookup "
    let parts = [storage, initializer, defaults, inheritance, fields, reading, writing, decoding, encoding]
      .compactMap { $0 }
    let structure = """
      \(attribute)\(access)struct Snapshot: CoherenceCore.EntitySnapshot {
      \(parts.joined(separator: "\n\n"))
      }
      """
    guard let inherited, !entity.properties.contains(where: { $0.name == "snapshot" }) else { return [structure] }
    let function = "\(entity.overridable)func snapshot() throws -> Snapshot { try Snapshot(self) }"
    // Without it, a call of the function would be ambiguous: the superclass has one with another result.
    let hidden = """
      @available(*, unavailable)
      \(entity.overridable)override func snapshot() throws -> \(inherited) { try super.snapshot() }
      """
    return [structure, function] + (superclassIsSubentity ? [hidden] : [])
  }

  private var storage: String {
    let first =
      inherited.map { "\(access)var inherited: \($0)" } ?? "\(access)var objectID: CoherenceCore.ManagedObjectID?"
    let others = members.map { "\($0.access)var \($0.identifier): \($0.type)" }
    return (["\(access)typealias Object = \(entity.name)", first] + others).joined(separator: "\n")
  }

  /// The access modifier of the memberwise initialiser: that of the least visible member.
  private var level: String {
    let levels = ["fileprivate ", "", "package ", "public "]
    return ([access] + members.map(\.access)).min { levels.firstIndex(of: $0)! < levels.firstIndex(of: $1)! } ?? access
  }

  /// Whether other modules see the memberwise initialiser.
  private var isExported: Bool { ["package ", "public "].contains(level) }

  private var initializer: String {
    let first = inherited.map { "inherited: \($0)" } ?? "objectID: CoherenceCore.ManagedObjectID? = nil"
    let parameters = [first] + members.map { $0.parameter(isExported: isExported) }
    let assignments =
      [inherited == nil ? "self.objectID = objectID" : "self.inherited = inherited"]
      + members.map { "self.\($0.identifier) = \($0.identifier)" }
    return """
      \(level)init(\(parameters.joined(separator: ", "))) {
      \(assignments.joined(separator: "\n"))
      }
      """
  }

  /// The computed defaults of an exported initialiser as members of the structure. A parameter may name such a member,
  /// but not the functions and types in the default that other modules do not see.
  private var defaults: String? {
    guard isExported else { return nil }
    let lines = members.compactMap { member in
      member.computedDefault.map { "\(level)static var \(member.nameOfDefault): \(member.type) { \($0) }" }
    }
    return lines.isEmpty ? nil : lines.joined(separator: "\n")
  }

  /// The access of a subentity's snapshot to the inherited members.
  private var inheritance: String? {
    guard let inherited else { return nil }
    return """
      \(access)var objectID: CoherenceCore.ManagedObjectID? {
      get { inherited.objectID }
      set { inherited.objectID = newValue }
      }

      \(access)subscript<_Value>(dynamicMember keyPath: WritableKeyPath<\(inherited), _Value>) -> _Value {
      get { inherited[keyPath: keyPath] }
      set { inherited[keyPath: keyPath] = newValue }
      }
      """
  }

  private var fields: String {
    let own = "[\(members.map { "CoherenceCore.SnapshotField(\($0.key))" }.joined(separator: ", "))]"
    return """
      \(access)static var fields: [CoherenceCore.SnapshotField] {
      \(inherited.map { "\($0).fields + \(own)" } ?? own)
      }
      """
  }

  private var reading: String {
    let first = inherited.map { "self.inherited = \($0)(reading: &values)" } ?? "self.objectID = values.objectID"
    return function(
      "init(reading values: inout CoherenceCore.SnapshotReader)",
      [first] + members.map { "self.\($0.identifier) = values.read(\($0.isCodable ? "codable: \($0.key)" : ""))" })
  }

  private var writing: String {
    function(
      "func write(to values: inout CoherenceCore.SnapshotWriter)",
      (inherited == nil ? [] : ["inherited.write(to: &values)"])
        + members.map { "values.write(self.\($0.identifier)\($0.isCodable ? ", codable: \($0.key)" : ""))" })
  }

  private var decoding: String {
    var lines = members.map { "self.\($0.identifier) = try values.decode(\($0.key))" }
    if inherited == nil { lines.insert("self.objectID = try values.decodeObjectID()", at: 0) }
    if !lines.isEmpty { lines.insert("let values = try CoherenceCore.SnapshotDecoder(decoder)", at: 0) }
    if let inherited { lines.insert("self.inherited = try \(inherited)(from: decoder)", at: 0) }
    return function("init(from decoder: any Decoder) throws", lines)
  }

  private var encoding: String {
    var lines = members.map { "try values.encode(self.\($0.identifier), \($0.key))" }
    if inherited == nil { lines.insert("try values.encode(objectID: self.objectID)", at: 0) }
    if !lines.isEmpty { lines.insert("var values = CoherenceCore.SnapshotEncoder(encoder)", at: 0) }
    if inherited != nil { lines.insert("try inherited.encode(to: encoder)", at: 0) }
    return function("func encode(to encoder: any Encoder) throws", lines)
  }

  private func function(_ head: String, _ lines: [String]) -> String {
    "\(access)\(head) {\n\(lines.joined(separator: "\n"))\n}"
  }
}

/// A member of a snapshot: an attribute, a composite or the target of a to-one relationship.
private struct SnapshotMember {
  private let property: StoredProperty
  private let className: String
  let type: String

  /// `nil` for a to-many relationship.
  init?(_ property: StoredProperty, of entity: EntityClass) {
    switch property.kind {
    case .toMany, .orderedToMany: return nil
    case .toOne: type = "CoherenceCore.ManagedObjectID?"
    case .attribute where property.needsResolution: type = "Properties.\(property.resolvedType).Key.SnapshotValue"
    case .attribute, .codable, .composite: type = property.type.trimmedDescription
    }
    self.property = property
    className = entity.name
  }

  var identifier: String { property.identifier }
  var access: String { property.keyAccess }
  var key: String { "Properties.table.\(property.identifier)" }
  var isCodable: Bool { property.kind == .codable }

  /// The parameter of the memberwise initialiser, with the property's default.
  ///
  /// - Parameter isExported: Whether a computed default is a member of the structure.
  func parameter(isExported: Bool) -> String {
    let parameter = "\(identifier): \(type)"
    if property.kind == .toOne { return "\(parameter) = nil" }
    if isExported, computedDefault != nil { return "\(parameter) = Self.\(nameOfDefault)" }
    if let value = property.initialValue { return "\(parameter) = \(text(of: value))" }
    if property.shape.isOptional { return "\(parameter) = nil" }
    // The value of a derived attribute is never written.
    return property.options.contains("derived") ? "\(parameter) = \(type).attributeDefault" : parameter
  }

  /// The text of a default that is not literal, see ``DefaultValue/isLiteral``; `nil` for a literal default, and without a
  /// default.
  var computedDefault: String? {
    guard property.kind != .toOne, let value = property.initialValue, !value.isLiteral else { return nil }
    return text(of: value)
  }

  /// The default in the type of the snapshot's member.
  private func text(of value: DefaultValue) -> String {
    let text = value.text(in: className)
    guard property.needsResolution, !value.isNil else { return text }
    return "Properties.\(property.resolvedType).Key.snapshotValue(\(text))"
  }

  /// The name of the structure's member with the default.
  var nameOfDefault: String { "\(property.name)Default" }
}
