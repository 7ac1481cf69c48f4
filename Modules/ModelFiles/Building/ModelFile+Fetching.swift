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
    guard let text = self.predicate else { return nil }
    let predicate = try FetchPredicate(format: text, arguments: [])
    guard let variables else { return predicate }
    if let name = predicate.variableNames.sorted().first(where: { variables[$0] == nil }) {
      throw CoherenceError(
        .invalidFetchRequest,
        "The fetch request '\(self.name)' has the variable '$\(name)', for which no value was given.")
    }
    return try predicate.substituting(variables)
  }
}
