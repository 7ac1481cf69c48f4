import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxBuilder

/// The checks that find out whether the model stores a variable of an entity's class.
struct VariableChecks {
  private let declaration: VariableDeclSyntax

  init(_ declaration: VariableDeclSyntax) { self.declaration = declaration }

  private var names: String { declaration.bindings.map(\.pattern.trimmedDescription).joined(separator: ", ") }

  private func modifier(_ names: String...) -> DeclModifierSyntax? {
    declaration.modifiers.first { names.contains($0.name.text) }
  }

  private var isComputed: Bool { declaration.bindings.last?.isComputed == true }

  private var markers: [AttributeSyntax] { declaration.markers("Attribute") + declaration.markers("Relationship") }

  /// Whether the model stores the variable.
  ///
  /// - Parameter problems: The list that receives the problems of the declaration.
  func isStored(_ problems: inout [Diagnostic]) -> Bool {
    problems += repeatedMarkers
    if let transient = declaration.marker("Transient") {
      problems += markers.map { contradiction(of: transient, and: $0) }
      return false
    }
    if modifier("static", "class") != nil || isComputed {
      problems += markers.map(notStored)
      return false
    }
    if let problem = unfit {
      problems.append(problem)
      return false
    }
    if let problem = isolation ?? availability {
      problems.append(problem)
      return false
    }
    if let wrapper {
      problems.append(
        Problem(
          "wrapper",
          "A property wrapper or macro cannot be combined with the accessors of the stored property '\(names)'; remove "
            + "it, or mark the variable '@Transient', so that the model does not store it."
        ).diagnostic(at: wrapper, fixes: [.removing(wrapper, from: declaration), makeTransient]))
      return false
    }
    return true
  }

  /// The first reason why a stored variable has no accessors.
  private var unfit: Diagnostic? {
    if declaration.bindings.count > 1 {
      return Problem(
        "severalNames", "The macro writes accessors for one variable a declaration; declare '\(names)' one by one."
      ).diagnostic(at: declaration.bindings)
    }
    if let binding = declaration.bindings.first, !binding.pattern.is(IdentifierPatternSyntax.self) {
      return Problem("tuple", "The variables of a tuple have no accessors of their own; declare them one by one.")
        .diagnostic(at: binding.pattern)
    }
    if declaration.bindingSpecifier.tokenKind == .keyword(.let) {
      return Problem(
        "constant", "The constant '\(names)' cannot show the values of a record; declare it as a variable."
      ).diagnostic(at: declaration.bindingSpecifier, fixes: [declaration.asVariable])
    }
    if let modifier = modifier("lazy", "weak", "unowned") {
      return Problem(
        "modifier",
        "The model cannot store the \(modifier.name.text) variable '\(names)'; mark it '@Transient', or remove "
          + "'\(modifier.name.text)'."
      ).diagnostic(at: modifier, fixes: [makeTransient])
    }
    if let modifier = modifier("override") {
      return Problem(
        "override", "'\(names)' is declared in the superclass already; the model has the inherited property once."
      ).diagnostic(at: modifier)
    }
    if let observers = declaration.bindings.first?.accessorBlock {
      return Problem(
        "observers",
        "A stored property of an entity has no 'willSet' and 'didSet', because the record changes without the "
          + "variable; remove them from '\(names)', or mark the variable '@Transient'."
      ).diagnostic(at: observers, fixes: [makeTransient])
    }
    return nil
  }

  /// The problem of an actor, which the members that the macro writes do not wait for.
  private var isolation: Diagnostic? {
    guard let actor = declaration.actor else { return nil }
    return Problem(
      "isolation",
      "The stored property '\(names)' cannot be isolated to an actor, because its accessors run where the object's "
        + "context runs; remove '\(actor.trimmedName)', or mark the variable '@Transient'."
    ).diagnostic(at: actor, fixes: [.removing(actor, from: declaration), makeTransient])
  }

  /// The problem of a limited availability: the table, the names and the snapshot use the property in every build, and
  /// the compiler would warn about each use.
  private var availability: Diagnostic? {
    guard let available = declaration.markers("available").first else { return nil }
    return Problem(
      "availability",
      "The members that the macro writes use the stored property '\(names)' in every build, so that it has no "
        + "'@available'; declare the property under another name, with 'formerNames' for the stored values, and this name "
        + "as a computed property."
    ).diagnostic(at: available, fixes: [.removing(available, from: declaration), makeTransient])
  }

