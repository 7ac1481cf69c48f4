/// The keys and aggregates of groups compiled for an entity, to be computed from many records. For stores that keep
/// their records in memory.
///
/// The results equal the results of every other store. May be used on several threads at the same time; a
/// ``GroupTable`` may not.
public struct PreparedGroups: Sendable {
  /// An aggregate compiled for the evaluator.
  struct Operation: Sendable {
    let function: AggregateFunction
    /// The aggregated value; `nil` for the record itself.
    let operand: Operand?
    /// The representation of the aggregated values.
    let storage: StorageType
  }
  let keys: [Operand]
  let operations: [Operation]

  /// Prepares keys and aggregates for records of an entity and its subentities.
  ///
  /// - Parameters:
  ///   - keys: The paths of the group keys.
  ///   - aggregates: The aggregates, without averages: an average is a sum divided by a count.
  /// - Throws: ``ErrorCode/unknownProperty`` for a name that the entity does not have; ``ErrorCode/invalidPredicate``
  ///   for a path that continues after an attribute; ``ErrorCode/invalidFetchRequest`` for a function without a meaning
  ///   for the values.
  public init(
    keys: [PropertyPath], aggregates: [AggregateExpression], for entity: EntityDescription
  ) throws(CoherenceError) {
    var compiler = PredicateCompiler(entity: entity)
    self.keys = try keys.map { (path: PropertyPath) throws(CoherenceError) -> Operand in
      compiler.operand(try ResolvedPath(path, from: entity))
    }
    operations = try aggregates.map { (aggregate: AggregateExpression) throws(CoherenceError) -> Operation in
      guard let path = aggregate.path else { return Operation(function: .count, operand: nil, storage: .int64) }
      let resolved = try ResolvedPath(path, from: entity)
      _ = try aggregate.function.result(for: resolved, at: path.description)
      return Operation(
        function: aggregate.function, operand: compiler.operand(resolved), storage: resolved.storage ?? .int64)
    }
  }

  /// Whether the results of parts of the records can be combined.
  var areCombinable: Bool { operations.allSatisfy { $0.function != .countDistinct } }

  /// Whether the results of a part of the records have a sum of integers or decimals out of the range of its type. Such
  /// a sum is rounded and cannot be combined with other results.
  ///
  /// - Parameter values: The keys and the results of each group.
  func haveRoundedSum(_ values: [AttributeValue]) -> Bool {
    let width = keys.count + operations.count
    let sums = operations.indices.filter { index in
      let storage = operations[index].storage
      return operations[index].function == .sum && storage != .float && storage != .double
    }
    guard width > 0, !sums.isEmpty else { return false }
    return stride(from: keys.count, to: values.count, by: width).contains { start in
      sums.contains { if case .double = values[start + $0] { true } else { false } }
    }
  }
}

/// Groups of records, filled record by record. Used by one thread at a time. The memory grows with the number of
/// groups, and for ``AggregateFunction/countDistinct`` with the number of different values.
public final class GroupTable {
  private let prepared: PreparedGroups
  /// The indices of the groups by their keys.
  private var indices: [[AttributeValue]: Int] = [:]
  /// The keys of the groups, in the order in which the groups were added.
  private var keys: [[AttributeValue]] = []
  /// The states of the first group's aggregates, then the states of the second group, and so on.
  private var accumulators: [Accumulator] = []
  /// The index of the group that received the last record.
  private var latest: Int?

  /// Makes a table without records. Groups without keys are one group from the beginning.
  public init(_ prepared: PreparedGroups) {
    self.prepared = prepared
    if prepared.keys.isEmpty { latest = addGroup([]) }
  }

  /// The number of groups.
  public var count: Int { keys.count }

  /// Adds a record to its group, and makes the group for its first record. Reads the value of each key and of each
  /// aggregate once.
  ///
  /// - Throws: Errors of the source. Some of the aggregates may then have counted the record.
  public func add<S: RecordSource>(_ record: S.Record, in source: S) throws {
    var key: [AttributeValue] = []
    if !prepared.keys.isEmpty {
      key.reserveCapacity(prepared.keys.count)
      for operand in prepared.keys { key.append(try operand.value(of: record, in: source)) }
    }
    var position = group(of: key) * prepared.operations.count
    for operation in prepared.operations {
      if let operand = operation.operand {
        let value = try operand.value(of: record, in: source)
        if !value.isNull { accumulators[position].add(value) }
      } else {
        accumulators[position].add(.null)
      }
      position += 1
    }
  }

  /// Adds the results of groups that another table, or a store, has computed from other records.
  ///
  /// - Parameter values: The keys and the results of each group, as in ``values``.
  func add(parts values: [AttributeValue]) {
    let width = prepared.keys.count + prepared.operations.count
    guard width > 0 else { return }
    for start in stride(from: 0, to: values.count, by: width) {
      let end = start + prepared.keys.count
      let position = group(of: Array(values[start..<end])) * prepared.operations.count
      for index in prepared.operations.indices { accumulators[position + index].add(part: values[end + index]) }
    }
  }

  /// Returns the index of the group with keys, which is added unless it exists.
  private func group(of key: [AttributeValue]) -> Int {
    // Consecutive records often belong to the same group.
    if let latest, keys[latest] == key { return latest }
    let index = indices[key] ?? addGroup(key)
    latest = index
    return index
  }

  private func addGroup(_ key: [AttributeValue]) -> Int {
    let index = keys.count
    indices[key] = index
    keys.append(key)
    for operation in prepared.operations {
      accumulators.append(Accumulator(operation.function, of: operation.storage))
    }
    return index
  }

  /// The keys of the first group, its results, then the keys of the second group, and so on. The groups are in no
  /// order. A sum out of the range of its type is the nearest double. Each access makes a new array.
  public var values: [AttributeValue] {
    var values: [AttributeValue] = []
    values.reserveCapacity(keys.count * (prepared.keys.count + prepared.operations.count))
    var position = 0
    for key in keys {
      values += key
      for _ in prepared.operations {
        values.append(accumulators[position].result)
        position += 1
      }
    }
    return values
  }
}
