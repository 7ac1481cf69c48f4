import SwiftDiagnostics
import SwiftParser
import SwiftSyntax
import SwiftSyntaxBuilder

/// The checks of a class with the macro `@Entity` or `@Subentity`.
struct EntityChecks {
  let entity: EntityClass

  init(_ entity: EntityClass) { self.entity = entity }

  // MARK: - The class

  /// The problem of a structure, an enumeration, an actor or an extension with the macro.
  static func noClass(_ declaration: some DeclGroupSyntax, _ node: AttributeSyntax) -> Diagnostic {
    guard let structure = declaration.as(StructDeclSyntax.self) else {
      return Problem(
        "noClass", "'\(node.trimmedName)' is for classes, because each record has one object in a context."
      )
      .diagnostic(at: node)
    }
    let fix = FixIt(
      message: Correction(message: "replace 'struct' by 'final class'"),
      changes: [
        .replace(
          oldNode: Syntax(structure.structKeyword),
          newNode: Syntax(structure.structKeyword.with(\.tokenKind, .identifier("final class"))))
      ])
    return Problem(
      "noClass",
      "'\(node.trimmedName)' is for classes, because each record has one object in a context; the snapshot of an "
        + "object is a structure with its values, and '@Composite' declares the structure of a composite attribute."
    ).diagnostic(at: node, fixes: [fix])
  }

  /// The types that the macro writes within the class, where they hide a class of that name.
  private static let nestedTypes: Set<String> = ["Object", "Properties", "Snapshot"]

  /// The problems that leave the macro without an expansion.
  var classProblems: [Diagnostic] {
    if Self.nestedTypes.contains(entity.name) {
      return [
        Problem(
          "className",
          "The macro writes a type '\(entity.name)' within the class, which hides the class; choose another name for the "
            + "class, and keep the name of the entity by '\(entity.marker.trimmedName)(\"\(entity.name)\")'."
        ).diagnostic(at: entity.declaration.name)
      ]
    }
    if let parameters = entity.declaration.genericParameterClause {
      return [
        Problem("generic", "A generic class cannot be an entity, because each entity has one class and one table.")
          .diagnostic(at: parameters)
      ]
    }
    if let superclass = entity.superclass {
      let isRoot = superclass.nominal?.name == "ManagedObject"
      guard isRoot != (entity.parent == nil) else { return [] }
      let right = isRoot ? "Entity" : "Subentity"
      let name = entity.marker.attributeName
      let text: TypeSyntax = "\(raw: right)"
      return [
        Problem(
          "kindOfEntity",
          isRoot
            ? "'\(entity.name)' inherits from no other entity; declare it with '@Entity'."
            : "'\(entity.name)' inherits from '\(superclass)'; '@Subentity' declares the subclasses of entities."
        ).diagnostic(
          at: name,
          fixes: [
            .replacing(name, by: text.with(\.trailingTrivia, name.trailingTrivia), "replace the macro by '@\(right)'")
          ])
      ]
    }
    return [
      Problem(
        "noSuperclass", "The class '\(entity.name)' of an entity inherits from 'ManagedObject' or from another entity."
      ).diagnostic(at: entity.declaration.name, fixes: [inheritance])
    ]
  }

  /// The problem of a private class within another type.
  var nestedProblems: [Diagnostic] {
    guard let modifier = entity.declaration.modifiers.first(where: { $0.name.text == "private" }) else { return [] }
    let level = modifier.name.with(\.tokenKind, .keyword(.fileprivate))
    return [
      Problem(
        "nestedPrivate",
        "The extension that the macro writes stands outside of the type around '\(entity.name)', where a private class "
          + "is not visible; make the class 'fileprivate'."
      ).diagnostic(
        at: modifier, fixes: [.replacing(modifier.name, by: level, "replace 'private' by 'fileprivate'")])
    ]
  }

