import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxBuilder

/// The checks of a stored property: its name, its type and the arguments of its attribute.
struct PropertyChecks {
  private let property: StoredProperty
  private let options: AttributeOptions
  private let relationship: AttributeSyntax?

  init(_ property: StoredProperty) {
    self.property = property
    options = property.options
    relationship = property.declaration.marker("Relationship")
  }

  private var binding: PatternBindingSyntax { property.declaration.bindings.first! }

  /// The node of diagnostics of the type: the annotation, or the name of a property without one.
  private var typeNode: Syntax { binding.typeAnnotation.map { Syntax($0.type) } ?? Syntax(binding.pattern) }

  var problems: [Diagnostic] {
    var problems = nameProblems
    if property.shape.isImplicitlyUnwrapped { problems.append(implicitlyUnwrapped) }
    switch property.kind {
    case .toOne, .toMany, .orderedToMany: problems += relationshipProblems
    case .attribute, .codable, .composite: problems += typeProblems + optionProblems
    }
    return problems
  }

  // MARK: - Names and types

  /// The members of `ManagedObject`, the members that the macro writes, and the words with a meaning after a dot.
  private static let reserved: Set<String> = [
    "entity", "objectID", "managedObjectContext", "hasChanges", "hasPersistentChangedValues", "isInserted",
    "isUpdated", "isDeleted", "isFault", "isUnavailable", "version", "description", "hashValue", "Properties",
    "Snapshot", "snapshot", "entityName", "entityDeclaration", "propertyNames", "initializeDefaults", "self", "Type",
    "Protocol",
  ]

  private var nameProblems: [Diagnostic] {
    guard Self.reserved.contains(property.name) else { return [] }
    return [
      Problem(
        "reservedName",
        "'\(property.name)' is a member of every managed object; choose another name for the property, and keep the "
          + "stored values with 'formerNames' if the model had the property before."
      ).diagnostic(at: binding.pattern)
    ]
  }

  private var implicitlyUnwrapped: Diagnostic {
    Problem(
      "implicitlyUnwrapped", "The key of a property has no implicitly unwrapped type; make '\(property.name)' optional."
    ).diagnostic(at: typeNode, fixes: [replacingType(by: "\(property.shape.text)?", "replace '!' by '?'")])
  }

  /// The correction that replaces the type of the property, or adds a type that follows from the initial value so far.
  private func replacingType(by text: String, _ message: String) -> FixIt {
    .replacing(binding, by: retyped(as: text), message)
  }

  /// The name and the initial value of the property with another type.
  private func retyped(as text: String) -> PatternBindingSyntax {
    var changed = binding
    var type = TypeSyntax(stringLiteral: text)
    if let annotation = binding.typeAnnotation {
      type.leadingTrivia = annotation.type.leadingTrivia
      type.trailingTrivia = annotation.type.trailingTrivia
      changed.typeAnnotation = annotation.with(\.type, type)
    } else {
      type.trailingTrivia = binding.pattern.trailingTrivia
      changed.pattern.trailingTrivia = []
      changed.typeAnnotation = TypeAnnotationSyntax(colon: .colonToken(trailingTrivia: .space), type: type)
    }
    return changed
  }

  private var typeProblems: [Diagnostic] {
    let shape = property.shape
    if shape.wrapped.is(TupleTypeSyntax.self) || shape.wrapped.is(FunctionTypeSyntax.self) {
      return [
        Problem(
          "type",
          "The model has no attributes of the type '\(property.type.trimmedDescription)'; declare a structure with "
            + "'@Composite' or a 'Codable' one, or mark '\(property.name)' '@Transient'."
        ).diagnostic(at: typeNode)
      ]
    }
    if let (collection, _) = shape.element, collection.hasSuffix("ToMany") {
      return [
        Problem(
          "optionalMembers",
          "A to-many relationship without members is empty, and never 'nil'; make '\(property.name)' a relationship "
            + "that is not optional."
        ).diagnostic(at: typeNode, fixes: [replacingType(by: shape.text, "remove the optional")])
      ]
    }
    if shape.isCollection, property.kind == .attribute, !options.contains("transformable") {
      return [
        Problem(
          "collection",
          "A list of values is stored as a 'Codable' value, and a list of objects as 'ToMany' or 'OrderedToMany'; mark "
            + "'\(property.name)' with '@Attribute(.codable)', or change the type."
        ).diagnostic(at: typeNode, fixes: [addingCodable] + listFixes)
      ]
    }
    if property.kind == .codable, !shape.isOptional, !shape.isCollection, property.modelDefault == nil {
      return [
        Problem(
          "codableDefault",
          "The accessor of '\(property.name)' needs a value while nothing is stored; give the property a default, or "
            + "make the type optional."
        ).diagnostic(at: typeNode, fixes: [replacingType(by: "\(shape.text)?", "make the type optional")])
      ]
    }
    return []
  }

