extension PropertyPath {
  private static let namelessPrefix = "?key path: "

  /// The placeholder name of a key path without a name. Contains the sentence of the later error.
  package static func nameless(_ sentence: String) -> String { namelessPrefix + sentence }

  /// Throws if the path contains a placeholder of a key path without a name.
  ///
  /// - Throws: ``ErrorCode/invalidPredicate``, with the placeholder's sentence.
  func checkNames() throws(CoherenceError) {
    guard let name = names.first(where: { $0.hasPrefix(Self.namelessPrefix) }) else { return }
    throw CoherenceError(.invalidPredicate, String(name.dropFirst(Self.namelessPrefix.count)))
  }
}
