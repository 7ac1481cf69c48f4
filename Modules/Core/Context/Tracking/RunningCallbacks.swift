/// The code that a context's own work calls at present: hooks, merge policies, save participants, and planned work. Most
/// of it must not save the context.
///
/// Invariant: each mark is set for the time of its calls. The function that sets a mark resets it, also when the call
/// throws.
///
/// Used by the context's owner alone.
struct RunningCallbacks {
  /// Whether the closure of a merge policy runs as part of a save.
  var isInPolicy = false
  /// Whether a participant runs as part of a save.
  var isInParticipant = false
  /// The number of nested calls of hooks, which must not save.
  var hookDepth = 0
  /// Whether the running work is planned again when its save loses a race, see
  /// ``ManagedObjectContext/planningAgain(afterRacesOver:startsExcluding:_:)``. This work may save, but its saves resolve
  /// no collision of unique values.
  var isPlanningAgain = false

  /// Whether a save calls a merge policy or a participant. The rows of the save are gathered already.
  var areInSave: Bool { isInPolicy || isInParticipant }
  /// Whether a hook, a merge policy or a participant runs.
  var areRunning: Bool { areInSave || hookDepth > 0 }
}
