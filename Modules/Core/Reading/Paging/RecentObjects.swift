/// The objects that a list of objects has returned last. The list releases older objects, and finds them again through
/// their context while the program retains them.
///
/// Used inside the context.
final class RecentObjects {
  private var young: [ManagedObject] = []
  private var old: [ManagedObject] = []
  /// The greatest number of young objects. A read beyond it releases the old objects.
  var limit: Int

  /// The objects of records that could not be loaded, by identifier, until the unit of work ends.
  private var missing: [ManagedObjectID: ManagedObject] = [:]
  private var unit = 0

  init(limit: Int) { self.limit = limit }

  /// Retains the objects of a page, or the last ones of a greater read.
  func keep(_ objects: [ManagedObject]) {
    let kept = objects.suffix(limit)
    if young.count + kept.count > limit {
      // A released object removes itself from the registry.
      old = young
      young = []
    }
    young += kept
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

  func removeAll() {
    (young, old, missing) = ([], [], [:])
  }
}
