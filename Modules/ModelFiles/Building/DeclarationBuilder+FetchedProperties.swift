import CoherenceCore

extension DeclarationBuilder {
  /// The declaration of a fetched property; none for a property without a request, and for an unreadable condition.
  mutating func fetchedProperty(
    of part: ModelFile.FetchedProperty, in owner: String
  ) -> FetchedProperty? {
    let path = "\(owner).\(part.name)"
    report(part.otherAttributes, part.otherElements, of: "Fetched property '\(path)'")
    report(part.userInfoSource?.elements, of: "Fetched property '\(path)'")
    guard let request = part.request else {
      warnings.append("Fetched property '\(path)' has no request and is left out.")
      return nil
    }
    report(request.otherAttributes, request.otherElements, of: "The request of the fetched property '\(path)'")
    let property = FetchedProperty(
      part.name, of: request.entity, where: request.predicate, limit: request.fetchLimit.flatMap { $0 == 0 ? nil : $0 },
      includesSubentities: request.includesSubentities ?? true, userInfo: part.userInfo)
    guard let problem = property.conditionProblems.first else { return property }
    warnings.append("Fetched property '\(path)' is left out, because it \(problem).")
    return nil
  }
}
