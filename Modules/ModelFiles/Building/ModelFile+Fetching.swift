public import CoherenceCore

extension ModelFile {
  /// Makes a fetch request from a template of the file.
  ///
  /// ```swift
  /// let request = try file.fetchRequest(named: "byGenre", for: Track.self, substituting: ["GENRE": "Jazz"])
  /// ```
  ///
  /// - Parameters:
  ///   - name: The name of the template.
  ///   - result: The class of the objects.
  ///   - variables: The values of the template's variables by name, without the `$`.
  /// - Throws: ``/CoherenceCore/ErrorCode/invalidFetchRequest`` for an unknown template or a variable without a value;
  ///   ``/CoherenceCore/ErrorCode/invalidPredicate`` for an unreadable predicate.
  public func fetchRequest<Result: ManagedObject>(
    named name: String, for result: Result.Type = ManagedObject.self,
    substituting variables: [String: (any Sendable)?] = [:]
  ) throws -> FetchRequest<Result> {
    guard let template = fetchRequests.first(where: { $0.name == name }) else {
      let names = fetchRequests.map(\.name).sorted().joined(separator: ", ")
      throw CoherenceError(
        .invalidFetchRequest,
        "The model file has no fetch request '\(name)'; it has: \(names.isEmpty ? "none" : names).")
    }
    var request = FetchRequest<Result>(entityName: template.entity)
    request.predicate = try template.readPredicate(substituting: variables)
    request.fetchLimit = template.fetchLimit.flatMap { $0 == 0 ? nil : $0 }
    request.includesSubentities = template.includesSubentities ?? true
    return request
  }
}

extension ModelFile.FetchTemplate {
  /// The predicate of the template.
  ///
  /// - Parameter variables: The values of the variables; `nil` to check the text alone.
  func readPredicate(substituting variables: [String: (any Sendable)?]?) throws(CoherenceError) -> FetchPredicate? {
    guard let predicate else { return nil }
    let (format, found) = Self.replacingVariables(predicate)
    var arguments: [(any Sendable)?] = []
    for (name, isList) in found {
      guard let variables else {
        arguments.append(isList ? [0, 1] : nil)
        continue
      }
      guard let value = variables[name] else {
        throw CoherenceError(
          .invalidFetchRequest,
          "The fetch request '\(self.name)' has the variable '$\(name)', for which no value was given.")
      }
      arguments.append(value)
    }
    return try FetchPredicate(format: format, arguments: arguments)
  }

  /// Replaces the variables of a format outside of its texts by arguments.
  private static func replacingVariables(
    _ text: String
  ) -> (format: String, variables: [(name: String, isList: Bool)]) {
    var format = ""
    var variables: [(name: String, isList: Bool)] = []
    var quote: Character?
    var rest = text[...]
    while let character = rest.popFirst() {
      if let open = quote {
        format.append(character)
        if character == "\\", let escaped = rest.popFirst() {
          format.append(escaped)
        } else if character == open {
          quote = nil
        }
      } else if character == "$" {
        let name = rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" }
        rest = rest.dropFirst(name.count)
        let word = format.split(whereSeparator: \.isWhitespace).last?.uppercased()
        variables.append((String(name), word == "IN" || word == "BETWEEN"))
        format += "%@"
      } else {
        if character == "\"" || character == "'" { quote = character }
        format.append(character)
      }
    }
    return (format, variables)
  }
}
