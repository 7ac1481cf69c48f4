/// The condition of a fetched property: format text in which `$FETCH_SOURCE` and the paths after it stand for values of
/// the source object. Other variables are those of a `SUBQUERY`.
struct SourcedCondition: Sendable {
  private static let source = "FETCH_SOURCE"

  /// The variable of the source in the text, with the path after it.
  private struct Variable: Sendable {
    let path: [String]
    /// Whether the text expects a list at the variable.
    let isList: Bool
  }

  private let format: String
  private let variables: [Variable]

  /// Reads the variables of the source outside of quoted texts and names, and replaces each by the placeholder `%@` of
  /// the format.
  init(_ text: String) {
    var format = ""
    var variables: [Variable] = []
    var quote: Unicode.Scalar?
    var unread = text[...]
    while let character = unread.popFirst() {
      // A combining mark behind a quote belongs to the quoted text, as it does where the format is read.
      let scalar = character.unicodeScalars[character.unicodeScalars.startIndex]
      if let openingQuote = quote {
        format.append(character)
        if scalar == "\\", let escaped = unread.popFirst() {
          format.append(escaped)
        } else if scalar == openingQuote {
          quote = nil
        }
      } else if character == "$" {
        let names = Self.names(from: &unread)
        guard names.first == Self.source else {
          format += "$" + names.joined(separator: ".")
          continue
        }
        let previousWord = format.split(whereSeparator: \.isWhitespace).last?.uppercased()
        variables.append(
          Variable(path: Array(names.dropFirst()), isList: previousWord == "IN" || previousWord == "BETWEEN"))
        format += "%@"
      } else {
        if scalar == "\"" || scalar == "'" || scalar == "`" { quote = scalar }
        format.append(character)
      }
    }
    self.format = format
    self.variables = variables
  }

  /// Reads the names of a variable and of the path after it. A full stop without a name after it stays unread.
  private static func names(from unread: inout Substring) -> [String] {
    var names: [String] = []
    while true {
      let start = names.isEmpty ? unread : unread.dropFirst()
      let name = start.prefix { $0.isLetter || $0.isNumber || $0 == "_" }
      guard !name.isEmpty else { return names }
      names.append(String(name))
      unread = start.dropFirst(name.count)
      guard unread.first == "." else { return names }
    }
  }

  // MARK: Values

  /// Returns the predicate with the values of a source.
  ///
  /// - Throws: ``ErrorCode/invalidPredicate``; ``ErrorCode/unknownProperty``; errors of loading the values.
  func predicate(for source: ManagedObject) throws -> FetchPredicate {
    let arguments = try variables.map { try Self.argument($0.path[...], of: source, isList: $0.isList) }
    return try FetchPredicate(format: format, arguments: arguments)
  }

  private static func argument(
    _ path: ArraySlice<String>, of object: ManagedObject, isList: Bool
  ) throws -> (any Sendable)? {
    guard let name = path.first else { return object.objectID }
    if let attribute = object.entity.attribute(named: path.joined(separator: ".")) {
      return try object.value(at: attribute.slot)
    }
    let relationship = try object.relationship(named: name)
    if relationship.isToMany {
      guard path.count == 1 else {
        throw CoherenceError(
          .invalidPredicate, "The source of a fetched property has several '\(name)'; name the relationship alone.")
      }
      return try object.objects(for: name).map(\.objectID)
    }
    guard let target = try object.object(for: name) else {
      // A missing target has no members.
      if isList, path.count > 1 { return [ManagedObjectID]() }
      return AttributeValue.null
    }
    return try argument(path.dropFirst(), of: target, isList: isList)
  }

  // MARK: Checks

  /// The problems of the text, as the ends of sentences.
  func problems(in owner: Entity, among entities: [String: Entity]) -> [String] {
    let unknown = variables.filter { !Self.exists($0.path[...], in: owner, among: entities) }
    return textProblems
      + unknown.map { variable in
        "names '\(variable.path.joined(separator: "."))' of its source, which '\(owner.name)' does not have"
      }
  }

  /// The problems of the text alone.
  var textProblems: [String] {
    // The check of the format needs arguments of the right kind only: a list or a missing value.
    do throws(CoherenceError) {
      let predicate = try FetchPredicate(format: format, arguments: variables.map { $0.isList ? [0, 1] : nil })
      return predicate.variableNames.sorted().map {
        "names the variable '$\($0)'; only '$\(Self.source)' has a value"
      }
    } catch {
      return ["has a condition that cannot be read: \(error.message)"]
    }
  }

  private static func exists(
    _ path: ArraySlice<String>, in entity: Entity, among entities: [String: Entity]
  ) -> Bool {
    guard let name = path.first else { return true }
    var properties: [any PropertyDeclaration] = []
    var current: Entity? = entity
    var visited: Set<String> = []
    // A circle of parents, which the check of the model reports, must not repeat for ever.
    while let ancestor = current, visited.insert(ancestor.name).inserted {
      properties += ancestor.properties
      current = ancestor.parent.flatMap { entities[$0] }
    }
    switch properties.first(where: { $0.name == name }) {
    case is Attribute: return path.count == 1
    case let composite as CompositeAttribute:
      return composite.parts.contains { $0.name == path.dropFirst().joined(separator: ".") }
    case let relationship as Relationship:
      if path.count == 1 { return true }
      guard !relationship.isToMany, let destination = entities[relationship.destination] else { return false }
      return exists(path.dropFirst(), in: destination, among: entities)
    default: return false
    }
  }
}
