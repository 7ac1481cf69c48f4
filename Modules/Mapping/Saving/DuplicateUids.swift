/// The policy for several models with the same uid in one save.
public enum DuplicateUids: Sendable, Hashable, CaseIterable {
  /// The last model is saved, and the earlier ones are skipped.
  case lastWins
  /// The first model is saved, and the later ones are skipped.
  case firstWins
  /// The save throws ``ErrorCode/duplicateUid``.
  case refused
}
