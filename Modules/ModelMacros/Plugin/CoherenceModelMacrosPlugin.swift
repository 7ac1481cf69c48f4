import SwiftCompilerPlugin
import SwiftSyntaxMacros

/// The compiler plugin that expands the macros.
@main
struct CoherenceModelMacrosPlugin: CompilerPlugin {
  let providingMacros: [any Macro.Type] = [
    EntityMacro.self, StoredMacro.self, MarkerMacro.self, ListMacro.self, CompositeMacro.self,
  ]
}