  /// The correction that adds the superclass `ManagedObject`.
  private var inheritance: FixIt {
    let old = entity.declaration
    var new = old
    let superclass: TypeSyntax = "ManagedObject"
    if let clause = old.inheritanceClause {
      let first = InheritedTypeSyntax(
        type: superclass, trailingComma: .commaToken(trailingTrivia: .space))
      new.inheritanceClause?.inheritedTypes = InheritedTypeListSyntax([first] + Array(clause.inheritedTypes))
    } else {
      let trivia = old.name.trailingTrivia
      new.name = old.name.with(\.trailingTrivia, [])
      new.inheritanceClause = InheritanceClauseSyntax(
        colon: .colonToken(trailingTrivia: .space),
        inheritedTypes: [
          InheritedTypeSyntax(type: superclass, trailingTrivia: trivia.isEmpty ? .space : trivia)
        ])
    }
    return .replacing(old, by: new, "inherit from 'ManagedObject'")
  }

  // MARK: - The members

  /// The problems despite which the macro writes an expansion, without the faulty parts. Among them are the problems of
  /// variables that cannot be stored. The macro of the accessors reports the problems of a stored property's type,
  /// value and arguments.
  var memberProblems: [Diagnostic] {
    entity.propertyProblems + argumentProblems + conditionalProblems
      + inverseProblems
      + (entity.lists("Index") + entity.lists("Unique")).flatMap(listProblems)
      + handwrittenProblems + entity.properties.filter(entity.hidesInherited).map(hidingProblem)
  }

  /// The problem of a property named `inherited`: the snapshot of a subentity has the superclass's values under this
  /// name.
  private func hidingProblem(of property: StoredProperty) -> Diagnostic {
    Problem(
      "reservedName",
      "'\(property.name)' is a member of every snapshot of a subentity; choose another name for the property, and keep "
        + "the stored values with 'formerNames' if the model had the property before."
    ).diagnostic(at: property.declaration.bindings)
  }

  /// Arguments whose values the macro has to read.
  private var argumentProblems: [Diagnostic] {
    var problems: [Diagnostic] = []
    if let name = entity.marker.argumentList.first, name.label == nil, !name.expression.is(NilLiteralExprSyntax.self) {
      let text = name.expression.as(StringLiteralExprSyntax.self)?.representedLiteralValue
      if text == nil || text == "" {
        problems.append(
          Problem("entityName", "The name of the entity is a literal text with at least one character.")
            .diagnostic(at: name.expression))
      }
    }
    if let abstract = entity.marker.argument("abstract"), !abstract.is(BooleanLiteralExprSyntax.self) {
      problems.append(
        Problem("abstract", "The argument 'abstract' is 'true' or 'false', because the class is one or the other.")
          .diagnostic(at: entity.marker))
    }
    return problems
  }

  /// The problems of properties and lists inside of `#if`, which the macro does not see.
  private var conditionalProblems: [Diagnostic] {
    entity.declaration.memberBlock.members.compactMap { $0.decl.as(IfConfigDeclSyntax.self) }.flatMap(conditional)
  }

  private func conditional(_ block: IfConfigDeclSyntax) -> [Diagnostic] {
    block.clauses.flatMap { clause -> [Diagnostic] in
      guard case .decls(let members) = clause.elements else { return [] }
      return members.flatMap { member -> [Diagnostic] in
        if let inner = member.decl.as(IfConfigDeclSyntax.self) { return conditional(inner) }
        if let list = member.decl.as(MacroExpansionDeclSyntax.self), ["Index", "Unique"].contains(list.macroName.text) {
          return [
            Problem(
              "conditional",
              "The macro does not see '#\(list.macroName.text)' inside of '#if', and a model must not depend on the "
                + "build; write the list outside."
            ).diagnostic(at: list.macroName)
          ]
        }
        guard let variable = member.decl.as(VariableDeclSyntax.self), let property = StoredProperty(variable) else {
          return []
        }
        return [
          Problem(
            "conditional",
            "The macro does not see '\(property.name)' inside of '#if', and a model must not depend on the build; "
              + "declare the property outside, or mark it '@Transient'."
          ).diagnostic(at: variable.bindings)
        ]
      }
    }
  }

