import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// Makes a structure a value that a model stores in parts.
struct CompositeMacro: ExtensionMacro {
  static func expansion(
    of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
    providingExtensionsOf type: some TypeSyntaxProtocol, conformingTo protocols: [TypeSyntax],
    in context: some MacroExpansionContext
  ) throws -> [ExtensionDeclSyntax] {
    guard let structure = declaration.as(StructDeclSyntax.self) else {
      throw Problem(
        "noStructure", "'@Composite' is for structures, because the parts of a composite are its stored properties."
      ).error(at: node)
    }
    var problems: [Diagnostic] = []
    let parts = structure.memberBlock.members.compactMap { $0.decl.as(VariableDeclSyntax.self) }
      .flatMap { CompositePart.all(of: $0, problems: &problems) }
    for problem in problems { context.diagnose(problem) }
    guard !parts.isEmpty || !problems.isEmpty else {
      throw Problem(
        "noParts", "A composite has at least one stored property; add the parts of '\(structure.name.text)'."
      ).error(at: structure.name)
    }
    let levels = Set(structure.modifiers.map(\.name.text))
    let access = ["public", "package"].first { levels.contains($0) }.map { "\($0) " } ?? ""
    let list = parts.map { "CoherenceCore.Attribute.parts(\"\($0.name)\", \($0.type).self)" }
    return [
      try ExtensionDeclSyntax(
        """
        extension \(type.trimmed)\(raw: protocols.isEmpty ? "" : ": CoherenceCore.CompositeValue") {
        \(raw: access)static var compositeParts: [CoherenceCore.Attribute] {
        \(raw: list.joined(separator: "\n+ "))
        }

        \(raw: access)init(reading parts: inout CoherenceCore.CompositeReader) {
        \(raw: parts.map { "self.\($0.identifier) = parts.read()" }.joined(separator: "\n"))
        }

        \(raw: access)func write(to parts: inout CoherenceCore.CompositeWriter) {
        \(raw: parts.map { "parts.write(self.\($0.identifier))" }.joined(separator: "\n"))
        }
        }
        """)
    ]
  }
}

/// A stored property of a composite.
private struct CompositePart {
  let identifier: String
  let type: String

  var name: String { identifier.filter { $0 != "`" } }

  /// The parts in a declaration of variables or constants.
  static func all(of declaration: VariableDeclSyntax, problems: inout [Diagnostic]) -> [CompositePart] {
    guard !declaration.modifiers.contains(where: { ["static", "class"].contains($0.name.text) }) else { return [] }
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
      parts.insert(CompositePart(identifier: pattern.identifier.text, type: type.trimmedDescription), at: 0)
    }
    return parts
  }
}
