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
      .flatMap { CompositePart.all(of: $0, in: structure.name.text, problems: &problems) }
    problems += conditionalParts(in: structure.memberBlock.members, of: structure.name.text)
    problems += handwrittenTables(in: structure)
    for problem in problems { context.diagnose(problem) }
    guard !parts.isEmpty || !problems.isEmpty else {
      throw Problem(
        "noParts", "A composite has at least one stored property; add the parts of '\(structure.name.text)'."
      ).error(at: structure.name)
    }
    let levels = Set(structure.modifiers.map(\.name.text))
    let access = ["public", "package"].first { levels.contains($0) }.map { "\($0) " } ?? ""
    let table = isGeneric(structure, in: context) ? "var table: Parts { Parts() }" : "let table = Parts()"
    return [
      try ExtensionDeclSyntax(
        """
        extension \(type.trimmed)\(raw: protocols.isEmpty ? "" : ": CoherenceCore.CompositeValue") {
        \(raw: access)struct Parts: CoherenceCore.CompositeParts {
        \(raw: (["\(access)static \(table)"] + parts.compactMap(\.key)).joined(separator: "\n"))
        }

        \(raw: access)static var compositeParts: [CoherenceCore.Attribute] {
        \(raw: parts.map(\.declaration).joined(separator: "\n+ "))
        }

        \(raw: access)init(reading parts: inout CoherenceCore.CompositeReader) {
        \(raw: parts.map(\.reading).joined(separator: "\n"))
        }

        \(raw: access)func write(to parts: inout CoherenceCore.CompositeWriter) {
        \(raw: parts.map { "parts.write(self.\($0.identifier))" }.joined(separator: "\n"))
        }
        }
        """)
    ]
  }

  /// Whether the structure or a type around it has generic parameters. Types within a generic type have no stored
  /// static variables.
  private static func isGeneric(_ structure: StructDeclSyntax, in context: some MacroExpansionContext) -> Bool {
    ([Syntax(structure)] + context.lexicalContext).contains {
      $0.asProtocol((any WithGenericParametersSyntax).self)?.genericParameterClause != nil
    }
  }

  /// The problems of stored properties inside of `#if`, which the macro does not see.
  private static func conditionalParts(
    in members: MemberBlockItemListSyntax, of structure: String
  ) -> [Diagnostic] {
    var found: [Diagnostic] = []
    for clause in members.compactMap({ $0.decl.as(IfConfigDeclSyntax.self) }).flatMap({ Array($0.clauses) }) {
      guard case .decls(let inner) = clause.elements else { continue }
      for variable in inner.compactMap({ $0.decl.as(VariableDeclSyntax.self) }) {
        var problems: [Diagnostic] = []
        let parts = CompositePart.all(of: variable, in: structure, problems: &problems)
        guard !parts.isEmpty || !problems.isEmpty else { continue }
        found.append(
          Problem(
            "conditional",
            "The macro does not see properties inside of '#if', and a model must not depend on the build; declare the "
              + "property outside."
          ).diagnostic(at: variable.bindings))
      }
      found += conditionalParts(in: inner, of: structure)
    }
    return found
  }

  /// The problem of a nested type with the name of the table that the macro writes.
  private static func handwrittenTables(in structure: StructDeclSyntax) -> [Diagnostic] {
    structure.memberBlock.members.compactMap { member in
      guard let type = member.decl.asProtocol((any NamedDeclSyntax).self), type.name.text == "Parts" else { return nil }
      return Problem(
        "handwritten", "'@Composite' writes 'Parts' for '\(structure.name.text)'; give this type another name."
      ).diagnostic(at: type.name)
    }
  }
}
