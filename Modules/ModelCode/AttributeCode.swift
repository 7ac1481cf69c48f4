import CoherenceCore
import CoherenceModelFiles

/// Writes the variable of an attribute.
struct AttributeCode {
  let attribute: ModelFile.Attribute
  /// The name of the entity or composite, for sentences.
  let owner: String
  /// The name of the class or structure that declares the variable.
  let ownerClass: String
  let plan: CodePlan

  /// The attribute and its owner, for sentences.
  private var subject: String { "'\(attribute.name)' of '\(owner)'" }

  /// The variable of an entity's class.
  func variable() -> CodePart {
    if attribute.isTransient { return transient() }
    if attribute.kind == .composite { return composite() }
    guard let type = ValueCode(attribute.kind).type else { return unknownKind() }
    var result = CodePart(needsFoundation: ValueCode(attribute.kind).needsFoundation)
    let derived = derived(&result)
    var value: String?
    var options = derived
    if derived.isEmpty {
      options = rules(&result) + kindOption(&result)
      value = defaultValue(&result)
    } else if defaultText != nil || attribute.minimum != nil || attribute.maximum != nil || attribute.pattern != nil {
      result.warnings.append(
        "The derived attribute \(subject) has neither the default nor the rules of the model file.")
    }
    options += formerNamesAndUserInfo
    let marker = options.isEmpty ? nil : ("@Attribute", options)
    result.lines = lines(marker: marker, type: swiftType(type), value: value)
    return result
  }

  /// The variable of a composite's structure.
  func part() -> CodePart {
    if attribute.kind == .composite {
      guard let name = plan.structureName(of: attribute, in: ownerClass) else { return missingComposite() }
      let type = name + (attribute.isOptional ? "?" : "")
      return CodePart(
        lines: lines(marker: nil, type: type, value: nil), warnings: omittedDefaults, parameter: parameter(type, nil))
    }
    guard let type = ValueCode(attribute.kind).type else { return unknownKind() }
    var result = CodePart(needsFoundation: ValueCode(attribute.kind).needsFoundation)
    if attribute.isTransient || attribute.derivation != nil {
      result.warnings.append("The part \(subject) is stored: parts of composites are neither transient nor derived.")
    }
    let former = FileSetting.formerNames(attribute.renamingIdentifier, attribute.userInfo)
    if !rules(&result).isEmpty || !former.isEmpty || !CodeArguments.userInfo(attribute.userInfo).isEmpty {
      result.warnings.append(
        "The part \(subject) loses its validation, former names and user info: '@Composite' has no place for them.")
    }
    let value = defaultValue(&result, isPart: true)
    result.lines = lines(marker: nil, type: swiftType(type), value: value)
    result.parameter = parameter(swiftType(type), value)
    return result
  }

  /// The type of the variable, for the Swift type of the attribute's kind.
  private func swiftType(_ type: String) -> String {
    let named = isCodable ? attribute.customClassName ?? type : weakReferenceType ?? type
    // A derived attribute has no value before the first save.
    return named + (attribute.isOptional || attribute.derivation != nil ? "?" : "")
  }

  // MARK: - Kinds

  /// The variable of a transient attribute.
  private func transient() -> CodePart {
    guard let type = ValueCode(attribute.kind).type, attribute.kind != .transformable else {
      return CodePart(
        lines: lines(marker: ("@Transient", []), type: "Any?", value: nil),
        warnings: ["The transient attribute \(subject) is a variable of the type 'Any?': its kind has no Swift type."])
    }
    var result = CodePart(needsFoundation: ValueCode(attribute.kind).needsFoundation)
    let value = defaultText.flatMap { expression($0, "default", &result)?.text }
    let isOptional = attribute.isOptional || value == nil
    result.lines = lines(marker: ("@Transient", []), type: type + (isOptional ? "?" : ""), value: value)
    return result
  }

  /// The variable of an entity's composite attribute.
  private func composite() -> CodePart {
    guard let name = plan.structureName(of: attribute, in: ownerClass) else { return missingComposite() }
    var result = CodePart(warnings: omittedDefaults)
    let former = CodeArguments.formerNames(formerNames)
    if !attribute.userInfo.isEmpty {
      result.warnings.append("The user info of the composite \(subject) is left out: composites have none.")
    }
    result.lines = lines(
      marker: ("@Attribute", [.text(".composite")] + former), type: name + (attribute.isOptional ? "?" : ""), value: nil
    )
    return result
  }

