/// Records to insert into a store without objects, in one transaction.
///
/// ```swift
/// let request = BatchInsertRequest(Track.self, from: lines, onDuplicate: .update(by: "isrc")) { row, line in
///   row.set(\.isrc, to: line.isrc)
///   row.set(\.title, to: line.title)
/// }
/// let result = try context.execute(request)
/// ```
/// A value; ``ManagedObjectContext/execute(_:in:)`` runs it. Attributes without a value in a row have their defaults.
/// To-one relationships take identifiers of saved records; to-many and one-to-one relationships stay empty. A new member of
/// an ordered list has no position in it, and so comes before the others.
public struct BatchInsertRequest: Sendable {
  /// The treatment of a duplicate: a row whose values in a uniqueness constraint belong to a record of the store, or to
  /// another row of the request. A row with a missing value in the constraint is no duplicate.
  public enum DuplicatePolicy: Sendable, Hashable {
    /// The request fails with ``ErrorCode/uniquenessViolated``, and inserts nothing.
    case fail
    /// The record stays, and the row is left out. Of several duplicate rows in the request the first is used. The list
    /// names the attributes of the constraint.
    case ignore(by: [String])
    /// The record takes the row's values of all properties named in the request, or of
    /// ``BatchInsertRequest/propertiesToUpdate``. Its version rises if a value differs.
    /// A property that only other rows name takes its default. Of several duplicate rows in the request the last is
    /// used. The list names the attributes of the constraint.
    case update(by: [String])

    /// The record stays, and the row is left out. The constraint has one attribute.
    public static func ignore(by name: String) -> DuplicatePolicy { .ignore(by: [name]) }
    /// The record takes the values of the row. The constraint has one attribute.
    public static func update(by name: String) -> DuplicatePolicy { .update(by: [name]) }
  }

  /// The name of the entity in the context's model.
  public var entityName: String
  /// The treatment of duplicates.
  public var duplicatePolicy: DuplicatePolicy
  /// The names of the properties that a duplicate takes from its row under the policy `update(by:)`; `nil` for all
  /// properties with values in rows. The values of the other properties are for inserted records alone, such as the
  /// time of the first arrival. An unknown name fails the request with ``ErrorCode/unknownProperty``.
  public var propertiesToUpdate: [String]?
  /// The names of the properties with values in rows.
  let names: [String]
  /// The values of each row, by the names; `nil` for the default.
  let rows: [[AttributeValue?]]

  /// The number of rows.
  public var count: Int { rows.count }

  /// Makes a request from rows with values by the names of their properties.
  ///
  /// - Parameter rows: The values of each row; `nil` for no value. A to-one relationship has the value
  ///   ``AttributeValue/reference(_:)``.
  public init(
    entityName: String, rows: some Sequence<[String: AttributeValue]>, onDuplicate policy: DuplicatePolicy = .fail
  ) {
    var columns = BatchColumns()
    var values: [[AttributeValue?]] = []
    for row in rows {
      for (name, value) in row { columns.set(value, for: name) }
      values.append(columns.takeRow())
    }
    self.init(entityName, columns.names, values, policy)
  }

  /// Makes a request for the entity of a class, with a row for each element of a sequence.
  ///
  /// - Parameter body: Sets the values of the row of an element.
  public init<Root: DeclaredEntity, Elements: Sequence>(
    _ type: Root.Type, from elements: Elements, onDuplicate policy: DuplicatePolicy = .fail,
    row body: (inout BatchRow<Root>, Elements.Element) throws -> Void
  ) rethrows {
    var row = BatchRow<Root>()
    var values: [[AttributeValue?]] = []
    values.reserveCapacity(elements.underestimatedCount)
    for element in elements {
      try body(&row, element)
      values.append(row.columns.takeRow())
    }
    self.init(Root.entityName, row.columns.names, values, policy)
  }

  private init(_ entityName: String, _ names: [String], _ rows: [[AttributeValue?]], _ policy: DuplicatePolicy) {
    self.entityName = entityName
    self.names = names
    self.rows = rows
    duplicatePolicy = policy
  }
}

/// The values of one row of a ``BatchInsertRequest``.
public struct BatchRow<Root: DeclaredEntity> {
  fileprivate(set) var columns = BatchColumns()

  init() {}

  /// Sets an attribute; `nil` for no value.
  public mutating func set<Value>(_ attribute: KeyPath<Root.Properties, AttributeKey<Value>>, to value: Value) {
    columns.set(value.attributeValue, for: Root.Properties.table[keyPath: attribute].name)
  }

  /// Sets a to-one relationship to a saved record of the same store; `nil` for no target.
  public mutating func set<Target>(
    _ relationship: KeyPath<Root.Properties, ToOneKey<Target>>, to target: ManagedObjectID?
  ) {
    columns.set(
      target.map(AttributeValue.reference) ?? .null, for: Root.Properties.table[keyPath: relationship].name)
  }
}

extension BatchRow where Root: DeclaredSubentity {
  /// Sets an attribute of the subclass.
  @_disfavoredOverload
  public mutating func set<Value: AttributeConvertible>(
    _ attribute: ReferenceWritableKeyPath<Root, Value>, to value: Value
  ) {
    columns.set(value.attributeValue, for: Root.propertyName(of: attribute))
  }
}

/// The outcome of a ``BatchInsertRequest``.
public struct BatchInsertResult: Sendable {
  /// The identifiers of the inserted records, in the order of their rows.
  public var inserted: [ManagedObjectID] = []
  /// The identifiers of the records that took values of rows.
  public var updated: [ManagedObjectID] = []
}

/// Collects the values of one row after the other. A name gets its column when a row first uses the name.
struct BatchColumns {
  private(set) var names: [String] = []
  private var indices: [String: Int] = [:]
  private var row: [AttributeValue?] = []

  mutating func set(_ value: AttributeValue, for name: String) {
    let index = indices[name] ?? names.count
    if index == names.count {
      indices[name] = index
      names.append(name)
    }
    while row.count <= index { row.append(nil) }
    row[index] = value
  }

  /// Returns the row, and begins another one.
  mutating func takeRow() -> [AttributeValue?] {
    defer { row = [] }
    return row
  }
}
