import SwiftDiagnostics
import SwiftSyntax

/// A class with the macro `@Entity` or `@Subentity`.
struct EntityClass {
  let declaration: ClassDeclSyntax
  let marker: AttributeSyntax
  /// The properties that the model stores, in order of declaration.
  let properties: [StoredProperty]
  /// The problems of the variables that the macro found while it read them.
  let propertyProblems: [Diagnostic]

  init(_ declaration: ClassDeclSyntax, marker: AttributeSyntax) {
    self.declaration = declaration
    self.marker = marker
    var problems: [Diagnostic] = []
    properties = declaration.memberBlock.members.compactMap { member in
      member.decl.as(VariableDeclSyntax.self).flatMap { StoredProperty($0, problems: &problems) }
    }
    propertyProblems = problems
  }

  var name: String { declaration.name.text }

  /// The properties without a problem. The text of another one would only add errors to its diagnostic.
  var soundProperties: [StoredProperty] { properties.filter { PropertyChecks($0).problems.isEmpty } }

  /// Whether a property of a subentity has the name of the inherited values in its snapshot.
  func hidesInherited(_ property: StoredProperty) -> Bool { parent != nil && property.name == "inherited" }

  /// The superclass of a class with `@Subentity`; `nil` for a class with `@Entity`, and without a superclass.
  /// Distinguishes the two macros before ``EntityChecks`` compares the macro with the superclass.
  var parent: String? {
    marker.attributeName.nominal?.name == "Subentity" ? superclass?.trimmedDescription : nil
  }

  /// The first inherited type, unless it is a protocol of the standard library.
  var superclass: TypeSyntax? {
    guard let type = declaration.inheritanceClause?.inheritedTypes.first?.type.trimmed,
      let name = type.nominal?.name, !Self.protocols.contains(name)
    else { return nil }
    return type
  }

  /// Protocols that stand in the place of the superclass if a class has none.
  private static let protocols: Set<String> = [
    "Codable", "Encodable", "Decodable", "Sendable", "Equatable", "Hashable", "Identifiable", "Comparable",
    "CustomStringConvertible", "Observable", "ObservableObject", "AnyObject", "DeclaredEntity",
  ]

  var isOpen: Bool { declaration.modifiers.contains { $0.name.text == "open" } }

  var isFinal: Bool { declaration.modifiers.contains { $0.name.text == "final" } }

  /// The access modifier of members with the visibility of the class, with a trailing space.
  var access: String {
    let levels = Set(declaration.modifiers.map(\.name.text))
    return ["public", "open", "package"].first { levels.contains($0) }.map { $0 == "open" ? "public " : "\($0) " } ?? ""
  }

  /// The access modifier of members that subclasses override, also in other modules, with a trailing space.
  var overridable: String { isOpen ? "open " : access }

  /// The modifiers of a type property that subclasses override.
  var typeMember: String {
    let access = overridable
    if parent != nil { return "\(access)override class var" }
    return isFinal ? "\(access)static var" : "\(access)class var"
  }

  /// The unlabelled first argument of the macro, as a literal; otherwise the name of the class.
  var entityName: String {
    guard let argument = marker.argumentList.first, argument.label == nil else { return "\"\(plainName)\"" }
    return argument.expression.is(NilLiteralExprSyntax.self)
      ? "\"\(plainName)\"" : argument.expression.trimmedDescription
  }

  private var plainName: String { name.filter { $0 != "`" } }

  /// The calls of `#Index` or `#Unique` in the class, in order of declaration.
  func lists(_ macro: String) -> [KeyPathList] {
    declaration.memberBlock.members.flatMap { member -> [KeyPathList] in
      guard let call = member.decl.as(MacroExpansionDeclSyntax.self), call.macroName.text == macro else { return [] }
      return call.arguments.map { KeyPathList($0.expression, of: macro) }
    }
  }
}

/// An argument of `#Index` or `#Unique`: a list of key paths.
struct KeyPathList {
  let macro: String
  let node: ExprSyntax
  /// The names of the properties; `nil` for an element of another form than a key path of properties.
  let names: [(name: String?, node: ExprSyntax)]

  init(_ expression: ExprSyntax, of macro: String) {
    self.macro = macro
    node = expression
    names = expression.as(ArrayExprSyntax.self)?.elements.map { ($0.expression.propertyName, $0.expression) } ?? []
  }

  /// The list as text: `["artist", "title"]`.
  var text: String { "[\(names.compactMap { $0.name.map { "\"\($0)\"" } }.joined(separator: ", "))]" }
}

extension ExprSyntax {
  /// The names of the properties in a key path, separated by dots; `nil` for another expression.
  var propertyName: String? {
    guard let path = self.as(KeyPathExprSyntax.self) else { return nil }
    var names: [String] = []
    for component in path.components {
      switch component.component {
      case .property(let property): names.append(property.declName.baseName.text.filter { $0 != "`" })
      case .optional: continue
      default: return nil
      }
    }
    return names.isEmpty ? nil : names.joined(separator: ".")
  }
}
