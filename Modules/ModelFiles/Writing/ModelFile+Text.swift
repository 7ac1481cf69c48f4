extension ModelFile {
  /// The text of the file `contents`, in UTF-8, with the elements in the order of Xcode. Equal values have equal texts.
  public var xml: String {
    var text = XMLText()
    let attributes: XMLText.Attributes = Self.rootOrder.map { ($0, otherAttributes[$0]) }
    let unordered = otherAttributes.filter { !Self.rootOrder.contains($0.key) }
    let version = [("userDefinedModelVersionIdentifier", versionIdentifier ?? "")] as XMLText.Attributes
    text.element("model", attributes + version, others: unordered) { text in
      for entity in entities { text.entity(entity) }
      for composite in composites {
        text.element("composite", [("name", composite.name)], others: composite.otherAttributes) { text in
          for part in composite.parts { text.attribute(part) }
          for markup in composite.otherElements { text.markup(markup) }
        }
      }
      for template in fetchRequests { text.template(template) }
      for configuration in configurations {
        text.element("configuration", [("name", configuration.name)], others: configuration.otherAttributes) { text in
          text.members(configuration.entities, configuration.entitiesSource)
          for markup in configuration.otherElements { text.markup(markup) }
        }
      }
      for markup in otherElements { text.markup(markup) }
    }
    // Xcode writes no line feed at the end.
    return String(text.text.dropLast())
  }

  /// The attributes of the root element in the order of Xcode.
  private static let rootOrder = [
    "type", "documentVersion", "lastSavedToolsVersion", "systemVersion", "minimumToolsVersion", "sourceLanguage",
    "usedWithCloudKit",
  ]
}

extension XMLText {
  fileprivate mutating func entity(_ entity: ModelFile.Entity) {
    var others = entity.otherAttributes
    let attributes: Attributes = [
      ("name", entity.name), ("representedClassName", entity.className), ("parentEntity", entity.parent),
      ("isAbstract", entity.isAbstract ? "YES" : nil), ("elementID", entity.renamingIdentifier),
      ("versionHashModifier", others.removeValue(forKey: "versionHashModifier")),
      ("syncable", others.removeValue(forKey: "syncable")), ("codeGenerationType", entity.codeGeneration),
    ]
    element("entity", attributes, others: others) { text in
      for attribute in entity.attributes { text.attribute(attribute) }
      for relationship in entity.relationships { text.relationship(relationship) }
      for property in entity.fetchedProperties { text.fetchedProperty(property) }
      for index in entity.indexes { text.index(index) }
      text.uniqueness(entity.uniqueness, entity.uniquenessSource)
      text.userInfo(entity.userInfo, entity.userInfoSource)
      for markup in entity.otherElements { text.markup(markup) }
    }
  }

  fileprivate mutating func attribute(_ attribute: ModelFile.Attribute) {
    var others = attribute.otherAttributes
    let isDate = attribute.kind == .date
    let attributes: Attributes = [
      ("name", attribute.name), ("optional", attribute.isOptional ? "YES" : nil),
      ("transient", attribute.isTransient ? "YES" : nil), ("attributeType", attribute.kind.rawValue),
      ("compositeName", attribute.compositeName),
      (isDate ? "minDateTimeInterval" : "minValueString", attribute.minimum),
      (isDate ? "maxDateTimeInterval" : "maxValueString", attribute.maximum),
      (isDate ? "defaultDateTimeInterval" : "defaultValueString", attribute.defaultValue),
      ("regularExpressionString", attribute.pattern), ("valueTransformerName", attribute.transformerName),
      ("usesScalarValueType", attribute.usesScalarValueType.map { $0 ? "YES" : "NO" }),
      ("derived", attribute.derivation == nil ? nil : "YES"), ("derivationExpression", attribute.derivation),
      ("customClassName", attribute.customClassName), ("elementID", attribute.renamingIdentifier),
      ("versionHashModifier", others.removeValue(forKey: "versionHashModifier")),
      ("syncable", others.removeValue(forKey: "syncable")),
    ]
    let isEmpty =
      attribute.userInfo.isEmpty && attribute.userInfoSource == nil && attribute.parts.isEmpty
      && attribute.otherElements.isEmpty
    element("attribute", attributes, others: others, isEmpty: isEmpty) { text in
      for part in attribute.parts { text.attribute(part) }
      text.userInfo(attribute.userInfo, attribute.userInfoSource)
      for markup in attribute.otherElements { text.markup(markup) }
    }
  }

