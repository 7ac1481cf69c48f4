import CoherenceCore
import Foundation

extension DeclarationBuilder {
  /// The declaration of an attribute or a composite; none for a transient attribute.
  mutating func properties(of source: ModelFile.Attribute, in owner: String) -> [any PropertyDeclaration] {
    let path = "\(owner).\(source.name)"
    report(source, at: path)
    if source.isTransient {
      warnings.append("Attribute '\(path)' is transient and left out: make it a variable of the class.")
      return []
    }
    guard source.kind == .composite else { return [attribute(of: source, in: owner)].compactMap(\.self) }
    let parts = flattened(source, path: path, prefix: "", nesting: [])
    guard !parts.isEmpty else { return [] }
    return [CompositeAttribute(source.name, parts: parts)]
  }

  /// The parts of a composite as attributes. The parts of nested composites have names relative to the composite, such
  /// as `origin.x`; former names begin with the outermost composite.
  ///
  /// - Parameters:
  ///   - prefix: The names of the composites around the composite, each with a full stop.
  ///   - nesting: The composite types around the composite, by which a type that contains itself is found.
  private mutating func flattened(
    _ composite: ModelFile.Attribute, path: String, prefix: String, nesting: [String]
  ) -> [Attribute] {
    guard let parts = file.parts(of: composite), !parts.isEmpty else {
      faults.append("Attribute \(located(path)) is a composite whose parts the file does not declare.")
      return []
    }
    let type = file.compositeType(of: composite)?.name
    if let type, nesting.contains(type) {
      faults.append("The composite type '\(type)' contains itself.")
      return []
    }
    // A former name in the file without a full stop is a name in the same composite. A name after a full stop alone is
    // that of an attribute without a composite.
    func whole(_ name: String, in prefix: String) -> String {
      if name.hasPrefix(".") { return String(name.dropFirst()) }
      return name.contains(".") ? name : prefix + name
    }
    let former = file.formerNames(composite.renamingIdentifier, composite.userInfo, at: path)
      .map { whole($0, in: prefix) }
    let inner = "\(prefix)\(composite.name)."
    var result: [Attribute] = []
    for part in parts {
      var made: [Attribute]
      if part.kind == .composite {
        let types = nesting + [type].compactMap(\.self)
        made = flattened(part, path: "\(path).\(part.name)", prefix: inner, nesting: types)
        for index in made.indices { made[index].name = "\(part.name).\(made[index].name)" }
      } else {
        made = [attribute(of: part, in: path)].compactMap(\.self)
        for index in made.indices {
          made[index].formerNames = made[index].formerNames.map { whole($0, in: inner) }
        }
      }
      for index in made.indices {
        // One version may have renamed the composite and its part: each former composite may have each of the names.
        let formerParts = made[index].formerNames.filter { $0.hasPrefix(inner) }.map { $0.dropFirst(inner.count) }
        var names = [made[index].name[...]]
        if (1 + formerParts.count) * former.count <= Self.greatestCombinationCount { names += formerParts }
        made[index].formerNames += former.flatMap { composite in names.map { "\(composite).\($0)" } }
        if composite.isOptional { made[index].isOptional = true }
      }
      result += made
    }
    return result
  }

  /// The greatest number of former names that the names of one composite and of a part below it make together. The
  /// numbers of all levels of a file would multiply without a limit.
  private static let greatestCombinationCount = 1_000

  /// The declaration of an attribute that is not a composite; none for a type that models do not have.
  private mutating func attribute(of source: ModelFile.Attribute, in owner: String) -> Attribute? {
    let path = "\(owner).\(source.name)"
    guard let type = attributeType(of: source, path: path) else { return nil }
    var attribute = Attribute(
      source.name, type, optional: source.isOptional, userInfo: FileSetting.withoutSettings(source.userInfo))
    attribute.formerNames = file.formerNames(source.renamingIdentifier, source.userInfo, at: path)
    attribute.defaultValue = defaultValue(of: source, type, path: path)
    attribute.validation = validation(of: source, type, path: path)
    if let expression = source.derivation { derive(&attribute, expression, in: owner) }
    return attribute
  }

