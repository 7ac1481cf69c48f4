/// An object that is redundant if another writer saves a record with equal values in a uniqueness constraint, such as a
/// persisted action with the same key.
///
/// A save that meets an equal record of another writer deletes the inserted object and continues. The object leaves its
/// context as if it had never been inserted.
package protocol JoiningEqualRecord: ManagedObject {
  /// Whether the save may delete the inserted object. Read in the context, after the store has refused the object.
  var joinsEqualRecord: Bool { get }
}
