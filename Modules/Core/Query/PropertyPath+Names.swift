extension PropertyPath {
  private static let namelessPrefix = "?key path: "

  /// The placeholder for a key path without a name, with the sentence that says what to do about it.
  package static func nameless(_ sentence: String) -> String { namelessPrefix + sentence }

  /// Refuses what a typed expression could not name.
  ///
  /// - Throws: ``ErrorCode/invalidPredicate``, with what lacks the name.
  func checkNames() throws(CoherenceError) {
    guard let name = names.first(where: { $0.hasPrefix(Self.namelessPrefix) }) else { return }
    throw CoherenceError(.invalidPredicate, String(name.dropFirst(Self.namelessPrefix.count)))
  }
}