  /// Marks an attribute as derived. The value of a derived attribute needs no default and no rules.
  private mutating func derive(_ attribute: inout Attribute, _ expression: String, in owner: String) {
    let path = "\(owner).\(attribute.name)"
    attribute.isOptional = true
    guard let derivation = DerivationText.derivation(expression), isOfRecord(derivation.source, in: owner) else {
      warnings.append(
        "Attribute '\(path)' is not derived by '\(expression)', and is an ordinary optional one: the framework derives "
          + "values from texts of the same record, the time of the save, paths of to-one relationships, and the members "
          + "of one to-many relationship.")
      return
    }
    if let type = derivation.type, attribute.type != type {
      warnings.append(
        "Attribute '\(path)' is not derived by '\(expression)', and is an ordinary optional one: the values are of type "
          + "\(type.canonicalName); declare the attribute as one.")
      return
    }
    if !attribute.defaultValue.isNull || !attribute.validation.isEmpty {
      warnings.append("Attribute '\(path)' is derived; its default and its rules are left out.")
      attribute.defaultValue = .null
      attribute.validation = []
    }
    attribute.derived = derivation
  }

  /// Whether a source with a full stop is a part of a composite of an entity, and not a path over relationships. Any
  /// other source is left to the check of the model.
  private func isOfRecord(_ source: String?, in owner: String) -> Bool {
    guard let source, source.contains(".") else { return true }
    var visited: Set<String> = []
    var current = file.entities.first { $0.name == owner }
    while let entity = current, visited.insert(entity.name).inserted {
      if isPart(source.split(separator: ".").map(String.init)[...], of: entity.attributes) { return true }
      current = entity.parent.flatMap { name in file.entities.first { $0.name == name } }
    }
    return false
  }

  /// Whether a path leads over composites to an attribute of another kind.
  private func isPart(_ path: ArraySlice<String>, of attributes: [ModelFile.Attribute]) -> Bool {
    guard let attribute = attributes.first(where: { $0.name == path.first }) else { return false }
    if path.count == 1 { return attribute.kind != .composite }
    return isPart(path.dropFirst(), of: file.parts(of: attribute) ?? [])
  }

  /// The type of the kind and of the settings in the user info.
  private mutating func attributeType(of source: ModelFile.Attribute, path: String) -> AttributeType? {
    guard let base = Self.types[source.kind] ?? transformable(source, path: path) else {
      faults.append("Attribute \(located(path)) has the type '\(source.kind.rawValue)', which models do not have.")
      return nil
    }
    switch source.userInfo[FileSetting.type] {
    case nil: return base
    case "codable": return .codable
    case "weakReference": return .weakReference(to: source.userInfo[FileSetting.entity])
    case "enumeration":
      guard let text = source.userInfo[FileSetting.cases] else { return .enumeration(raw: base, cases: nil) }
      let texts = (try? JSONDecoder().decode([String].self, from: Data(text.utf8))) ?? []
      let cases = texts.compactMap { ValueText.value($0, base) }
      if cases.isEmpty || cases.count != texts.count {
        faults.append("The cases of \(located(path)) in '\(FileSetting.cases)' are not values of its type.")
      }
      return .enumeration(raw: base, cases: Set(cases))
    case .some(let name):
      faults.append("Attribute \(located(path)) has the unknown '\(FileSetting.type)' '\(name)'.")
      return nil
    }
  }

  private static let types: [ModelFile.AttributeKind: AttributeType] = [
    .int16: .int16, .int32: .int32, .int64: .int64, .decimal: .decimal, .double: .double, .float: .float,
    .string: .string, .bool: .bool, .date: .date, .data: .data, .uuid: .uuid, .url: .url,
  ]

  /// The type of a transformable attribute; none for other kinds.
  private mutating func transformable(_ source: ModelFile.Attribute, path: String) -> AttributeType? {
    guard source.kind == .transformable else { return nil }
    if source.transformerName == nil {
      warnings.append("Attribute '\(path)' names no transformer; its name is '\(source.effectiveTransformerName)'.")
    }
    return .transformable(source.effectiveTransformerName)
  }