  /// The correction that makes a collection of objects a to-many relationship.
  private var listFixes: [FixIt] {
    guard let (collection, element) = property.shape.element, !property.shape.isOptional else { return [] }
    let type = collection == "Set" ? "ToMany" : "OrderedToMany"
    let text = "\(type)<\(element.trimmedDescription)>"
    let message = "replace the type by '\(type)'"
    guard binding.initializer != nil else { return [replacingType(by: text, message)] }
    // A relationship has no default.
    var changed = retyped(as: text)
    changed.initializer = nil
    changed.trailingTrivia = binding.trailingTrivia
    return [.replacing(binding, by: changed, message)]
  }

  /// The correction that adds the option `.codable`.
  private var addingCodable: FixIt {
    var changed = property.declaration
    if let marker = changed.marker("Attribute") {
      let codable: ExprSyntax = ".codable"
      let first = LabeledExprSyntax(
        expression: codable, trailingComma: marker.argumentList.isEmpty ? nil : .commaToken(),
        trailingTrivia: marker.argumentList.isEmpty ? [] : .space)
      var new = marker
      new.leftParen = .leftParenToken()
      new.arguments = .argumentList(LabeledExprListSyntax([first] + Array(marker.argumentList)))
      new.rightParen = marker.rightParen ?? .rightParenToken(trailingTrivia: .space)
      new.attributeName.trailingTrivia = []
      return .replacing(marker, by: new, "store the value as a 'Codable' value")
    }
    let leading = changed.leadingTrivia
    changed.leadingTrivia = []
    var attribute: AttributeSyntax = "@Attribute(.codable) "
    attribute.leadingTrivia = leading
    changed.attributes = AttributeListSyntax([.attribute(attribute)] + Array(changed.attributes))
    return .replacing(property.declaration, by: changed, "store the value as a 'Codable' value")
  }

  // MARK: - Options of attributes

  private var optionProblems: [Diagnostic] {
    var problems = options.unreadable.map { node in
      Problem(
        "option", "The macro reads options from their text; write the option in place: '@Attribute(.unique)'."
      ).diagnostic(at: node)
    }
    var seen: Set<String> = []
    for option in options.options where !seen.insert(option.name).inserted {
      problems.append(
        Problem("repeatedOption", "The option '.\(option.name)' is given twice; remove one of them.")
          .diagnostic(at: option.node, fixes: removing([option.node])))
    }
    let kinds = options.options.filter { AttributeOptions.kinds.contains($0.name) }
    if let second = kinds.dropFirst().first(where: { $0.name != kinds[0].name }) {
      problems.append(conflict(kinds[0].name, second, "an attribute is stored in one way"))
    }
    if property.kind == .composite {
      for option in options.options where !["composite", "transformable"].contains(option.name) {
        problems.append(conflict("composite", option, "the parts of a composite are attributes of their own"))
      }
    }
    if let derived = options["derived"] {
      problems += derivedProblems(derived)
    }
    let bounds = [("length", "minimumLength"), ("length", "maximumLength")]
    for (first, second) in bounds where options.contains(first) {
      if let option = options[second] { problems.append(conflict(first, option, "both limit the length")) }
    }
    return problems
  }

  private func derivedProblems(_ derived: AttributeOptions.Option) -> [Diagnostic] {
    var problems = options.options.filter { AttributeOptions.kinds.contains($0.name) }.map {
      conflict("derived", $0, "the rule decides the type of a derived value")
    }
    if let types = Self.types(of: derived), !types.contains(property.shape.wrapped.trimmedDescription) {
      problems.append(
        Problem(
          "derivedType",
          "The rule of the derived attribute '\(property.name)' has values of type '\(types[0])'; declare the attribute as "
            + "'\(types[0])?'."
        ).diagnostic(at: typeNode, fixes: [replacingType(by: "\(types[0])?", "replace the type by '\(types[0])?'")]))
    }
    if let value = binding.initializer {
      problems.append(
        Problem("derivedDefault", "The derived attribute '\(property.name)' has no default; remove the value.")
          .diagnostic(at: value, fixes: [removingValue]))
    }
    return problems
  }

