import CoherenceCore
import CoherenceReconciliation

/// The condition under which a merge may change or delete an existing record.
///
/// Paths that begin with `incoming` read attributes of the input record; paths that begin with `existing`, and all other
/// paths, read the stored record. For a stored record without an input record, every incoming value is missing.
struct MergeCondition {
  private let predicate: FetchPredicate
  private let layout: MergeLayout
  private let context: ActionContext
  /// The attributes of the input record that the condition reads.
  private let incomingNames: Set<String>
  /// The condition on a stored record without an input record.
  private let withoutInput: PreparedPredicate

  /// - Throws: ``ErrorCode/unknownProperty`` and ``ErrorCode/invalidPredicate``, before the merge reads any row.
  init(_ predicate: FetchPredicate, layout: MergeLayout, context: ActionContext) throws {
    self.predicate = predicate
    self.layout = layout
    self.context = context
    var names: Set<String> = []
    let plain = try predicate.replacingIncoming { name in
      names.insert(name)
      return .null
    }
    for name in names where layout.entity.attribute(named: name) == nil {
      _ = try layout.entity.property(named: name)
      throw CoherenceError(
        .invalidPredicate,
        "'incoming.\(name)' is not an attribute of '\(layout.entity.name)'; a condition reads attributes of the input "
          + "only.")
    }
    incomingNames = names
    withoutInput = try PreparedPredicate(plain, for: layout.entity)
  }

  private var isTrivial: Bool { predicate == .constant(true) }

  /// Returns the elements whose stored records satisfy the condition.
  ///
  /// - Parameters:
  ///   - row: Returns the row of an element.
  ///   - index: Returns the index of an element's input record; `nil` for an element without an input record.
  func filter<Element>(
    _ elements: [Element], row: (Element) -> Row, index: (Element) -> Int?, input: any MergeInput
  ) throws -> [Element] {
    if isTrivial || elements.isEmpty { return elements }
    guard incomingNames.isEmpty else {
      var values: [AttributeValue?] = []
      return try elements.filter { element in
        try context.refuseIfCanceled()
        return try context.satisfies(self.prepared(for: index(element), input, &values), row(element))
      }
    }
    guard readsRelatedRecords else { return try elements.filter { try context.satisfies(withoutInput, row($0)) } }
    // Rows have no values of related records. A few requests to the stores find the records faster than a reading of
    // the related records of each row.
    let satisfying = try layout.storedRows(in: context).ids(
      among: elements.map { row($0).id }, satisfying: withoutInput.predicate)
    return elements.filter { satisfying.contains(row($0).id) }
  }

  /// Whether a row that another writer has changed since the plan satisfies the condition.
  ///
  /// - Parameters:
  ///   - row: The row that the store has now.
  ///   - index: The index of the row's input record; `nil` for a row without an input record.
  func isSatisfied(by row: Row, index: Int?, input: any MergeInput) throws -> Bool {
    if isTrivial { return true }
    var values: [AttributeValue?] = []
    return try context.satisfies(prepared(for: index, input, &values), stored: row)
  }

  /// Whether the condition reads related records. Another writer may change these without changing the record itself.
  var readsRelatedRecords: Bool { !withoutInput.dependencies.relationships.isEmpty }

  /// Returns the condition on a row, with the values of its input record in place of the incoming paths.
  ///
  /// - Parameters:
  ///   - index: The index of the input record; `nil` for a row without an input record.
  ///   - values: Storage that the calls for several rows share.
  private func prepared(
    for index: Int?, _ input: any MergeInput, _ values: inout [AttributeValue?]
  ) throws -> PreparedPredicate {
    guard let index, !incomingNames.isEmpty else { return withoutInput }
    try input.readValues(index, into: &values, isChecked: true)
    let plain = try predicate.replacingIncoming { name in
      guard let attribute = layout.entity.attribute(named: name) else { return .null }
      return values[attribute.slot] ?? .null
    }
    return try PreparedPredicate(plain, for: layout.entity)
  }
}

// MARK: - Incoming and existing paths

extension FetchPredicate {
  /// Replaces incoming paths with values, and existing paths with paths from the record itself.
  fileprivate func replacingIncoming(_ incoming: (String) throws -> AttributeValue) throws -> FetchPredicate {
    switch self {
    case .constant: self
    case .comparison(let left, let comparison, let right, let options):
      .comparison(try left.replacingIncoming(incoming), comparison, try right.replacingIncoming(incoming), options)
    case .membership(let expression, let values, let options):
      .membership(try expression.replacingIncoming(incoming), in: values, options)
    case .between(let value, let lower, let upper):
      .between(
        try value.replacingIncoming(incoming), try lower.replacingIncoming(incoming),
        try upper.replacingIncoming(incoming))
    case .list(let expression, let relation, let name, let options):
      .list(try expression.replacingIncoming(incoming), relation, variable: name, options)
    case .and(let parts): .and(try parts.map { try $0.replacingIncoming(incoming) })
    case .or(let parts): .or(try parts.map { try $0.replacingIncoming(incoming) })
    case .not(let part): .not(try part.replacingIncoming(incoming))
    case .quantified(let quantifier, let path, let part):
      .quantified(quantifier, path.existing, try part.replacingIncoming(incoming))
    }
  }
}

extension FetchExpression {
  fileprivate func replacingIncoming(_ incoming: (String) throws -> AttributeValue) throws -> FetchExpression {
    switch self {
    case .value, .variable: self
    case .subquery(let path, let condition): .subquery(path.existing, try condition.replacingIncoming(incoming))
    case .arithmetic(let operation, let left, let right):
      .arithmetic(operation, try left.replacingIncoming(incoming), try right.replacingIncoming(incoming))
    case .path(let path):
      if let name = path.incomingName { .value(try incoming(name)) } else { .path(path.existing) }
    case .count(let path): .count(path.existing)
    }
  }
}

extension PropertyPath {
  /// The attribute of the input record that the path reads; `nil` for a path of the stored record.
  fileprivate var incomingName: String? {
    names.count > 1 && names[0] == "incoming" ? names.dropFirst().joined(separator: ".") : nil
  }

  /// The path from the stored record itself.
  fileprivate var existing: PropertyPath {
    guard names.count > 1, names[0] == "existing" else { return self }
    return PropertyPath(names: Array(names.dropFirst()), outerLevel: outerLevel)
  }
}
