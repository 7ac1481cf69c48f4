/// The source of a column's value in a row computed from a group of records.
public enum GroupColumnSource: Sendable, Hashable {
  /// A group key, by its number.
  case key(Int)
  /// An aggregate, by its number.
  case aggregate(Int)
  /// The quotient of a sum and a count, by the numbers of these aggregates.
  case average(sum: Int, count: Int)
}

/// The columns of grouped rows: the columns that a request fetches, and the columns that only its having predicate or
/// its order reads.
///
/// Averages are resolved to a sum and a count, so that the results of several stores, and of unsaved records, can be
/// combined.
struct GroupColumns {
  /// A column of the grouped rows.
  struct Column: Sendable {
    let source: GroupColumnSource
    /// The representation of the column's values.
    let storage: StorageType
    /// The root of the hierarchy of the objects, for a column of objects; `nil` for other columns.
    let root: EntityDescription?
    /// Whether the texts of the column are those of URLs.
    let storesURLs: Bool
    /// The column as the request names it, for error sentences.
    let label: String
  }

  /// The meaning of a column, by which two expressions for one column are found to be the same.
  private enum Definition: Hashable {
    case key(ResolvedPath)
    case aggregate(AggregateFunction, ResolvedPath?)
  }

  let entity: EntityDescription
  /// The group keys, then the columns that the request, its having predicate and its order name.
  private(set) var columns: [Column] = []
  private(set) var keys: [PropertyPath] = []
  /// The aggregates to compute, without averages.
  private(set) var aggregates: [AggregateExpression] = []
  /// The paths that keys and aggregates read.
  private(set) var readPaths: [ResolvedPath] = []
  /// The indices in `columns`.
  private var indices: [Definition: Int] = [:]
  /// The indices in `aggregates`.
  private var aggregateIndices: [Definition: Int] = [:]
  /// The indices in `columns` by the names that the request gives them.
  private var names: [String: Int] = [:]

  /// Makes the columns of the group keys, which come first.
  ///
  /// - Throws: ``ErrorCode/unknownProperty`` for an unknown name; ``ErrorCode/invalidPredicate`` for a path that
  ///   continues after an attribute; ``ErrorCode/invalidFetchRequest`` for a path to many members.
  init(groupedBy keys: [PropertyPath], of entity: EntityDescription) throws(CoherenceError) {
    self.entity = entity
    for path in keys {
      try path.checkNames()
      let resolved = try ResolvedPath(path, from: entity)
      guard let storage = resolved.storage else {
        throw CoherenceError(
          .invalidFetchRequest,
          "'\(path)' has many members and cannot be a group key; group by an attribute or a to-one relationship.")
      }
      guard indices[.key(resolved)] == nil else { continue }
      indices[.key(resolved)] = columns.count
      columns.append(
        Column(
          source: .key(self.keys.count), storage: storage, root: resolved.referencedRoot,
          storesURLs: resolved.storesURLs, label: path.description))
      self.keys.append(path)
      readPaths.append(resolved)
    }
  }

  /// Gives a column a name, by which the having predicate and the order find it.
  mutating func name(_ index: Int, _ name: String) { if names[name] == nil { names[name] = index } }

  /// The index of the column with a name or an expression, such as `album.title`, `@count` or `@sum.length`. An
  /// aggregate without a column gets a new column.
  ///
  /// - Throws: ``ErrorCode/unknownProperty`` for an unknown name; ``ErrorCode/invalidFetchRequest`` for a property
  ///   outside of the group keys, and for a function without a meaning for the values.
  mutating func index(of path: PropertyPath) throws(CoherenceError) -> Int {
    try path.checkNames()
    if let index = names[path.description] { return index }
    let definition = try definition(of: path)
    if let index = indices[definition] { return index }
    guard case .aggregate(let function, let operand) = definition else {
      throw CoherenceError(
        .invalidFetchRequest,
        "'\(path)' is neither a group key nor an aggregate, and records of a group may have different values of it; "
          + "add the property to the group keys, or use an aggregate of its values.")
    }
    let column = try column(function, operand, path)
    indices[definition] = columns.count
    columns.append(column)
    return columns.count - 1
  }