  /// The default; a missing value and a fault for a text that is no value of the type.
  private mutating func defaultValue(
    of source: ModelFile.Attribute, _ type: AttributeType, path: String
  ) -> AttributeValue {
    let text = type.storage == .data ? source.userInfo[FileSetting.data] : source.defaultValue
    // An empty text is a value of texts, and stands for data without bytes.
    guard let text, [.string, .data].contains(type.storage) || !text.isEmpty else { return .null }
    guard let value = ValueText.value(text, type), let checked = try? type.checked(value) else {
      faults.append("The default of \(located(path)) is not a value of the type '\(source.kind.rawValue)'.")
      return .null
    }
    return checked
  }

  /// The validation rules; a fault for a bound that is no value of the type.
  private mutating func validation(
    of source: ModelFile.Attribute, _ type: AttributeType, path: String
  ) -> [ValidationRule] {
    var rules: [ValidationRule] = []
    let bounds = [
      (source.minimum, ValidationRule.minimum, ValidationRule.minimumLength, "minimum"),
      (source.maximum, ValidationRule.maximum, ValidationRule.maximumLength, "maximum"),
    ]
    for case let (text?, bound, length, name) in bounds {
      switch type.storage {
      case .string, .data:
        if let count = Int(text), count >= 0 {
          rules.append(length(count))
        } else {
          faults.append("The \(name) of \(located(path)) is not a number of characters.")
        }
      case .int16, .int32, .int64, .float, .double, .decimal, .date:
        if let value = ValueText.value(text, type) {
          rules.append(bound(value))
        } else {
          faults.append("The \(name) of \(located(path)) is not a value of the type '\(source.kind.rawValue)'.")
        }
      case .bool, .uuid, .reference:
        warnings.append("The \(name) of '\(path)' has no effect: its type has no order.")
      }
    }
    if let pattern = source.pattern {
      if type.storage == .string {
        rules.append(.pattern(pattern))
      } else {
        warnings.append("The pattern of '\(path)' has no effect: its type is no text.")
      }
    }
    return rules
  }

  /// The declaration of a relationship; none for a transient relationship.
  mutating func relationship(of source: ModelFile.Relationship, in owner: String) -> Relationship? {
    let path = "\(owner).\(source.name)"
    report(source.otherAttributes, source.otherElements, of: "Relationship '\(path)'")
    report(source.userInfoSource?.elements, of: "Relationship '\(path)'")
    if source.isTransient {
      warnings.append("Relationship '\(path)' is transient and left out.")
      return nil
    }
    if let entity = source.inverseEntity, source.inverse != nil, entity != source.destination {
      warnings.append("Relationship '\(path)' has its inverse at '\(source.destination)', not at '\(entity)'.")
    }
    let userInfo = FileSetting.withoutSettings(source.userInfo)
    let former = file.formerNames(source.renamingIdentifier, source.userInfo, at: path)
    guard source.isEffectivelyToMany else {
      return Relationship(
        source.name, toOne: source.destination, inverse: source.inverse, optional: source.isOptional,
        deleteRule: source.deleteRule, formerNames: former, userInfo: userInfo)
    }
    var minimum = source.minimumCount ?? 0
    if source.isOptional, minimum > 0 {
      warnings.append(
        "Relationship '\(path)' is optional, and its minimum of \(minimum) members is left out: make it required.")
      minimum = 0
    }
    if !source.isOptional { minimum = max(1, minimum) }
    // The editor's 0 stands for any number of members.
    let maximum = source.maximumCount.flatMap { $0 == 0 ? nil : $0 }
    return Relationship(
      source.name, toMany: source.destination, inverse: source.inverse, ordered: source.isOrdered,
      minimumCount: minimum,
      maximumCount: maximum, deleteRule: source.deleteRule, formerNames: former, userInfo: userInfo)
  }
}
