import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxBuilder

/// A variable of an entity's class that the model stores.
struct StoredProperty {
  let declaration: VariableDeclSyntax
  /// The name as the source writes it, with backticks if it has them.
  let identifier: String
  /// The annotated type, or the type of the initial value.
  let type: TypeSyntax
  let initialValue: DefaultValue?

  /// Reads a declaration.
  ///
  /// - Parameter problems: The list that receives the problems of the declaration.
  /// - Returns: `nil` for a variable that the model does not store, and for a declaration with a problem that leaves
  ///   the macro without a name or a type.
  init?(_ declaration: VariableDeclSyntax, problems: inout [Diagnostic]) {
    guard VariableChecks(declaration).isStored(&problems), let binding = declaration.bindings.first,
      let pattern = binding.pattern.as(IdentifierPatternSyntax.self)
    else { return nil }
    let initialValue = (binding.initializer?.value).map { DefaultValue(expression: $0.trimmed) }
    guard let type = binding.typeAnnotation?.type.trimmed ?? initialValue?.inferredType else {
      problems.append(VariableChecks.missingType(binding, pattern))
      return nil
    }
    self.declaration = declaration
    self.identifier = pattern.identifier.text
    self.type = type
    self.initialValue = initialValue
  }

  /// Reads a declaration whose problems another macro reports.
  init?(_ declaration: VariableDeclSyntax) {
    var ignored: [Diagnostic] = []
    self.init(declaration, problems: &ignored)
  }

  /// The name in the model.
  var name: String { identifier.filter { $0 != "`" } }

  var shape: TypeShape { TypeShape(type) }

  /// The kinds of properties, each with a key of its own.
  enum Kind {
    case attribute, codable, composite, toOne, toMany, orderedToMany
  }

  var kind: Kind {
    switch type.nominal?.name {
    case "ToMany": return .toMany
    case "OrderedToMany": return .orderedToMany
    default: break
    }
    if declaration.marker("Relationship") != nil { return .toOne }
    if options.contains("codable") { return .codable }
    return options.contains("composite") ? .composite : .attribute
  }

  var options: AttributeOptions { AttributeOptions(declaration.marker("Attribute")) }

  /// Whether assignments are refused, so that the accessor has no setter.
  var isReadOnly: Bool {
    switch kind {
    case .toMany, .orderedToMany: true
    default: options.contains("derived")
    }
  }

  /// The type that a relationship leads to.
  var destination: String {
    let shape = shape
    return (shape.element?.type ?? shape.wrapped).trimmedDescription
  }

  /// The access modifier of the property's key, with a trailing space.
  var keyAccess: String {
    let levels = declaration.modifiers.filter { $0.detail == nil }.map(\.name.text)
    if levels.contains("private") { return "fileprivate " }
    if levels.contains("open") { return "public " }
    return ["public", "package", "fileprivate"].first { levels.contains($0) }.map { "\($0) " } ?? ""
  }

  /// The default of the model; `nil` for none.
  var modelDefault: String? {
    guard let initialValue, !initialValue.isNil else { return nil }
    switch kind {
    case .codable, .composite: return initialValue.expression.trimmedDescription
    case .attribute:
      let shape = shape
      guard let constant = initialValue.constant(of: shape) else { return nil }
      return initialValue.inferredType?.trimmedDescription == shape.text ? constant : "\(constant) as \(shape.text)"
    default: return nil
    }
  }

  /// The expression that gives each new object its value; `nil` for none.
  var objectDefault: String? {
    guard let initialValue, !initialValue.isNil, kind == .attribute, modelDefault == nil else { return nil }
    return initialValue.expression.trimmedDescription
  }
}

extension WithAttributesSyntax {
  /// The attributes that stand for one of the macros.
  func markers(_ name: String) -> [AttributeSyntax] {
    attributes.compactMap { $0.as(AttributeSyntax.self) }.filter {
      let written = $0.attributeName.trimmedDescription
      return written == name || written == "CoherenceModelMacros.\(name)"
    }
  }

  /// The attribute that stands for one of the macros; `nil` for none.
  func marker(_ name: String) -> AttributeSyntax? { markers(name).first }

  /// The attribute that isolates the declaration to an actor; `nil` for none.
  var actor: AttributeSyntax? {
    attributes.lazy.compactMap { $0.as(AttributeSyntax.self) }
      .first { $0.attributeName.nominal?.name.hasSuffix("Actor") == true }
  }
}
