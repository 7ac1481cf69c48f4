public import CoherenceCore

/// A class of managed objects whose records are found by uid.
///
/// The store need not keep the uids apart: several records of one uid are found, saved and deleted together, until a save
/// leaves one of them. A uniqueness constraint on ``uidKey`` in the model keeps such records out, and finds them faster.
public protocol DataRecord: ManagedObject, CoreModel, SendableMetatype {
  /// The name of the entity in the model.
  static var entityName: String { get }
  /// The name of the attribute that holds the uid. `uid` unless declared.
  static var uidKey: String { get }
}

extension DataRecord {
  public static var uidKey: String { "uid" }
}