  /// The warning about the defaults of the parts of an optional composite, which models made of classes do not have.
  private var omittedDefaults: [String] {
    let parts = plan.file.parts(of: attribute) ?? []
    let haveDefaults = parts.contains {
      AttributeCode(attribute: $0, owner: owner, ownerClass: ownerClass, plan: plan).defaultText != nil
    }
    guard attribute.isOptional, haveDefaults else { return [] }
    return [
      "The optional composite \(subject) is 'nil' in a new object: the defaults of its parts are those of the structure."
    ]
  }

  private func missingComposite() -> CodePart {
    CodePart(faults: ["The composite type of \(subject) is not declared in the model file."])
  }

  private func unknownKind() -> CodePart {
    CodePart(
      warnings: [
        "The attribute \(subject) is left out: no Swift type represents the kind '\(attribute.kind.rawValue)'."
      ])
  }

  /// The argument of `@Attribute` for a type that does not follow from the variable's Swift type; warns where the
  /// model file does not name the Swift type.
  private func kindOption(_ result: inout CodePart) -> [SourceLine.Argument] {
    if attribute.kind == .transformable {
      result.warnings.append(
        "The transformable attribute \(subject) is of the type 'Data': its variable shows the data of the transformer.")
      let name = attribute.effectiveTransformerName
      return [.text(".transformable(\(SwiftName.literal(name)))")]
    }
    switch attribute.userInfo[FileSetting.type] {
    case "codable":
      if attribute.customClassName != nil { return [.text(".codable")] }
      result.warnings.append(
        "The attribute \(subject) shows its JSON text: the model file does not name its Swift type.")
    case "enumeration":
      result.warnings.append("The attribute \(subject) shows raw values: the model file does not name its enumeration.")
    default: break
    }
    return []
  }

  /// The type of a weak reference; `nil` for another attribute.
  private var weakReferenceType: String? {
    guard attribute.userInfo[FileSetting.type] == "weakReference", attribute.kind == .string else { return nil }
    let target = attribute.userInfo[FileSetting.entity].map { plan.className(of: $0) }
    return "WeakReference<\(target ?? "ManagedObject")>"
  }

  private var isCodable: Bool {
    attribute.userInfo[FileSetting.type] == "codable" && attribute.kind == .string
  }

  // MARK: - Options

  /// The argument of `@Attribute` for a derivation; none and a warning if the framework has no such derivation.
  private func derived(_ result: inout CodePart) -> [SourceLine.Argument] {
    guard let text = attribute.derivation else { return [] }
    let expression = text.filter { !$0.isWhitespace }
    let isText = attribute.kind == .string
    for kind in ["canonical", "lowercase", "uppercase"] where isText && expression.hasPrefix("\(kind):(") {
      let name = expression.dropFirst(kind.count + 2)
      if name.hasSuffix(")"), SwiftName.isIdentifier(String(name.dropLast())) {
        return [.text(".derived(.\(kind)(\(SwiftName.literal(String(name.dropLast())))))")]
      }
    }
    if expression == "now()", attribute.kind == .date { return [.text(".derived(.now)")] }
    if let rule = DerivationText.derivation(expression), let path = rule.relationshipPath, hasType(of: rule) {
      return [.text(".derived(.\(rule.ruleName)(\(SwiftName.literal(path))))")]
    }
    result.warnings.append(
      "The attribute \(subject) is an ordinary optional one: the framework does not derive values by '\(text)'.")
    return []
  }

  /// Whether the attribute has the type that a rule gives its values, if the rule gives one.
  private func hasType(of rule: Derivation) -> Bool {
    switch rule.type {
    case nil: true
    case .int64: attribute.kind == .int64
    case .double: attribute.kind == .double
    default: false
    }
  }

