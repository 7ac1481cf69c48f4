extension PropertyPath {
  private static let namelessPrefix = "?key path: "

  /// The placeholder name of a key path without a name. Contains the sentence of the later error.
  package static func nameless(_ sentence: String) -> String { namelessPrefix + sentence }

  /// Throws if the path contains a placeholder of a key path without a name, or belongs to no record around it.
  ///
  /// - Throws: ``ErrorCode/invalidPredicate``, with the placeholder's sentence; for a path of another typed expression.
  func checkNames() throws(CoherenceError) {
    guard scope == nil else {
      throw CoherenceError(
        .invalidPredicate,
        "'\(self)' belongs to the record of another expression; a condition on members uses the properties of its member "
          + "and of the records around it.")
    }
    guard let name = names.first(where: { $0.hasPrefix(Self.namelessPrefix) }) else { return }
    throw CoherenceError(.invalidPredicate, String(name.dropFirst(Self.namelessPrefix.count)))
  }
}
