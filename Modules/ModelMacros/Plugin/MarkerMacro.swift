import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxMacros

/// An attribute of a variable that `@Entity` reads. The expansion is empty.
struct MarkerMacro: PeerMacro {
  static func expansion(
    of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
    in context: some MacroExpansionContext
  ) throws -> [DeclSyntax] {
    guard declaration.is(VariableDeclSyntax.self) else {
      throw Problem("noVariable", "'\(node.trimmedName)' is for variables.").error(at: node)
    }
    let type = context.lexicalContext.first
    guard type?.asProtocol((any WithAttributesSyntax).self)?.isEntity != true else { return [] }
    throw Problem(
      "outsideOfEntity", "'\(node.trimmedName)' is for variables of a class with '@Entity', which reads the attribute."
    ).error(at: node)
  }
}

/// A list of properties in the body of a class, which `@Entity` reads. The expansion is empty.
struct ListMacro: DeclarationMacro {
  static func expansion(
    of node: some FreestandingMacroExpansionSyntax, in context: some MacroExpansionContext
  ) throws -> [DeclSyntax] {
    let name = node.macroName.text
    guard let type = context.lexicalContext.first?.as(ClassDeclSyntax.self), type.isEntity else {
      throw Problem("listOutsideOfEntity", "'#\(name)' stands in the body of a class with '@Entity', which reads it.")
        .error(at: node)
    }
    if let argument = node.genericArgumentClause?.arguments.first?.argument.trimmedDescription,
      argument != type.name.text, argument != "Self"
    {
      throw Problem("listOfOtherClass", "'#\(name)' lists properties of '\(type.name.text)', the class around it.")
        .error(at: node)
    }
    return []
  }
}

extension WithAttributesSyntax {
  /// Whether the type is declared with `@Entity` or `@Subentity`.
  var isEntity: Bool { marker("Entity") != nil || marker("Subentity") != nil }
}
