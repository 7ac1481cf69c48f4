/// The objects that a list of objects has returned last. The list releases older objects, and finds them again through
/// their context while the program retains them.
///
/// Used inside the context.
final class RecentObjects {
  // Two generations. When `newer` is full, the objects in `older` are released, and `newer` becomes `older`.
  private var newer: [ManagedObject] = []
  private var older: [ManagedObject] = []
  /// The greatest number of objects in `newer`, and of records in `missing`.
  var limit: Int

  /// The objects of records that a page did not find, by identifier, until the unit of work ends.
  private var missing: [ManagedObjectID: ManagedObject] = [:]
  /// The number of the unit of work in which the records of `missing` were read.
  private var unit = 0

  init(limit: Int) { self.limit = limit }

  /// Retains the objects of a page, or the last ones of a greater read.
  func keep(_ objects: [ManagedObject]) {
    let last = objects.suffix(limit)
    if newer.count + last.count > limit {
      // A released object removes itself from the registry.
      older = newer
      newer = []
    }
    newer += last
  }

  /// Retains the object of a record that a page did not find.
  func keep(missing object: ManagedObject, for id: ManagedObjectID, in unit: Int) {
    if self.unit != unit || missing.count >= limit { missing = [:] }
    self.unit = unit
    missing[id] = object
  }

  /// The object of a record that a page did not find in a unit of work.
  func missing(_ id: ManagedObjectID, in unit: Int) -> ManagedObject? {
    if missing.isEmpty { return nil }
    if self.unit != unit { missing = [:] }
    return missing[id]
  }
}
