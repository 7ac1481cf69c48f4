import SwiftSyntax
import SwiftSyntaxMacros

/// A marker for the other macros. It generates no code.
struct NotNestedMacro: PeerMacro {
  static func expansion(
    of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
    in context: some MacroExpansionContext
  ) throws -> [DeclSyntax] {
    []
  }
}

extension WithAttributesSyntax {
  /// Whether the declaration is marked with `@NotNested`.
  var isNotNested: Bool {
    attributes.contains { attribute in
      guard let name = attribute.as(AttributeSyntax.self)?.attributeName.trimmedDescription else { return false }
      return name == "NotNested" || name == "CoherenceMacros.NotNested"
    }
  }
}
