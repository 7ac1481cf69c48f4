/// The policy for several models with the same uid in one save.
public enum DuplicateUids: Sendable, Hashable, CaseIterable {
  /// The last model is saved; the earlier models are skipped.
  case lastWins
  /// The first model is saved; the later models are skipped.
  case firstWins
  /// The save throws ``ErrorCode/duplicateUid``.
  case refused
}
