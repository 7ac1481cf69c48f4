import SwiftDiagnostics
import SwiftSyntax

/// A stored property of a composite.
struct CompositePart {
  let identifier: String
  private let type: TypeSyntax
  /// The default as an expression of the part's type; `nil` for none.
  private let defaultValue: String?
  /// The access modifier of the key, with a trailing space; `nil` for a private part, which has no key.
  private let keyAccess: String?

  private var name: String { identifier.filter { $0 != "`" } }

  /// The member of the table; `nil` for a private part.
  var key: String? {
    keyAccess.map { "\($0)let \(identifier) = CoherenceCore.PartKey<\(type.trimmedDescription)>(\"\(name)\")" }
  }

  /// The expression that declares the attributes of the part.
  var declaration: String {
    let value = defaultValue.map { ", default: \($0)" } ?? ""
    return "CoherenceCore.Attribute.parts(\"\(name)\", \(type.trimmedDescription).self\(value))"
  }

  /// The statement that reads the part.
  var reading: String {
    "self.\(identifier) = parts.read(\(defaultValue.map { "default: \($0)" } ?? ""))"
  }

  /// The parts in a declaration of variables or constants.
  ///
  /// - Parameters:
  ///   - structure: The name of the composite.
  ///   - problems: The list that receives the problems of the declaration.
  static func all(
    of declaration: VariableDeclSyntax, in structure: String, problems: inout [Diagnostic]
  ) -> [CompositePart] {
    guard !declaration.modifiers.contains(where: { $0.name.text == "static" }) else { return [] }
    var type: TypeSyntax?
    var parts: [CompositePart] = []
    // The variables before an annotation have its type: `var width, height: Double`.
    for binding in declaration.bindings.reversed() {
      if binding.isComputed { continue }
      guard let pattern = binding.pattern.as(IdentifierPatternSyntax.self) else {
        problems.append(
          Problem("tuple", "The variables of a tuple have no parts of their own; declare them one by one.")
            .diagnostic(at: binding.pattern))
        continue
      }
      let value = binding.initializer.map { DefaultValue(expression: $0.value.trimmed) }
      type = binding.typeAnnotation?.type.trimmed ?? (value == nil ? type : value?.inferredType)
      guard let type else {
        problems.append(VariableChecks.missingType(binding, pattern))
        continue
      }
      if value != nil, declaration.bindingSpecifier.tokenKind == .keyword(.let) {
        problems.append(
          Problem(
            "initialisedConstant",
            "The constant '\(pattern.identifier.text)' cannot be read from a store, because it has its value already; "
              + "make it a variable, or static."
          ).diagnostic(at: declaration.bindingSpecifier, fixes: [declaration.asVariable]))
        continue
      }
      if let value, let node = binding.initializer?.value, value.isNondeterministic(TypeShape(type)) {
        problems.append(momentaryDefault(of: pattern, node))
        continue
      }
      parts.insert(CompositePart(pattern, type, value, of: declaration, in: structure), at: 0)
    }
    return parts
  }

  private init(
    _ pattern: IdentifierPatternSyntax, _ type: TypeSyntax, _ value: DefaultValue?, of declaration: VariableDeclSyntax,
    in structure: String
  ) {
    identifier = pattern.identifier.text
    self.type = type
    defaultValue = value.flatMap { $0.isNil ? nil : "\($0.text(in: structure)) as \(type.trimmedDescription)" }
    let levels = Set(declaration.modifiers.filter { $0.detail == nil }.map(\.name.text))
    keyAccess =
      levels.contains("private")
      ? nil : ["public", "package", "fileprivate"].first { levels.contains($0) }.map { "\($0) " } ?? ""
  }

  /// The problem of a default that differs from one evaluation to the next.
  private static func momentaryDefault(of pattern: IdentifierPatternSyntax, _ value: ExprSyntax) -> Diagnostic {
    Problem(
      "momentaryDefault",
      "The default of '\(pattern.identifier.text)' is evaluated once for the model, so that all records would share the "
        + "value; remove it, and give each new object a composite in 'initializeDefaults()'."
    ).diagnostic(at: value)
  }
}