  /// Relationships of the class whose key paths name each other as the inverse.
  private var inverseProblems: [Diagnostic] {
    let named = entity.properties.compactMap { property -> (StoredProperty, String, ExprSyntax)? in
      guard let marker = property.declaration.marker("Relationship"), let inverse = marker.argument("inverse"),
        let path = inverse.as(KeyPathExprSyntax.self), let name = inverse.propertyName,
        path.root?.trimmedDescription == entity.name
      else { return nil }
      let node = marker.argumentList.first { $0.label?.text == "inverse" }?.expression ?? inverse
      return (property, name, node)
    }
    var problems: [Diagnostic] = []
    for (index, (property, inverse, node)) in named.enumerated() {
      let isMutual = named[..<index].contains { $0.0.name == inverse && $0.1 == property.name }
      guard isMutual || inverse == property.name else { continue }
      problems.append(
        Problem(
          "mutualInverse",
          inverse == property.name
            ? "A relationship that is its own inverse names itself by text, because the compiler reports a key path "
              + "to itself as a circular reference."
            : "One of two inverse relationships names the other one; with key paths on both sides the compiler reports "
              + "a circular reference. Remove the argument here: the model finds the inverse of '\(property.name)'."
        ).diagnostic(
          at: node, fixes: inverse == property.name ? [selfInverse(node, inverse)] : [withoutInverse(of: property)]))
    }
    return problems
  }

  private func selfInverse(_ node: ExprSyntax, _ name: String) -> FixIt {
    .replacing(
      node, by: ExprSyntax(StringLiteralExprSyntax(content: name)).with(\.trailingTrivia, node.trailingTrivia),
      "name the inverse by text")
  }

  private func withoutInverse(of property: StoredProperty) -> FixIt {
    let marker = property.declaration.marker("Relationship")!
    return .replacing(marker, by: marker.without("inverse"), "remove the argument 'inverse'")
  }

  /// Elements of a list that name no property of the class.
  private func listProblems(_ list: KeyPathList) -> [Diagnostic] {
    guard list.node.is(ArrayExprSyntax.self), !list.names.isEmpty else {
      return [
        Problem("list", "'#\(list.macro)' takes lists of key paths: '#\(list.macro)<\(entity.name)>([\\.name])'.")
          .diagnostic(at: list.node)
      ]
    }
    let propertyNames = Set(entity.properties.map(\.name))
    var seen: Set<String> = []
    return list.names.compactMap { name, node in
      guard let name else {
        return Problem("listElement", "'#\(list.macro)' takes key paths of stored properties.").diagnostic(at: node)
      }
      if !seen.insert(name).inserted {
        return Problem("listedTwice", "'\(name)' is twice in the same list; remove one of them.").diagnostic(at: node)
      }
      let first = name.split(separator: ".").first.map(String.init) ?? name
      guard entity.parent == nil, !propertyNames.contains(first) else { return nil }
      return Problem(
        "unknownProperty", "'\(entity.name)' stores no property '\(first)' that '#\(list.macro)' could list."
      ).diagnostic(at: node)
    }
  }

  /// Members of the source that the macro writes too.
  private var handwrittenProblems: [Diagnostic] {
    let written: Set = ["Properties", "entityName", "entityDeclaration", "propertyNames"]
    let hasDefaults = entity.properties.contains { $0.objectDefault != nil }
    return entity.declaration.memberBlock.members.compactMap { member in
      let name: TokenSyntax? =
        if let type = member.decl.as(StructDeclSyntax.self) {
          type.name
        } else if let function = member.decl.as(FunctionDeclSyntax.self) {
          hasDefaults && function.name.text == "initializeDefaults" ? function.name : nil
        } else {
          member.decl.as(VariableDeclSyntax.self)?.bindings.first?.pattern.as(IdentifierPatternSyntax.self)?.identifier
        }
      guard let name, written.contains(name.text) || name.text == "initializeDefaults" else { return nil }
      // A stored variable of that name is a clash of names already.
      if let variable = member.decl.as(VariableDeclSyntax.self), StoredProperty(variable) != nil { return nil }
      return Problem(
        "handwritten",
        "'\(entity.marker.trimmedName)' writes '\(name.text)' for '\(entity.name)'; remove this declaration, or the "
          + "macro."
      ).diagnostic(at: name)
    }
  }
}