  private mutating func relationship(_ relationship: ModelFile.Relationship) {
    var others = relationship.otherAttributes
    let attributes: Attributes = [
      ("name", relationship.name), ("optional", relationship.isOptional ? "YES" : nil),
      ("transient", relationship.isTransient ? "YES" : nil), ("toMany", relationship.isToMany ? "YES" : nil),
      ("minCount", relationship.minimumCount.map(String.init)),
      ("maxCount", relationship.maximumCount.map(String.init)),
      ("deletionRule", ModelDecoder.deleteRules.first { $0.value == relationship.deleteRule }!.key),
      ("ordered", relationship.isOrdered ? "YES" : nil), ("destinationEntity", relationship.destination),
      ("inverseName", relationship.inverse), ("inverseEntity", relationship.inverseEntity),
      ("elementID", relationship.renamingIdentifier),
      ("versionHashModifier", others.removeValue(forKey: "versionHashModifier")),
      ("syncable", others.removeValue(forKey: "syncable")),
    ]
    let isEmpty =
      relationship.userInfo.isEmpty && relationship.userInfoSource == nil && relationship.otherElements.isEmpty
    element("relationship", attributes, others: others, isEmpty: isEmpty) { text in
      text.userInfo(relationship.userInfo, relationship.userInfoSource)
      for markup in relationship.otherElements { text.markup(markup) }
    }
  }

  fileprivate mutating func template(_ template: ModelFile.FetchTemplate) {
    let attributes: Attributes = [
      ("name", template.name), ("entity", template.entity), ("predicateString", template.predicate),
      ("fetchLimit", template.fetchLimit.map(String.init)),
      ("includeSubentities", template.includesSubentities.map { $0 ? "YES" : "NO" }),
    ]
    element("fetchRequest", attributes, others: template.otherAttributes, isEmpty: template.otherElements.isEmpty) {
      text in
      for markup in template.otherElements { text.markup(markup) }
    }
  }

  private mutating func fetchedProperty(_ property: ModelFile.FetchedProperty) {
    element("fetchedProperty", [("name", property.name)], others: property.otherAttributes) { text in
      if let request = property.request { text.template(request) }
      text.userInfo(property.userInfo, property.userInfoSource)
      for markup in property.otherElements { text.markup(markup) }
    }
  }

  private mutating func index(_ index: ModelFile.FetchIndex) {
    element("fetchIndex", [("name", index.name)], others: index.otherAttributes) { text in
      for element in index.elements {
        let attributes: Attributes = [
          ("property", element.property), ("expression", element.expression), ("type", element.kind),
          ("order", element.isAscending ? "ascending" : "descending"),
        ]
        text.element(
          "fetchIndexElement", attributes, others: element.otherAttributes, isEmpty: element.otherElements.isEmpty
        ) { text in
          for markup in element.otherElements { text.markup(markup) }
        }
      }
      for markup in index.otherElements { text.markup(markup) }
    }
  }

  fileprivate mutating func members(_ names: [String], _ source: SourceElements<[String]>?) {
    guard !add(source, of: names) else { return }
    for name in names { element("memberEntity", [("name", name)], isEmpty: true) }
  }

  private mutating func uniqueness(_ lists: [[String]], _ source: SourceElements<[[String]]>?) {
    guard !add(source, of: lists), !lists.isEmpty else { return }
    element("uniquenessConstraints", []) { text in
      for names in lists {
        text.element("uniquenessConstraint", []) { text in
          for name in names { text.element("constraint", [("value", name)], isEmpty: true) }
        }
      }
    }
  }

  private mutating func userInfo(_ entries: [String: String], _ source: SourceElements<[String: String]>?) {
    guard !add(source, of: entries), !entries.isEmpty else { return }
    element("userInfo", []) { text in
      for (key, value) in entries.sorted(by: { $0.key < $1.key }) {
        text.element("entry", [("key", key), ("value", value)], isEmpty: true)
      }
    }
  }

  /// Adds the elements of a value as they were read.
  ///
  /// - Returns: Whether the elements were added; `false` if the value was changed, and if it represents all of them.
  private mutating func add<Value: Sendable & Hashable>(
    _ source: SourceElements<Value>?, of value: Value
  ) -> Bool {
    guard let source, source.value == value else { return false }
    for element in source.elements { markup(element) }
    return true
  }
}
