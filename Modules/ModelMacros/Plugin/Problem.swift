import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxBuilder

/// The reason why a declaration does not fit a macro.
struct Problem: DiagnosticMessage {
  let name: String
  let message: String

  /// - Parameter name: The stable name of the kind of problem.
  init(_ name: String, _ message: String) {
    self.name = name
    self.message = message
  }

  var diagnosticID: MessageID { MessageID(domain: "CoherenceModelMacros", id: name) }

  var severity: DiagnosticSeverity { .error }

  /// The diagnostic of the problem at a syntax node.
  func diagnostic(at node: some SyntaxProtocol, fixes: [FixIt] = []) -> Diagnostic {
    Diagnostic(node: node, message: self, fixIts: fixes)
  }

  /// The problem at a syntax node, as an error that ends the expansion.
  func error(at node: some SyntaxProtocol, fixes: [FixIt] = []) -> DiagnosticsError {
    DiagnosticsError(diagnostics: [diagnostic(at: node, fixes: fixes)])
  }
}

/// The text of a correction that the compiler proposes.
struct Correction: FixItMessage {
  let message: String

  var fixItID: MessageID { MessageID(domain: "CoherenceModelMacros", id: message) }
}

extension FixIt {
  /// Replaces a node by another one.
  static func replacing(
    _ node: some SyntaxProtocol, by replacement: some SyntaxProtocol, _ message: String
  ) -> FixIt {
    FixIt(
      message: Correction(message: message),
      changes: [.replace(oldNode: Syntax(node), newNode: Syntax(replacement))])
  }
}

extension FixIt {
  /// Removes an attribute from a declaration.
  static func removing(_ attribute: AttributeSyntax, from declaration: VariableDeclSyntax) -> FixIt {
    let others = declaration.attributes.filter { $0.id != attribute.id }
    var changed = declaration
    changed.attributes = others
    // The comment of the declaration and its line break stand before the first attribute, which may be the removed one.
    changed.leadingTrivia = declaration.leadingTrivia
    return .replacing(declaration, by: changed, "remove '\(attribute.trimmedName)'")
  }
}

extension AttributeSyntax {
  /// The attribute without its arguments, as messages show it.
  var trimmedName: String { "@\(attributeName.trimmedDescription)" }
}
