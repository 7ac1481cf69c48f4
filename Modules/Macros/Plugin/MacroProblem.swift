import SwiftDiagnostics
import SwiftSyntax

/// The reason why a declaration does not fit a macro.
enum MacroProblem: String, DiagnosticMessage {
  case aggregateIsNoStructure
  case enumIsNoAggregate
  case wrapperIsNoValue
  case listedByHand
  case conditionalProperty
  case severalNames
  case lazyProperty
  case casesOfOneName
  case conditionalCase

  var message: String {
    switch self {
    case .aggregateIsNoStructure:
      "'@Aggregate' is for structures: the store would not notice the change of an object."
    case .enumIsNoAggregate:
      "'@Aggregate' is for structures. Entities in the cases of an enum are found by '@EntityWrapper'."
    case .wrapperIsNoValue:
      "'@EntityWrapper' is for enums and structures: the store would not notice the change of an object."
    case .listedByHand:
      "The key paths of the entities are listed in this member; remove the member or the macro."
    case .conditionalProperty:
      "The macro does not see properties inside '#if'. Mark this one with '@NotNested', or list the key paths by hand."
    case .severalNames:
      "The macro does not see variables that are declared as a tuple. Declare them one by one."
    case .lazyProperty:
      "The macro does not see lazy variables. Mark this one with '@NotNested', or list the key paths by hand."
    case .casesOfOneName:
      "Patterns cannot distinguish cases with one name. Give this case a name of its own."
    case .conditionalCase:
      "The macro does not see cases inside '#if'. Mark this one with '@NotNested', or list the key paths by hand."
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
