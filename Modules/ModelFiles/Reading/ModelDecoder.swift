import CoherenceCore
import Foundation

/// Makes a ``ModelFile`` from the elements of its XML. Keeps elements and attributes without a meaning for the
/// framework, so that a file of a newer editor is written without a loss.
struct ModelDecoder {
  /// The path of the file, for faults.
  let path: String
  /// The lines of the parts, for faults that a later check finds.
  private var source: SourceMap

  init(path: String) {
    self.path = path
    source = SourceMap(path: path)
  }

  /// Makes the model file of a root element.
  ///
  /// - Parameter name: The name of the model; `nil` for a model without a name.
  /// - Throws: ``XMLFault``, for the first fault.
  mutating func file(_ root: XMLNode, name: String?) throws(XMLFault) -> ModelFile {
    guard root.name == "model" else {
      throw XMLFault(
        "the root element is not <model>, the beginning of a model of Xcode", path: path, line: root.line,
        element: root.title)
    }
    var reader = ElementReader(root, path: path)
    var file = ModelFile(name: name, otherAttributes: [:])
    file.versionIdentifier = reader.nonEmptyText("userDefinedModelVersionIdentifier")
    file.otherAttributes = reader.unreadAttributes
    for node in root.children {
      switch node.name {
      case "entity": file.entities.append(try entity(node))
      case "composite", "compositeAttribute": file.composites.append(try composite(node))
      case "configuration": file.configurations.append(try configuration(node))
      case "fetchRequest": file.fetchRequests.append(try template(node))
      default: file.otherElements.append(markup(node))
      }
    }
    try checkNames(root, ["entity"], of: "entities")
    try checkNames(root, ["configuration"], of: "configurations")
    try checkNames(root, ["fetchRequest"], of: "fetch requests")
    try checkNames(root, ["composite", "compositeAttribute"], of: "composite types")
    file.source = source
    return file
  }

  private mutating func entity(_ node: XMLNode) throws(XMLFault) -> ModelFile.Entity {
    var reader = ElementReader(node, path: path)
    var entity = ModelFile.Entity(try reader.required("name"))
    source.lines[entity.name] = node.line
    entity.className = reader.nonEmptyText("representedClassName")
    entity.parent = reader.nonEmptyText("parentEntity")
    entity.isAbstract = try reader.flag("isAbstract") ?? false
    entity.renamingIdentifier = reader.nonEmptyText("elementID")
    entity.codeGeneration = reader.nonEmptyText("codeGenerationType")
    entity.otherAttributes = reader.unreadAttributes
    for child in node.children {
      switch child.name {
      case "attribute", "composite": entity.attributes.append(try attribute(child, in: entity.name))
      case "relationship": entity.relationships.append(try relationship(child, in: entity.name))
      case "fetchedProperty": entity.fetchedProperties.append(try fetchedProperty(child))
      case "fetchIndex": entity.indexes.append(try index(child))
      case "uniquenessConstraints": entity.uniqueness += try uniqueness(child)
      case "userInfo": entity.userInfo.merge(try userInfo(child)) { _, last in last }
      default: entity.otherElements.append(markup(child))
      }
    }
    entity.uniquenessSource = sourceElements(of: entity.uniqueness, "uniquenessConstraints", in: node)
    entity.userInfoSource = sourceElements(of: entity.userInfo, "userInfo", in: node)
    var seen: Set<String> = []
    for child in node.children where ["attribute", "composite", "relationship", "fetchedProperty"].contains(child.name)
    {
      let name = child.attributes["name"] ?? ""
      guard seen.insert(name).inserted else {
        throw XMLFault(
          "the entity '\(entity.name)' has two properties of this name", path: path, line: child.line,
          element: child.title)
      }
    }
    return entity
  }

