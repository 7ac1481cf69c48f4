/// An inserted object that a save may discard if the store has a record with equal values in a uniqueness constraint,
/// such as a persisted action with the same key.
///
/// The save deletes the object and continues. The object leaves its context as if it had never been inserted, unless
/// the save fails afterwards.
package protocol DiscardedOnCollision: ManagedObject {
  /// Whether the save may discard the inserted object. Read in the context, after the store has refused the object.
  var isDiscardedOnCollision: Bool { get }
}
