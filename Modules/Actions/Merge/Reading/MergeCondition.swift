import CoherenceCore

/// The condition under which a merge may touch a record that exists.
///
/// Paths that begin with `incoming` are attributes of the input; those that begin with `existing`, and all others, are
/// looked up at the record. For a record that the input does not have, everything incoming is missing.
struct MergeCondition {
  private let predicate: FetchPredicate
  private let layout: MergeLayout
  private let context: ActionContext
  /// The attributes of the input that the condition asks for.
  private let incoming: Set<String>

  /// - Throws: ``ErrorCode/unknownProperty`` and ``ErrorCode/invalidPredicate``, before anything was read.
  init(_ predicate: FetchPredicate, layout: MergeLayout, context: ActionContext) throws {
    self.predicate = predicate
    self.layout = layout
    self.context = context
    var names: Set<String> = []
    let plain = try predicate.asked { name in
      names.insert(name)
      return .null
    }
    for name in names where layout.entity.attribute(named: name) == nil {
      _ = try layout.entity.property(named: name)
      throw CoherenceError(
        .invalidPredicate, "'incoming.\(name)' is not an attribute; of the input, conditions see attributes only.")
    }
    incoming = names
    _ = try PreparedPredicate(plain, for: layout.entity)
  }

  private var isTrivial: Bool { predicate == .constant(true) }

  /// The records, by what they are asked for with, that may be touched.
  ///
  /// - Parameter place: The place of a record's match in the input.
  func admitted<Element>(
    _ elements: [Element], row: (Element) -> Row, place: (Element) -> Int?, input: any MergeInput
  ) throws -> [Element] {
    if isTrivial || elements.isEmpty { return elements }
    guard incoming.isEmpty else {
      var values: [AttributeValue?] = []
      return try elements.filter { element in
        try context.refuseIfCanceled()
        return try context.satisfies(self.prepared(for: place(element), input, &values), row(element))
      }
    }
    let prepared = try PreparedPredicate(try predicate.asked { _ in .null }, for: layout.entity)
    if prepared.dependencies.relationships.isEmpty {
      return try elements.filter { try context.satisfies(prepared, row($0)) }
    }
    let admitted = try idsInStores(elements.map { row($0).id }, prepared.predicate)
    return elements.filter { admitted.contains(row($0).id) }
  }

  /// Whether a record may be touched that others have changed since: asked of the row that the store has by now.
  ///
  /// - Parameter place: The place of the record's match in the input.
  func admits(_ row: Row, place: Int?, input: any MergeInput) throws -> Bool {
    if isTrivial { return true }
    var values: [AttributeValue?] = []
    return try context.satisfies(prepared(for: incoming.isEmpty ? nil : place, input, &values), stored: row)
  }

  /// Whether the condition looks at other records. Others may change them, and leave the record itself as it was.
  var looksAtOtherRecords: Bool {
    get throws {
      let plain = try predicate.asked { _ in .null }
      return try !PreparedPredicate(plain, for: layout.entity).dependencies.relationships.isEmpty
    }
  }

  /// The condition as it is asked of the match of an input record.
  private func prepared(
    for place: Int?, _ input: any MergeInput, _ values: inout [AttributeValue?]
  ) throws -> PreparedPredicate {
    if let place { try input.readValues(place, into: &values, isChecked: true) }
    let asked = try predicate.asked { name in
      guard place != nil, let attribute = layout.entity.attribute(named: name) else { return .null }
      return values[attribute.slot].flatMap { $0 } ?? .null
    }
    return try PreparedPredicate(asked, for: layout.entity)
  }

  /// The records that satisfy a predicate that looks at other records: asked of the stores, many at once.
  private func idsInStores(_ ids: [ManagedObjectID], _ predicate: FetchPredicate) throws -> Set<ManagedObjectID> {
    let chunkSize = 500
    var result: Set<ManagedObjectID> = []
    for start in stride(from: 0, to: ids.count, by: chunkSize) {
      try context.refuseIfCanceled()
      let chunk = ids[start..<min(start + chunkSize, ids.count)].map(AttributeValue.reference)
      let collector = IDCollector()
      let own = FetchPredicate.membership(.path(.own), in: chunk)
      try MergeReach(context: context, entity: layout.entity, keyAttributes: [])
        .visitAll(where: .and([own, predicate]), with: collector)
      result.formUnion(collector.ids)
    }
    return result
  }
}

private final class IDCollector: RowExpectation {
  private(set) var ids: Set<ManagedObjectID> = []
  var keySlots: [Int] { [] }
  var expectedValues: [AttributeValue?] { [] }

  func verdict(on id: ManagedObjectID, key: [AttributeValue]) -> RowVerdict {
    ids.insert(id)
    return .pass
  }

  func take(_ row: Row) {}
}

// MARK: - Two sides of one predicate

extension FetchPredicate {
  /// The condition as it is asked of a record: what is incoming as a value, what is existing by the record's own names.
  fileprivate func asked(_ incoming: (String) throws -> AttributeValue) throws -> FetchPredicate {
    switch self {
    case .constant: self
    case .comparison(let left, let comparison, let right, let options):
      .comparison(try left.asked(incoming), comparison, try right.asked(incoming), options)
    case .membership(let expression, let values, let options):
      .membership(try expression.asked(incoming), in: values, options)
    case .between(let value, let lower, let upper):
      .between(try value.asked(incoming), try lower.asked(incoming), try upper.asked(incoming))
    case .and(let parts): .and(try parts.map { try $0.asked(incoming) })
    case .or(let parts): .or(try parts.map { try $0.asked(incoming) })
    case .not(let part): .not(try part.asked(incoming))
    case .quantified(let quantifier, let path, let part):
      .quantified(quantifier, path.existing, try part.asked(incoming))
    }
  }
}

extension FetchExpression {
  fileprivate func asked(_ incoming: (String) throws -> AttributeValue) throws -> FetchExpression {
    switch self {
    case .value: self
    case .path(let path):
      if let name = path.incomingName { .value(try incoming(name)) } else { .path(path.existing) }
    case .count(let path): .count(path.existing)
    }
  }
}

extension PropertyPath {
  /// What is asked of the input, if the path leads there.
  fileprivate var incomingName: String? {
    names.count > 1 && names[0] == "incoming" ? names.dropFirst().joined(separator: ".") : nil
  }

  /// The path from the record on.
  fileprivate var existing: PropertyPath {
    names.count > 1 && names[0] == "existing" ? PropertyPath(names: Array(names.dropFirst())) : self
  }
}
