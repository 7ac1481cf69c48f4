import SwiftCompilerPlugin
import SwiftSyntaxMacros

/// The compiler plugin that expands the macros.
@main
struct CoherenceMacrosPlugin: CompilerPlugin {
  let providingMacros: [any Macro.Type] = [AggregateMacro.self, EntityWrapperMacro.self, NotNestedMacro.self]
}
