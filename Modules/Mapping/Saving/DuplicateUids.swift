/// What becomes of models with the same uid in one save.
public enum DuplicateUids: Sendable, Hashable, CaseIterable {
  /// The last one is saved.
  case lastWins
  /// The first one is saved.
  case firstWins
  /// The save fails with `duplicateUid`.
  case refused
}