  /// The meaning of an expression: an aggregate if it begins with a function, otherwise the key at the path.
  private func definition(of path: PropertyPath) throws(CoherenceError) -> Definition {
    guard let name = path.names.first, let function = AggregateFunction(pathOperator: name),
      entity.propertiesByName[name] == nil
    else { return .key(try ResolvedPath(path, from: entity)) }
    let operandNames = Array(path.names.dropFirst())
    guard !operandNames.isEmpty else {
      guard function == .count else {
        throw CoherenceError(.invalidFetchRequest, "\(name) needs a property; add its name, such as '\(name).length'.")
      }
      return .aggregate(.count, nil)
    }
    return .aggregate(function, try ResolvedPath(PropertyPath(names: operandNames), from: entity))
  }

  /// Makes the column of an aggregate, and adds the aggregates that it needs.
  private mutating func column(
    _ function: AggregateFunction, _ operand: ResolvedPath?, _ path: PropertyPath
  ) throws(CoherenceError) -> Column {
    let operandPath = PropertyPath(names: Array(path.names.dropFirst()))
    let storage = try operand.map { (operand) throws(CoherenceError) in
      try function.result(for: operand, at: operandPath.description)
    }
    let source: GroupColumnSource =
      function == .average
      ? .average(sum: aggregate(.sum, operand, operandPath), count: aggregate(.count, operand, operandPath))
      : .aggregate(aggregate(function, operand, operandPath))
    return Column(
      source: source, storage: storage ?? .int64, root: nil, storesURLs: operand?.storesURLs ?? false,
      label: path.description)
  }

  /// Returns the index of an aggregate, which is added unless it exists.
  private mutating func aggregate(
    _ function: AggregateFunction, _ operand: ResolvedPath?, _ path: PropertyPath
  ) -> Int {
    let definition = Definition.aggregate(function, operand)
    if let index = aggregateIndices[definition] { return index }
    let index = aggregates.count
    aggregateIndices[definition] = index
    aggregates.append(AggregateExpression(function, of: operand == nil ? nil : path))
    if let operand { readPaths.append(operand) }
    return index
  }

  // MARK: Values

  /// The value of a column in a group.
  ///
  /// - Parameters:
  ///   - values: The keys and aggregates of groups, one group after the other.
  ///   - start: The index of the group's first key in `values`.
  func value(of column: Int, in values: [AttributeValue], at start: Int) -> AttributeValue {
    switch columns[column].source {
    case .key(let index): values[start + index].withoutSignOfZero
    case .aggregate(let index): values[start + keys.count + index].withoutSignOfZero
    case .average(let sum, let count):
      AttributeValue.average(sum: values[start + keys.count + sum], count: values[start + keys.count + count])
        .withoutSignOfZero
    }
  }

  /// Checks that a sum is in the range of its type.
  ///
  /// - Throws: ``ErrorCode/arithmeticOverflow`` for a rounded sum.
  func check(_ value: AttributeValue, of column: Int) throws(CoherenceError) {
    let column = columns[column]
    guard case .double = value, column.storage == .int64 || column.storage == .decimal else { return }
    throw CoherenceError(
      .arithmeticOverflow,
      "'\(column.label)' of '\(entity.name)' is out of the range of its type (\(column.storage)); "
        + "aggregate fewer records.")
  }

  // MARK: Predicates

  /// The kind of a column's values. In a resolved having predicate, the only name of a path is the column's index.
  func kind(at path: PropertyPath) throws(CoherenceError) -> OperandKind {
    let column = columns[try slot(at: path)]
    return column.root.map(OperandKind.reference) ?? OperandKind(column.storage)
  }

  /// The index of a column. In a resolved having predicate, the only name of a path is the column's index.
  func slot(at path: PropertyPath) throws(CoherenceError) -> Int {
    guard path.names.count == 1, let index = Int(path.names[0]), columns.indices.contains(index) else {
      throw CoherenceError(
        .invalidFetchRequest, "'\(path)' is no column of the grouped rows; name a group key or an aggregate.")
    }
    return index
  }
}

extension AttributeValue {
  /// The value, with zero instead of negative zero, because both are equal group keys.
  fileprivate var withoutSignOfZero: AttributeValue {
    if case .double(0) = self { return .double(0) }
    return self
  }
}