  /// Makes an attribute of an entity, or a part of a composite.
  ///
  /// - Parameter owner: The path of the entity, the composite type or the composite around the attribute.
  mutating func attribute(_ node: XMLNode, in owner: String) throws(XMLFault) -> ModelFile.Attribute {
    var reader = ElementReader(node, path: path)
    let name = try reader.required("name")
    source.lines["\(owner).\(name)"] = node.line
    let isComposite = node.name == "composite"
    // The element `composite` names the type by itself.
    let type = isComposite ? reader.text("attributeType") : try reader.required("attributeType")
    let kind = isComposite ? "Composite" : type ?? ""
    var attribute = ModelFile.Attribute(name, ModelFile.AttributeKind(rawValue: kind))
    attribute.isOptional = try reader.flag("optional") ?? false
    attribute.isTransient = try reader.flag("transient") ?? false
    attribute.usesScalarValueType = try reader.flag("usesScalarValueType")
    let isDate = attribute.kind == .date
    attribute.defaultValue = reader.text(isDate ? "defaultDateTimeInterval" : "defaultValueString")
    attribute.minimum = reader.nonEmptyText(isDate ? "minDateTimeInterval" : "minValueString")
    attribute.maximum = reader.nonEmptyText(isDate ? "maxDateTimeInterval" : "maxValueString")
    attribute.pattern = reader.nonEmptyText("regularExpressionString")
    let isDerived = try reader.flag("derived")
    // An attribute with an expression is derived unless the flag is `NO`: the editor keeps the expression of an
    // attribute that has become a stored one.
    if isDerived != false { attribute.derivation = reader.nonEmptyText("derivationExpression") }
    if isDerived == true, attribute.derivation == nil {
      throw reader.fault("a derived attribute has no 'derivationExpression'")
    }
    attribute.transformerName = reader.nonEmptyText("valueTransformerName")
    attribute.customClassName = reader.nonEmptyText("customClassName")
    attribute.compositeName = reader.nonEmptyText("compositeName")
    attribute.renamingIdentifier = reader.nonEmptyText("elementID")
    attribute.otherAttributes = reader.unreadAttributes
    // An expression without effect is written again, with the flag that keeps it without effect.
    if attribute.otherAttributes["derivationExpression"] != nil { attribute.otherAttributes["derived"] = "NO" }
    for child in node.children {
      switch child.name {
      case "userInfo": attribute.userInfo.merge(try userInfo(child)) { _, last in last }
      case "attribute", "composite": attribute.parts.append(try self.attribute(child, in: "\(owner).\(name)"))
      default: attribute.otherElements.append(markup(child))
      }
    }
    attribute.userInfoSource = sourceElements(of: attribute.userInfo, "userInfo", in: node)
    return attribute
  }

  private mutating func relationship(_ node: XMLNode, in owner: String) throws(XMLFault) -> ModelFile.Relationship {
    var reader = ElementReader(node, path: path)
    let name = try reader.required("name")
    source.lines["\(owner).\(name)"] = node.line
    var relationship = ModelFile.Relationship(name, to: try reader.required("destinationEntity"))
    relationship.isOptional = try reader.flag("optional") ?? false
    relationship.isTransient = try reader.flag("transient") ?? false
    relationship.isToMany = try reader.flag("toMany") ?? false
    relationship.isOrdered = try reader.flag("ordered") ?? false
    relationship.minimumCount = try reader.count("minCount")
    relationship.maximumCount = try reader.count("maxCount")
    relationship.inverse = reader.nonEmptyText("inverseName")
    relationship.inverseEntity = reader.nonEmptyText("inverseEntity")
    let rule = reader.nonEmptyText("deletionRule")
    guard let deleteRule = Self.deleteRules[rule ?? "Nullify"] else {
      throw reader.fault(
        "the attribute 'deletionRule' is none of: \(Self.deleteRules.keys.sorted().joined(separator: ", "))")
    }
    relationship.deleteRule = deleteRule
    relationship.renamingIdentifier = reader.nonEmptyText("elementID")
    relationship.otherAttributes = reader.unreadAttributes
    for child in node.children {
      if child.name == "userInfo" {
        relationship.userInfo.merge(try userInfo(child)) { _, last in last }
      } else {
        relationship.otherElements.append(markup(child))
      }
    }
    relationship.userInfoSource = sourceElements(of: relationship.userInfo, "userInfo", in: node)
    return relationship
  }

  /// The delete rules by their names in files.
  static let deleteRules: [String: DeleteRule] = [
    "Nullify": .nullify, "Cascade": .cascade, "Deny": .deny, "No Action": .noAction,
  ]

  /// Returns the entries of a user info.
  ///
  /// - Throws: ``XMLFault`` for a key with two entries.
  func userInfo(_ node: XMLNode) throws(XMLFault) -> [String: String] {
    var entries: [String: String] = [:]
    for child in node.children where child.name == "entry" {
      var reader = ElementReader(child, path: path)
      let key = try reader.required("key")
      guard entries[key] == nil else { throw reader.fault("the user info has two entries with the key '\(key)'") }
      entries[key] = reader.text("value") ?? ""
    }
    return entries
  }

  /// Returns the elements of a name in an element, for a value that was made from them; `nil` if the value represents
  /// all their attributes and elements.
  func sourceElements<Value: Sendable & Hashable>(
    of value: Value, _ name: String, in node: XMLNode
  ) -> SourceElements<Value>? {
    SourceElements(node.children.filter { $0.name == name }.map(markup), value: value)
  }

  /// Returns an element as it is, with all elements in it.
  func markup(_ node: XMLNode) -> ModelFile.Markup {
    ModelFile.Markup(
      node.name, attributes: node.attributes, children: node.children.map(markup),
      text: node.text.trimmingCharacters(in: .whitespacesAndNewlines))
  }

  /// Refuses two parts of one kind with the same name.
  ///
  /// - Parameter elements: The names of the elements for parts of the kind.
  private func checkNames(_ root: XMLNode, _ elements: [String], of kind: String) throws(XMLFault) {
    var lines: [String: Int] = [:]
    for node in root.children where elements.contains(node.name) {
      let own = node.attributes["name"] ?? ""
      if let first = lines[own] {
        throw XMLFault(
          "two \(kind) are named '\(own)', the first in line \(first)", path: path, line: node.line, element: node.title
        )
      }
      lines[own] = node.line
    }
  }
}
