import SwiftDiagnostics
import SwiftSyntax

/// The reason why a macro cannot be expanded.
enum MacroProblem: String, DiagnosticMessage {
  case aggregateIsNoStructure
  case enumIsNoAggregate
  case wrapperIsNoValue
  case listedByHand
  case conditionalProperty
  case severalNames
  case lazyProperty
  case casesOfOneName

  var message: String {
    switch self {
    case .aggregateIsNoStructure:
      "'@Aggregate' is for structures: the store keeps values, and an object could change behind its back."
    case .enumIsNoAggregate:
      "'@Aggregate' is for structures. Entities in the cases of an enum are found by '@EntityWrapper'."
    case .wrapperIsNoValue:
      "'@EntityWrapper' is for enums and structures: the store keeps values, and an object could change behind its back."
    case .listedByHand:
      "The places of entities are listed by hand here: take either the list away or the macro."
    case .conditionalProperty:
      "Properties inside of '#if' are not seen by the macro. Mark this one with '@NotNested', or list the places by hand."
    case .severalNames:
      "Variables that are declared as a tuple are not seen by the macro. Declare them one by one."
    case .lazyProperty:
      "Lazy variables are not seen by the macro. Mark this one with '@NotNested', or list the places by hand."
    case .casesOfOneName:
      "Patterns cannot tell cases of one name apart, so the macro cannot follow this one. Give it a name of its own."
    }
  }

  var diagnosticID: MessageID { MessageID(domain: "CoherenceMacros", id: rawValue) }

  var severity: DiagnosticSeverity { .error }

  /// The diagnostic of the problem at a syntax node.
  func diagnostic(at node: some SyntaxProtocol) -> Diagnostic {
    Diagnostic(node: node, message: self)
  }

  /// The problem at a syntax node, as an error that ends the expansion.
  func error(at node: some SyntaxProtocol) -> DiagnosticsError {
    DiagnosticsError(diagnostics: [diagnostic(at: node)])
  }
}