  /// An attribute with the name of a type: probably a property wrapper or a macro of another module.
  private var wrapper: AttributeSyntax? {
    let modelAttributes: Set = ["Attribute", "Relationship", "Transient"]
    return declaration.attributes.lazy.compactMap { $0.as(AttributeSyntax.self) }.first { attribute in
      guard let name = attribute.attributeName.nominal?.name, let first = name.first else { return false }
      return first.isUppercase && !modelAttributes.contains(name)
    }
  }

  private var repeatedMarkers: [Diagnostic] {
    let pairs = ["Attribute", "Relationship", "Transient"].flatMap { declaration.markers($0).dropFirst() }
    let repeated = pairs.map { marker in
      Problem("repeatedMarker", "'\(marker.trimmedName)' is given twice; keep one with all arguments.")
        .diagnostic(at: marker, fixes: [.removing(marker, from: declaration)])
    }
    guard let attribute = declaration.marker("Attribute"), let relationship = declaration.marker("Relationship") else {
      return repeated
    }
    return repeated + [contradiction(of: relationship, and: attribute)]
  }

  private func contradiction(of first: AttributeSyntax, and second: AttributeSyntax) -> Diagnostic {
    Problem(
      "contradiction",
      "'\(first.trimmedName)' and '\(second.trimmedName)' contradict each other at '\(names)'; remove one of them."
    ).diagnostic(
      at: second, fixes: [.removing(second, from: declaration), .removing(first, from: declaration)])
  }

  private func notStored(_ marker: AttributeSyntax) -> Diagnostic {
    let kind = isComputed && modifier("static", "class") == nil ? "a computed" : "a static"
    return Problem(
      "notStored",
      "'\(marker.trimmedName)' is for stored properties, and '\(names)' is \(kind) property; remove the attribute."
    ).diagnostic(at: marker, fixes: [.removing(marker, from: declaration)])
  }

  // MARK: - Corrections

  private var makeTransient: FixIt {
    let others = declaration.attributes.filter { $0.as(AttributeSyntax.self).map { !markers.contains($0) } ?? true }
    var changed = declaration
    let leading = declaration.leadingTrivia
    changed.leadingTrivia = []
    var transient: AttributeSyntax = "@Transient "
    transient.leadingTrivia = leading
    changed.attributes = AttributeListSyntax(
      [.attribute(transient)] + others.map { $0.trimmed.with(\.trailingTrivia, .space) })
    return .replacing(declaration, by: changed, "mark the variable '@Transient'")
  }

  /// The problem of a variable whose type only the compiler could infer.
  static func missingType(_ binding: PatternBindingSyntax, _ pattern: IdentifierPatternSyntax) -> Diagnostic {
    var annotated = binding
    annotated.pattern = PatternSyntax(pattern.trimmed)
    annotated.typeAnnotation = TypeAnnotationSyntax(
      colon: .colonToken(trailingTrivia: .space), type: TypeSyntax("<#type#>"), trailingTrivia: pattern.trailingTrivia)
    return Problem(
      "missingType",
      "The macro sees the type of '\(pattern.identifier.text)' only in an annotation, because its value is no literal "
        + "and no call of an initialiser; write the type after the name."
    ).diagnostic(at: pattern, fixes: [.replacing(binding, by: annotated, "add a type annotation")])
  }
}

extension PatternBindingSyntax {
  /// Whether the property has a getter.
  var isComputed: Bool {
    switch accessorBlock?.accessors {
    case nil: false
    case .getter: true
    case .accessors(let accessors):
      !Set(accessors.map(\.accessorSpecifier.text)).isDisjoint(with: ["get", "_read", "unsafeAddress"])
    }
  }
}

extension VariableDeclSyntax {
  /// The correction that makes a constant a variable.
  var asVariable: FixIt {
    .replacing(bindingSpecifier, by: bindingSpecifier.with(\.tokenKind, .keyword(.var)), "replace 'let' by 'var'")
  }
}
