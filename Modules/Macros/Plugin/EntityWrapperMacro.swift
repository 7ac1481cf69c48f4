import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// Generates the list of key paths to the entities in the cases of an enum, or in a structure without an identity.
struct EntityWrapperMacro: ExtensionMacro {
  static func expansion(
    of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
    providingExtensionsOf type: some TypeSyntaxProtocol, conformingTo protocols: [TypeSyntax],
    in context: some MacroExpansionContext
  ) throws -> [ExtensionDeclSyntax] {
    guard declaration.is(EnumDeclSyntax.self) || declaration.is(StructDeclSyntax.self) else {
      throw MacroProblem.wrapperIsNoValue.error(at: node)
    }
    if let list = declaration.member(named: "wrappedEntitiesKeyPaths") {
      throw MacroProblem.listedByHand.error(at: list)
    }
    let (paths, declarations) =
      declaration.is(EnumDeclSyntax.self) ? cases(of: declaration, context) : variables(of: declaration, context)
    // The compiler asks for no conformance if the type declares it.
    let conformance = protocols.isEmpty ? "" : ": CoherenceIdentityMap.EntityWrapper"
    return [
      try ExtensionDeclSyntax(
        """
        extension \(type.trimmed)\(raw: conformance) {
          \(raw: ([list(of: paths, access: declaration.memberAccess)] + declarations).joined(separator: "\n\n"))
        }
        """)
    ]
  }

  /// The function that lists the key paths, relative to the property with the wrapper.
  private static func list(of paths: [String], access: String) -> String {
    let found = paths.map { "CoherenceMacros.NestedPlaces<Root>.at(parent.appending(\\.\($0)))" }
    return """
      \(access)nonisolated func wrappedEntitiesKeyPaths<Root>(
      relativeTo parent: WritableKeyPath<Root, Self>
      ) -> [CoherenceIdentityMap.PartialIdentifiableKeyPath<Root>] {
      CoherenceMacros.NestedPlaces<Root>(
      \(found.joined(separator: ",\n"))
      ).keyPaths
      }
      """
  }

  /// The paths to the variables of a structure, and the compile-time checks of its properties.
  private static func variables(
    of declaration: some DeclGroupSyntax, _ context: some MacroExpansionContext
  ) -> (paths: [String], declarations: [String]) {
    let found = PropertyList(of: declaration.memberBlock.members)
    for (problem, node) in found.problems { context.diagnose(problem.diagnostic(at: node)) }
    return (found.variables.map(\.name), [declaration.checkFunction(for: found.properties)].compactMap { $0 })
  }

  /// The paths to the associated values of an enum, and the generated properties of these values.
  private static func cases(
    of declaration: some DeclGroupSyntax, _ context: some MacroExpansionContext
  ) -> (paths: [String], declarations: [String]) {
    let members = declaration.memberBlock.members
    reportConditionalCases(in: members, context)
    let cases = members.compactMap { $0.decl.as(EnumCaseDeclSyntax.self) }
    let counts = Dictionary(cases.flatMap(\.elements).map { ($0.name.text, 1) }, uniquingKeysWith: +)
    var values: [AssociatedValue] = []
    for element in cases.filter({ !$0.isNotNested }).flatMap(\.elements) {
      let found = AssociatedValue.all(of: element)
      if !found.isEmpty, counts[element.name.text] != 1 {
        context.diagnose(MacroProblem.casesOfOneName.diagnostic(at: element))
      } else {
        values += found
      }
    }
    return (values.map(\.property), values.map(\.declaration))
  }

  /// Diagnoses each declaration of cases inside of `#if` whose values may contain entities, because the macro cannot
  /// know which clause is compiled.
  private static func reportConditionalCases(
    in members: MemberBlockItemListSyntax, _ context: some MacroExpansionContext
  ) {
    for clause in members.compactMap({ $0.decl.as(IfConfigDeclSyntax.self) }).flatMap({ Array($0.clauses) }) {
      guard case .decls(let inner) = clause.elements else { continue }
      for declaration in inner.compactMap({ $0.decl.as(EnumCaseDeclSyntax.self) }) where !declaration.isNotNested {
        guard declaration.elements.contains(where: { !AssociatedValue.all(of: $0).isEmpty }) else { continue }
        context.diagnose(MacroProblem.conditionalCase.diagnostic(at: declaration))
      }
      reportConditionalCases(in: inner, context)
    }
  }
}
