extension ModelValidation {
  /// Finds validation rules that do not apply to the type of an attribute, and rules that no value satisfies together.
  func ruleProblems(_ attribute: Attribute, _ path: String) -> [String] {
    let misplaced = attribute.validation.compactMap { $0.problem(with: attribute.type, path) }
    guard misplaced.isEmpty else { return misplaced }
    return [boundProblem(attribute, path), lengthProblem(attribute, path)].compactMap { $0 }
  }

  private func boundProblem(_ attribute: Attribute, _ path: String) -> String? {
    var minimums: [AttributeValue] = []
    var maximums: [AttributeValue] = []
    for rule in attribute.validation {
      if case .minimum(let bound) = rule { minimums.append(bound) }
      if case .maximum(let bound) = rule { maximums.append(bound) }
    }
    let isContradictory = minimums.contains { minimum in maximums.contains { minimum.order(to: $0) > 0 } }
    return isContradictory ? "The minimum of \(path) is above its maximum, so that no value is valid." : nil
  }

  private func lengthProblem(_ attribute: Attribute, _ path: String) -> String? {
    var (least, greatest) = (0, Int.max)
    for rule in attribute.validation {
      if case .minimumLength(let length) = rule { least = max(least, length) }
      if case .maximumLength(let length) = rule { greatest = min(greatest, length) }
    }
    guard greatest < least else { return nil }
    return
      "The rules of \(path) ask for a length of at least \(least) and at most \(greatest), so that no value is valid."
  }
}

extension ValidationRule {
  /// The sentence for a rule about values that an attribute of the type cannot have; `nil` for none.
  fileprivate func problem(with type: AttributeType, _ path: String) -> String? {
    switch self {
    case .minimum(let bound), .maximum(let bound):
      guard !bound.isNull, (try? OperandKind(bound))?.isComparable(with: OperandKind(type)) != true else { return nil }
      return
        "A bound of \(path) is no value of the type \(type.canonicalName); give the bound the type of the attribute."
    case .minimumLength, .maximumLength:
      guard type.storage != .string, type.storage != .data else { return nil }
      return "A rule of \(path) bounds the length of a text or of data, but the type is \(type.canonicalName); use "
        + "`minimum` and `maximum`, or remove the rule."
    case .pattern:
      guard type.storage != .string else { return nil }
      return "A rule of \(path) has a pattern for a text, but the type is \(type.canonicalName); remove the rule."
    }
  }
}