  /// The validation rules as arguments of `@Attribute`.
  private func rules(_ result: inout CodePart) -> [SourceLine.Argument] {
    let suffix = [.string, .data, .url, .transformable].contains(attribute.kind) ? "Length" : ""
    // Truth values and identifiers have no order; the model file warns of their bounds itself.
    if [.bool, .uuid].contains(attribute.kind) { return [] }
    var rules: [SourceLine.Argument] = []
    for (name, text) in [("minimum", attribute.minimum), ("maximum", attribute.maximum)] {
      guard let text else { continue }
      let bound = suffix.isEmpty ? expression(text, name, &result)?.text : count(text, name, &result)
      if let bound { rules.append(.text(".\(name)\(suffix)(\(bound))")) }
    }
    // The model file warns of other patterns itself.
    if let pattern = attribute.pattern, [.string, .url].contains(attribute.kind) {
      rules.append(.text(".pattern(\(SwiftName.literal(pattern)))"))
    }
    return rules
  }

  /// The arguments `formerNames:` and `userInfo:`, each unless it would be empty.
  private var formerNamesAndUserInfo: [SourceLine.Argument] {
    CodeArguments.formerNames(formerNames) + CodeArguments.userInfo(attribute.userInfo)
  }

  /// The former names of an attribute of an entity.
  private var formerNames: [String] {
    plan.file.formerNames(attribute.renamingIdentifier, attribute.userInfo, at: "\(owner).\(attribute.name)")
  }

  // MARK: - Values

  /// The text of the default. An empty text is a value of text attributes, URLs and data alone.
  private var defaultText: String? {
    let isData = [.data, .transformable].contains(attribute.kind)
    let text = isData ? attribute.userInfo[FileSetting.data] : attribute.defaultValue
    return text == "" && !isData && ![.string, .url].contains(attribute.kind) ? nil : text
  }

  /// The Swift expression of the default; none and a warning if its type is unknown. Warns of a default that only
  /// objects have.
  private func defaultValue(_ result: inout CodePart, isPart: Bool = false) -> String? {
    guard let text = defaultText else { return nil }
    if isCodable, attribute.customClassName != nil {
      result.warnings.append("The default of \(subject) is left out: the generator does not know its Swift type.")
      return nil
    }
    if weakReferenceType != nil {
      result.warnings.append("The default of \(subject) is left out: a text is no weak reference in code.")
      return nil
    }
    guard let value = expression(text, "default", &result) else { return nil }
    if !value.isLiteral, !isPart {
      result.warnings.append(
        "The default of \(subject) is not a literal. It is set for each new object, and is not a default of the model: "
          + "records that exist before the attribute get no value.")
    }
    return value.text
  }

  /// The Swift expression of a text of the file, or a fault.
  private func expression(_ text: String, _ use: String, _ result: inout CodePart) -> ValueCode.Expression? {
    if let value = ValueCode(attribute.kind).expression(text) { return value }
    result.faults.append("The \(use) of \(subject) is not a value of the kind '\(attribute.kind.rawValue)'.")
    return nil
  }

  /// The number of characters in a text of the file, or a fault.
  private func count(_ text: String, _ use: String, _ result: inout CodePart) -> String? {
    if let value = Int64(text), value >= 0 { return ValueCode.grouped(value) }
    result.faults.append("The \(use) length of \(subject) is not a number of characters.")
    return nil
  }

  // MARK: - Layout

  /// The variable as a parameter of the structure's initializer.
  private func parameter(_ type: String, _ value: String?) -> String {
    let initial = value ?? (attribute.isOptional ? "nil" : nil)
    return "\(SwiftName.escaped(attribute.name)): \(type)\(initial.map { " = \($0)" } ?? "")"
  }

  /// The lines of the variable. A value that does not fit stands on a line of its own.
  private func lines(
    marker: (name: String, arguments: [SourceLine.Argument])?, type: String, value: String?
  ) -> [String] {
    var declaration = "\(plan.options.access.prefix)var \(SwiftName.escaped(attribute.name)): \(type)"
    var valueLines: [String] = []
    if let value {
      if declaration.count + value.count + 5 <= SourceLine.width {
        declaration += " = \(value)"
      } else {
        declaration += " ="
        valueLines = ["    \(value)"]
      }
    }
    return CodeArguments.lines(marker: marker, declaration: declaration) + valueLines
  }
}
