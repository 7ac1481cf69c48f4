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

extension WithAttributesSyntax {
  /// Whether the type is declared with `@Entity` or `@Subentity`.
  var isEntity: Bool { marker("Entity") != nil || marker("Subentity") != nil }
}
