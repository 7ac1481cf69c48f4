import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// Generates the list of key paths to the entities of a structure.
struct AggregateMacro: ExtensionMacro {
  static func expansion(
    of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
    providingExtensionsOf type: some TypeSyntaxProtocol, conformingTo protocols: [TypeSyntax],
    in context: some MacroExpansionContext
  ) throws -> [ExtensionDeclSyntax] {
    guard let structure = declaration.as(StructDeclSyntax.self) else {
      throw (declaration.is(EnumDeclSyntax.self) ? MacroProblem.enumIsNoAggregate : .aggregateIsNoStructure).error(
        at: node)
    }
    if let list = structure.member(named: "nestedEntitiesKeyPaths") { throw MacroProblem.listedByHand.error(at: list) }
    let found = PropertyList(of: structure.memberBlock.members)
    for (problem, node) in found.problems { context.diagnose(problem.diagnostic(at: node)) }
    // The compiler asks for no conformance if the type declares it.
    let conformance = protocols.isEmpty ? "" : ": CoherenceIdentityMap.Aggregate"
    return [
      try ExtensionDeclSyntax(
        """
        extension \(type.trimmed)\(raw: conformance) {
          \(raw: members(found, of: structure))
        }
        """)
    ]
  }

  /// The text of the extension's members: the key paths, and the function that checks the properties.
  private static func members(_ found: PropertyList, of structure: StructDeclSyntax) -> String {
    let paths = found.variables.map { "CoherenceMacros.NestedPlaces<Self>.at(\\.\($0.name))" }.joined(separator: ",\n")
    let made = "CoherenceMacros.NestedPlaces<Self>(\n\(paths)\n)"
    let access = structure.memberAccess
    let list =
      "\(access)nonisolated var nestedEntitiesKeyPaths: [CoherenceIdentityMap.PartialIdentifiableKeyPath<Self>]"
    // Generic types have no static stored properties.
    let parts =
      structure.genericParameterClause == nil
      ? ["private nonisolated static let nestedPlaces = \(made)", "\(list) {\nSelf.nestedPlaces.keyPaths\n}"]
      : ["\(list) {\n\(made).keyPaths\n}"]
    return (parts + [structure.checkFunction(for: found.properties)].compactMap { $0 }).joined(separator: "\n\n")
  }
}
