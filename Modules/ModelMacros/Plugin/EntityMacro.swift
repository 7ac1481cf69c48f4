import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// The macros `@Entity` and `@Subentity`, which make a class an entity: write the property table, the declaration of the
/// entity and the names.
///
/// The compiler calls each of the three expansions by itself. Only the member expansion reports the problems of a class,
/// so that each problem is reported once.
struct EntityMacro {
  /// The class with the macro; `nil` for a declaration whose problems the member expansion reports, and which gets no
  /// attributes and no conformance.
  private static func entityClass(
    _ declaration: some DeclGroupSyntax, _ node: AttributeSyntax
  ) -> EntityClass? {
    guard let declaration = declaration.as(ClassDeclSyntax.self) else { return nil }
    let entity = EntityClass(declaration, marker: node)
    return EntityChecks(entity).classProblems.isEmpty ? entity : nil
  }
}

extension EntityMacro: MemberMacro {
  static func expansion(
    of node: AttributeSyntax, providingMembersOf declaration: some DeclGroupSyntax,
    conformingTo protocols: [TypeSyntax],
    in context: some MacroExpansionContext
  ) throws -> [DeclSyntax] {
    guard let type = declaration.as(ClassDeclSyntax.self) else {
      throw DiagnosticsError(diagnostics: [EntityChecks.noClass(declaration, node)])
    }
    let entity = EntityClass(type, marker: node)
    let checks = EntityChecks(entity)
    guard checks.classProblems.isEmpty else { throw DiagnosticsError(diagnostics: checks.classProblems) }
    let problems =
      checks.memberProblems + checks.declarationProblems + (context.lexicalContext.isEmpty ? [] : checks.nestedProblems)
    for problem in problems { context.diagnose(problem) }
    // The compiler leaves out the conformances that the class has already: a class whose superclass is a subentity
    // inherits this one.
    let superclassIsSubentity = entity.parent != nil && !protocols.contains { $0.nominal?.name == "DeclaredSubentity" }
    // A constant without a value, or a designated initialiser, has its own diagnostic. It also keeps the class from
    // inheriting the initialiser of the framework. The added initialiser prevents a second error about that.
    let initializer = entity.hidesInitializer ? [EntityText.initializer] : []
    return (EntityText(entity, superclassIsSubentity: superclassIsSubentity).members + initializer).map {
      DeclSyntax(stringLiteral: $0)
    }
  }
}

extension EntityMacro: MemberAttributeMacro {
  static func expansion(
    of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
    providingAttributesFor member: some DeclSyntaxProtocol, in context: some MacroExpansionContext
  ) throws -> [AttributeSyntax] {
    guard entityClass(declaration, node) != nil, let variable = member.as(VariableDeclSyntax.self),
      StoredProperty(variable) != nil
    else { return [] }
    return ["@CoherenceModelMacros._Stored"]
  }
}

extension EntityMacro: ExtensionMacro {
  static func expansion(
    of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
    providingExtensionsOf type: some TypeSyntaxProtocol, conformingTo protocols: [TypeSyntax],
    in context: some MacroExpansionContext
  ) throws -> [ExtensionDeclSyntax] {
    guard let entity = entityClass(declaration, node) else { return [] }
    // A class whose superclass is a subentity inherits all of its conformances.
    let conformances = entity.parent == nil ? ["DeclaredEntity", "SnapshotProviding"] : ["DeclaredSubentity"]
    let added = conformances.filter { name in protocols.contains { $0.nominal?.name == name } }
    guard !added.isEmpty else { return [] }
    // Without `nonisolated`, the conformance would be isolated to the main actor in a module with this default
    // isolation. A class with a global actor is an error with its own diagnostic; its conformance names the actor, so
    // that the compiler adds no further error.
    let isolation = entity.declaration.actor.map(\.trimmedDescription) ?? "nonisolated"
    let list = added.map { "\(isolation) CoherenceCore.\($0)" }.joined(separator: ", ")
    return [try ExtensionDeclSyntax("extension \(type.trimmed): \(raw: list) {}")]
  }
}

/// The macro `@_Stored`, which writes the accessors of a stored property, and reports the problems of the property.
/// `@Entity` and `@Subentity` add the attribute to each stored property.
struct StoredMacro: AccessorMacro {
  static func expansion(
    of node: AttributeSyntax, providingAccessorsOf declaration: some DeclSyntaxProtocol,
    in context: some MacroExpansionContext
  ) throws -> [AccessorDeclSyntax] {
    guard let property = declaration.as(VariableDeclSyntax.self).flatMap({ StoredProperty($0) }) else { return [] }
    let problems = PropertyChecks(property).problems
    // An expansion that fails leaves the property without accessors, and the compiler adds no error of its own.
    guard problems.isEmpty else { throw DiagnosticsError(diagnostics: problems) }
    let access = "self[Properties.table.\(property.identifier)]"
    let getter: AccessorDeclSyntax = "get { \(raw: access) }"
    return property.isReadOnly ? [getter] : [getter, "set { \(raw: access) = newValue }"]
  }
}
