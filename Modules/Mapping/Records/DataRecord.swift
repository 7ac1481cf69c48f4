public import CoherenceCore

/// A class of managed objects whose records are found by uid.
///
/// Without a uniqueness constraint several records may have one uid. They are found and deleted together, and a save
/// keeps the oldest of them. A uniqueness constraint on ``uidKey`` in the model refuses such records and makes searches
/// by uid faster.
public protocol DataRecord: ManagedObject, CoreModel, SendableMetatype {
  /// The name of the entity in the model.
  static var entityName: String { get }
  /// The name of the attribute that holds the uid; by default `uid`.
  static var uidKey: String { get }
}

extension DataRecord {
  public static var uidKey: String { "uid" }
}