  /// The names of the Swift types that a rule's values can have; `nil` for a rule whose text does not say.
  private static func types(of derived: AttributeOptions.Option) -> [String]? {
    guard let call = derived.arguments.first?.as(FunctionCallExprSyntax.self),
      let rule = call.calledExpression.as(MemberAccessExprSyntax.self)?.declName.baseName.text
    else { return nil }
    return switch rule {
    case "count": ["Int", "Int64"]
    case "average": ["Double"]
    case "canonical", "lowercase", "uppercase": ["String"]
    default: nil
    }
  }

  private func conflict(_ first: String, _ second: AttributeOptions.Option, _ reason: String) -> Diagnostic {
    Problem(
      "optionConflict",
      "The options '.\(first)' and '.\(second.name)' contradict each other, because \(reason); remove one of them."
    ).diagnostic(at: second.node, fixes: removing([second.node]))
  }

  /// The correction that removes arguments of `@Attribute`.
  private func removing(_ nodes: [ExprSyntax]) -> [FixIt] {
    guard let marker = property.declaration.marker("Attribute") else { return [] }
    let changed = marker.without { argument in nodes.contains { $0.id == argument.expression.id } }
    return [.replacing(marker, by: changed, "remove the option")]
  }

  private var removingValue: FixIt {
    var changed = binding
    changed.initializer = nil
    changed.trailingTrivia = binding.trailingTrivia
    return .replacing(binding, by: changed, "remove the value")
  }

  // MARK: - Relationships

  private var relationshipProblems: [Diagnostic] {
    var problems: [Diagnostic] = []
    if let attribute = property.declaration.marker("Attribute"), relationship == nil {
      problems.append(
        Problem(
          "attributeOfMembers", "'\(property.name)' is a relationship by its type; '@Attribute' is for values."
        ).diagnostic(at: attribute, fixes: [.removing(attribute, from: property.declaration)]))
    }
    if let value = binding.initializer {
      problems.append(
        Problem("relationshipValue", "The relationship '\(property.name)' has no default; remove the value.")
          .diagnostic(at: value, fixes: [removingValue]))
    }
    if property.kind == .toOne {
      problems += toOneProblems
    } else {
      problems += toManyProblems
    }
    return problems
  }

  private var toManyProblems: [Diagnostic] {
    guard let relationship, let required = relationship.argumentList.first(where: { $0.label?.text == "required" })
    else { return [] }
    return [
      Problem(
        "requiredMembers",
        "'required' is for to-one relationships; 'minimumCount: 1' demands a member of '\(property.name)'."
      ).diagnostic(
        at: required,
        fixes: [.replacing(relationship, by: relationship.without("required"), "remove the argument 'required'")])
    ]
  }

  private var toOneProblems: [Diagnostic] {
    let shape = property.shape
    if shape.isCollection {
      return [
        Problem(
          "relationshipType",
          "The members of a to-many relationship have the type 'ToMany', or 'OrderedToMany' with an order."
        ).diagnostic(at: typeNode, fixes: listFixes)
      ]
    }
    var problems = shape.isOptional ? [] : [notOptional]
    for label in ["minimumCount", "maximumCount"] {
      guard let relationship, let argument = relationship.argumentList.first(where: { $0.label?.text == label }) else {
        continue
      }
      problems.append(
        Problem(
          "countOfOne",
          "'\(label)' is for to-many relationships; '\(property.name)' leads to one object, and 'required: true' "
            + "demands it."
        ).diagnostic(
          at: argument,
          fixes: [.replacing(relationship, by: relationship.without(label), "remove the argument '\(label)'")]))
    }
    return problems
  }

  private var notOptional: Diagnostic {
    let text = property.shape.text
    var fixes = [replacingType(by: "\(text)?", "make the type optional")]
    if let relationship, relationship.argument("required") == nil {
      var changed = property.declaration
      changed.attributes = AttributeListSyntax(
        changed.attributes.map { element in
          element.as(AttributeSyntax.self)?.id == relationship.id
            ? .attribute(relationship.adding("required: true")) : element
        })
      changed.bindings = PatternBindingListSyntax([retyped(as: "\(text)?")])
      fixes.append(
        .replacing(property.declaration, by: changed, "make the type optional, and the relationship required"))
    }
    return Problem(
      "notOptional",
      "The to-one relationship '\(property.name)' is optional in Swift, because a new object has no target yet, and a "
        + "target may be deleted; 'required: true' makes the model refuse to save an object without a target."
    ).diagnostic(at: typeNode, fixes: fixes)
  }
}
