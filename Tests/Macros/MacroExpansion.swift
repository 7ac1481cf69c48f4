@testable import CoherenceMacrosPlugin
import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacroExpansion
import SwiftSyntaxMacros
import SwiftSyntaxMacrosGenericTestSupport
import Testing

/// Expands the macros in a source, and compares the result and the diagnostics with the expected ones.
func expectExpansion(
  of source: String, _ expansion: String, complaints: [DiagnosticSpec] = [],
  sourceLocation: Testing.SourceLocation = #_sourceLocation
) {
  assertMacroExpansion(
    source, expandedSource: expansion, diagnostics: complaints,
    macroSpecs: [
      "Aggregate": MacroSpec(type: AggregateMacro.self, conformances: ["Aggregate"]),
      "EntityWrapper": MacroSpec(type: EntityWrapperMacro.self, conformances: ["EntityWrapper"]),
      "NotNested": MacroSpec(type: NotNestedMacro.self),
    ], indentationWidth: .spaces(2)
  ) { failure in
    Issue.record("\(failure.message)", sourceLocation: sourceLocation)
  }
}
