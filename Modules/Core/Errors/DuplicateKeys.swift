/// The duplicates in a store that keep it from getting a uniqueness constraint.
public struct DuplicateKeys: Sendable, Hashable, CustomStringConvertible {
  /// The entity whose records the constraint compares, its subentities' records included.
  public let entityName: String
  /// The names of the constraint's properties.
  public let propertyNames: [String]
  /// The number of values with duplicates.
  public let valueCount: Int
  /// The number of records that share these values.
  public let recordCount: Int
  /// A few of the records, the oldest of each value. Their values can be read once the store is attached with
  /// ``StoreOption/allowsDuplicateKeys``: values appear in no error.
  public let examples: [ManagedObjectID]

  public init(
    entityName: String, propertyNames: [String], valueCount: Int, recordCount: Int, examples: [ManagedObjectID]
  ) {
    self.entityName = entityName
    self.propertyNames = propertyNames
    self.valueCount = valueCount
    self.recordCount = recordCount
    self.examples = examples
  }

  /// The entity, the properties and the numbers, with the keys of a few records.
  public var description: String {
    let names = propertyNames.map { "'\($0)'" }.joined(separator: ", ")
    let values = valueCount == 1 ? "1 value is" : "\(valueCount) values are"
    let keys = examples.map { "p\($0.key)" }.joined(separator: ", ")
    return "'\(entityName)' is to be unique in \(names), and \(values) shared by \(recordCount) records"
      + (keys.isEmpty ? "" : " (among them \(keys))")
  }
}
