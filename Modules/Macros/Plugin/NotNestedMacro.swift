import SwiftSyntax
import SwiftSyntaxMacros

/// A mark that the other macros look for. It makes nothing.
struct NotNestedMacro: PeerMacro {
  static func expansion(
    of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
    in context: some MacroExpansionContext
  ) throws -> [DeclSyntax] {
    []
  }
}

extension WithAttributesSyntax {
  /// Whether the declaration is not to be looked at.
  var isNotNested: Bool {
    attributes.contains { attribute in
      guard let name = attribute.as(AttributeSyntax.self)?.attributeName.trimmedDescription else { return false }
      return name == "NotNested" || name == "CoherenceMacros.NotNested"
    }
  }
}
