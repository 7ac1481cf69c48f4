/// An object that stands for the same matter as any other record with equal values in a uniqueness constraint.
///
/// A save that meets an equal record of another writer leaves the inserted object out and goes on: the object leaves its
/// context as if it had never been inserted.
package protocol JoiningEqualRecord: ManagedObject {
  /// Whether the inserted object may be left out of a save. Asked in the context, after the store has refused the object.
  var joinsEqualRecord: Bool { get }
}
