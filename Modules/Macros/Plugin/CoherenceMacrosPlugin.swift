import SwiftCompilerPlugin
import SwiftSyntaxMacros

/// What the compiler runs to expand the macros.
@main
struct CoherenceMacrosPlugin: CompilerPlugin {
  let providingMacros: [any Macro.Type] = [AggregateMacro.self, EntityWrapperMacro.self, NotNestedMacro.self]
}
